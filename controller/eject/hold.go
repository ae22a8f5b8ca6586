package eject

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// disableSchedule sets spec.schedule.enabled to false, unless spec.afterReclaim keeps the hold in status alone. An API server that refuses
// the change, or a Git-managed spec that undoes it, does not end the hold.
func (r *Reconciler) disableSchedule(ctx context.Context, s *scope) (time.Duration, error) {
	record := s.sm.Status.Reclaim
	if record.ScheduleDisabledAt != nil || record.EventRecordedAt == nil || s.sm.Spec.AfterReclaim == v1alpha1.Hold {
		return 0, nil
	}
	patched := s.stored.DeepCopy()
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"schedule":{"enabled":false}}}`, s.sm.UID) // not of a later one of its name
	if err := r.Client.Patch(ctx, patched, client.RawPatch(types.MergePatchType, patch)); err != nil {
		return 0, fmt.Errorf("setting spec.schedule.enabled to false: %w", err)
	}
	s.stored = patched // our own change is no conflict
	record.ScheduleDisabledAt, record.ScheduleDisabledGeneration = microtime(r.Now()), patched.Generation
	return 0, r.recordDisabled(ctx, s.sm)
}

// hold keeps a machine out whose removal is complete, until its owner releases it.
func (r *Reconciler) hold(ctx context.Context, s *scope) error {
	if released(s.sm) {
		s.sm.Status.Reclaim.ReleasedAt = microtime(r.Now())
		ctrl.LoggerFrom(ctx).Info("Hold released", "reclaim", s.sm.Status.Reclaim.ID)
		return r.save(ctx, s)
	}
	return errors.Join(r.finish(ctx, s), r.absorb(ctx, s))
}

// finish does what an unreachable child or a refused spec change left undone when the Machine was gone.
func (r *Reconciler) finish(ctx context.Context, s *scope) error {
	_, eventErr := r.recordEvent(ctx, s)
	_, scheduleErr := r.disableSchedule(ctx, s)
	_, clearErr := r.clearRequest(ctx, s)
	return errors.Join(eventErr, scheduleErr, clearErr, r.save(ctx, s))
}

// released says that the owner wants the machine back in its schedule: by naming this removal, or by enabling the schedule after it was
// disabled. The generation tells that from a cache that still holds the spec from before.
func released(sm *v1alpha1.ScheduledMachine) bool {
	record := sm.Status.Reclaim
	if sm.Annotations[v1alpha1.ReleaseAnnotation] == record.ID {
		return true
	}
	return record.ScheduleDisabledAt != nil && sm.Generation > record.ScheduleDisabledGeneration && scheduleEnabled(sm)
}

func scheduleEnabled(sm *v1alpha1.ScheduledMachine) bool {
	return sm.Spec.Schedule.Enabled == nil || *sm.Spec.Schedule.Enabled
}

// absorb removes a Node that came back without a Machine, together with whatever it asks: a host that was off during the removal registers
// at its next boot with a certificate that is still valid.
func (r *Reconciler) absorb(ctx context.Context, s *scope) error {
	return r.expel(ctx, s, s.sm.Status.Reclaim.NodeName, r.stillHeld)
}

// expel removes the Node of that name, if there is one and it is still to be kept out.
func (r *Reconciler) expel(ctx context.Context, s *scope, name string, still func(context.Context, *v1alpha1.ScheduledMachine) (bool, error)) error {
	if s.child == nil {
		return nil
	}
	node := &corev1.Node{}
	if err := s.child.Reader.Get(ctx, types.NamespacedName{Name: name}, node); err != nil {
		return ignoreNotFound(err, "reading Node %s", name)
	}
	if out, err := still(ctx, s.sm); err != nil || !out {
		return err
	}
	ctrl.LoggerFrom(ctx).Info("Removing a Node that came back while its machine is kept out", "node", node.Name, "uid", node.UID)
	if err := r.deleteNodeByUID(ctx, s, node.Name, node.UID); err != nil && !gone(err) {
		return fmt.Errorf("deleting Node %s, which came back: %w", node.Name, err)
	}
	return nil
}

// stillHeld asks the API server, not the cache, because a release and the new Machine's Node may be on their way; and it leaves a Node alone
// that any Machine claims.
func (r *Reconciler) stillHeld(ctx context.Context, sm *v1alpha1.ScheduledMachine) (bool, error) {
	live := &v1alpha1.ScheduledMachine{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(sm), live); err != nil {
		return false, ignoreNotFound(err, "reading ScheduledMachine %s", sm.Name)
	}
	if !live.Status.Reclaim.Holds() || live.Status.Reclaim.ID != sm.Status.Reclaim.ID {
		return false, nil
	}
	return r.ours(ctx, live)
}
