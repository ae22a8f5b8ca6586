package eject

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/child"
	"5spot.finos.org/node-reclaim/controller/events"
)

// scope is what one reconcile knows of its machine.
type scope struct {
	// sm is changed by the steps and saved once, at the end.
	sm *v1alpha1.ScheduledMachine
	// stored is the phase that the API server has.
	stored v1alpha1.Phase
	// child is nil while the child cluster cannot be reached; childErr then says why.
	child    *child.Connection
	childErr error
}

func (r *Reconciler) scope(ctx context.Context, name types.NamespacedName) (*scope, error) {
	s := &scope{sm: &v1alpha1.ScheduledMachine{}}
	if err := r.Client.Get(ctx, name, s.sm); err != nil {
		return nil, err
	}
	s.stored = s.sm.Status.Phase
	s.child, s.childErr = r.Children.Get(child.Key(s.sm))
	return s, nil
}

// save stores status.reclaim and what follows from it. Another controller writes other parts of the status: after a conflict the record is
// put on the newer object, unless that one has another record.
func (r *Reconciler) save(ctx context.Context, s *scope) error {
	record := s.sm.Status.Reclaim
	latest := s.sm
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if latest == nil {
			latest = &v1alpha1.ScheduledMachine{}
			if err := r.Live.Get(ctx, client.ObjectKeyFromObject(s.sm), latest); err != nil {
				return client.IgnoreNotFound(err)
			}
			if latest.Status.Reclaim == nil || latest.Status.Reclaim.ID != record.ID {
				return nil
			}
		}
		updated := latest.DeepCopy()
		updated.Status.Reclaim = record.DeepCopy()
		describe(updated)
		before := latest.Status.Phase
		if latest == s.sm {
			before = s.stored
		}
		latest = nil
		if err := r.Client.Status().Update(ctx, updated); err != nil {
			return err
		}
		s.sm.ResourceVersion, s.stored = updated.ResourceVersion, updated.Status.Phase
		events.Phase(r.Events, updated, before)
		return nil
	})
	if err != nil {
		return fmt.Errorf("storing status.reclaim: %w", err)
	}
	return nil
}

func microtime(t time.Time) *metav1.MicroTime {
	m := metav1.NewMicroTime(t)
	return &m
}
