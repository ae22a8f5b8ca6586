package eject

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/events"
)

// save stores the record of the removal and what follows from it. Another controller writes other parts of the status, and a replica that lost
// the lease may still write this one: after a conflict our steps are added to the newer object, unless a decision on that one would be
// another.
func (r *Reconciler) save(ctx context.Context, s *scope) error {
	base := s.stored
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		next := base.DeepCopy()
		merge(&next.Status, &s.sm.Status)
		if equality.Semantic.DeepEqual(next.Status, base.Status) {
			s.stored = base
			return nil
		}
		if !equality.Semantic.DeepEqual(next.Status.Reclaim, base.Status.Reclaim) {
			describe(next)
		}
		err := r.Client.Status().Update(ctx, next)
		if err == nil {
			r.stored(base, next)
			s.stored = next
		}
		if apierrors.IsConflict(err) {
			base, err = r.newer(ctx, s, err)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("storing the record of the removal: %w", err)
	}
	return nil
}

// stored reports what a write has changed, once.
func (r *Reconciler) stored(before, after *v1alpha1.ScheduledMachine) {
	events.Phase(r.Events, after, before.Status.Phase)
	r.Metrics.Steps(&before.Status, &after.Status)
}

// newer reads the object again after a conflict, and returns the conflict with it, to be tried again. It is another error when the record is no
// longer the one that the removal began on, or when the owner has taken the order back.
func (r *Reconciler) newer(ctx context.Context, s *scope, conflict error) (*v1alpha1.ScheduledMachine, error) {
	latest := &v1alpha1.ScheduledMachine{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(s.sm), latest); err != nil {
		return nil, err
	}
	there := idOf(&latest.Status)
	begun := there == idOf(&s.sm.Status)
	same := latest.UID == s.sm.UID && (begun || there == idOf(&s.stored.Status) && ordered(s.sm, latest))
	if !same {
		return nil, fmt.Errorf("the ScheduledMachine changed meanwhile: %w", errChanged)
	}
	return latest, conflict
}

// errChanged brings the next reconcile, which decides anew.
var errChanged = errors.New("deciding again")

// ordered says that the spec still wants the removal that is about to be recorded.
func ordered(ours, latest *v1alpha1.ScheduledMachine) bool {
	if removalOf(&ours.Status) == ours.Status.Termination {
		return latest.Spec.KillSwitch
	}
	return len(latest.Spec.KillIfCommands) > 0
}

// idOf tells the removals of one ScheduledMachine apart.
func idOf(status *v1alpha1.ScheduledMachineStatus) string {
	var id string
	if status.Reclaim != nil {
		id = status.Reclaim.ID
	}
	if status.Termination != nil {
		id += "/" + string(status.Termination.MachineUID)
	}
	return id
}

// merge adds our record to a status. What is stored of the same removal stays: whoever saw a step first knows when it was.
func merge(into, ours *v1alpha1.ScheduledMachineStatus) {
	into.Reclaim = mergeReclaim(into.Reclaim, ours.Reclaim)
	switch {
	case ours.Termination == nil:
	case into.Termination == nil || into.Termination.MachineUID != ours.Termination.MachineUID:
		into.Termination = ours.Termination.DeepCopy()
	default:
		mergeSteps(into.Termination, ours.Termination)
	}
}

func mergeReclaim(stored, ours *v1alpha1.ReclaimStatus) *v1alpha1.ReclaimStatus {
	if ours == nil {
		return stored
	}
	if stored == nil || stored.ID != ours.ID {
		return ours.DeepCopy()
	}
	mergeSteps(&stored.Removal, &ours.Removal)
	if stored.ScheduleDisabledAt == nil {
		stored.ScheduleDisabledAt, stored.ScheduleDisabledGeneration = ours.ScheduleDisabledAt, ours.ScheduleDisabledGeneration
	}
	first(&stored.EventRecordedAt, ours.EventRecordedAt)
	first(&stored.AnnotationsClearedAt, ours.AnnotationsClearedAt)
	first(&stored.ReleasedAt, ours.ReleasedAt)
	return stored
}

func mergeSteps(stored, ours *v1alpha1.Removal) {
	if stored.NodeUID == "" {
		stored.NodeUID = ours.NodeUID
	}
	if stored.PodsDeletedAt == nil {
		stored.PodsDeletedAt, stored.PodsDeleted = ours.PodsDeletedAt, ours.PodsDeleted
	}
	first(&stored.CordonedAt, ours.CordonedAt)
	first(&stored.NodeDeletedAt, ours.NodeDeletedAt)
	first(&stored.PodsGoneAt, ours.PodsGoneAt)
	first(&stored.MachineDeletedAt, ours.MachineDeletedAt)
	first(&stored.MachineGoneAt, ours.MachineGoneAt)
}

func first(stored **metav1.MicroTime, ours *metav1.MicroTime) {
	if *stored == nil {
		*stored = ours
	}
}
