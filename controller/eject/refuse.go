package eject

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/metrics"
)

// Reasons for which a request is not acted on, of its event and of the condition Reclaimed.
const (
	// ReasonReclaimIgnored: nobody opted in. The request stays refused when somebody does: it is then cleared, and an agent whose owner is
	// at work asks again. A machine must not leave for a program of last week in the minute its owner opts in.
	ReasonReclaimIgnored = "ReclaimIgnored"
	// ReasonReclaimSuspended: the controller runs with --suspend-eject. The request is acted on when it does not any more.
	ReasonReclaimSuspended = "ReclaimSuspended"
)

// refusal is one of them.
type refusal struct {
	reason  string
	outcome metrics.Outcome
	because string
}

func (r *Reconciler) ignore(ctx context.Context, s *scope, f finding) error {
	return r.refuse(ctx, s, f, refusal{ReasonReclaimIgnored, metrics.Ignored, "spec.killIfCommands is empty, so nothing was removed"})
}

func (r *Reconciler) postpone(ctx context.Context, s *scope, f finding) error {
	return r.refuse(ctx, s, f, refusal{ReasonReclaimSuspended, metrics.Suspended, "removals are suspended (--suspend-eject), so nothing was removed yet"})
}

// refuse says, once for each request, that it is not acted on and why. The condition says so for as long as the request is there.
func (r *Reconciler) refuse(ctx context.Context, s *scope, f finding, why refusal) error {
	note := fmt.Sprintf("Node %s asked to leave (%s), but %s", f.node.Name, cmp.Or(f.request.Reason, "it gave no reason"), why.because)
	if err := r.warn(ctx, s.sm, record(s.sm, f).ID+"."+string(why.outcome), why.reason, note); err != nil {
		return err
	}
	next := s.stored.DeepCopy()
	condition := metav1.Condition{
		Type: v1alpha1.ConditionReclaimed, Status: metav1.ConditionFalse, Reason: why.reason, Message: note, ObservedGeneration: next.Generation,
	}
	if !meta.SetStatusCondition(&next.Status.Conditions, condition) {
		return nil
	}
	err := r.storeCondition(ctx, next)
	if err == nil && !s.refused(why.reason) {
		r.Metrics.Request(why.outcome)
	}
	return err
}

// refused says that the present request has been refused for that reason.
func (s *scope) refused(reason string) bool {
	condition := meta.FindStatusCondition(s.sm.Status.Conditions, v1alpha1.ConditionReclaimed)
	return condition != nil && condition.Reason == reason
}

// forgetRefusal takes the condition away when the request is gone, so that it cannot be held against the next one.
func (r *Reconciler) forgetRefusal(ctx context.Context, s *scope) error {
	if !s.refused(ReasonReclaimIgnored) && !s.refused(ReasonReclaimSuspended) {
		return nil
	}
	next := s.stored.DeepCopy()
	meta.RemoveStatusCondition(&next.Status.Conditions, v1alpha1.ConditionReclaimed)
	return r.storeCondition(ctx, next)
}

// storeCondition leaves a conflict alone: the newer object is on its way, and with it the next reconcile.
func (r *Reconciler) storeCondition(ctx context.Context, next *v1alpha1.ScheduledMachine) error {
	err := r.Client.Status().Update(ctx, next)
	if err == nil || apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("storing the condition %s: %w", v1alpha1.ConditionReclaimed, err)
}
