package projection

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// report puts the condition on every ScheduledMachine. stale is true when one was read before somebody else changed it.
func (r *Reconciler) report(ctx context.Context, wishes []wish, seen *observed, unreachable error) (stale bool, err error) {
	var errs []error
	for _, w := range wishes {
		if ejecting(w.sm) {
			continue // its status is written at every step of the removal, and this can wait
		}
		err := r.condition(ctx, w, seen, unreachable)
		stale = stale || apierrors.IsConflict(err)
		if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("storing condition %s of %s: %w", v1alpha1.ConditionAgentReady, client.ObjectKeyFromObject(w.sm), err))
		}
	}
	return stale, errors.Join(errs...)
}

func ejecting(sm *v1alpha1.ScheduledMachine) bool {
	return sm.Status.Reclaim.Holds() && !sm.Status.Reclaim.Complete()
}

// same leaves out since when: that follows from the status.
func same(before, condition *metav1.Condition) bool {
	if before == nil || condition == nil {
		return before == condition
	}
	is := *condition
	is.LastTransitionTime = before.LastTransitionTime
	return is == *before
}

// condition patches the conditions alone, and only on the very object that was read: others write their parts of the status.
func (r *Reconciler) condition(ctx context.Context, w wish, seen *observed, unreachable error) error {
	before := meta.FindStatusCondition(w.sm.Status.Conditions, v1alpha1.ConditionAgentReady)
	condition := w.agentReady(seen, unreachable, before)
	if same(before, condition) { // of nearly all machines in nearly every pass
		return nil
	}
	changed := w.sm.DeepCopy()
	if condition != nil {
		meta.SetStatusCondition(&changed.Status.Conditions, *condition)
	} else {
		meta.RemoveStatusCondition(&changed.Status.Conditions, v1alpha1.ConditionAgentReady)
	}
	return r.Client.Status().Patch(ctx, changed, client.MergeFromWithOptions(w.sm, client.MergeFromWithOptimisticLock{}))
}
