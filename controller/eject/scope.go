package eject

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	// sm is what the steps read, and its record is what they change; stored is the object as the API server has it.
	sm, stored *v1alpha1.ScheduledMachine
	// child is nil while the child cluster cannot be reached; childErr then says why.
	child    *child.Connection
	childErr error
}

func (r *Reconciler) scope(ctx context.Context, name types.NamespacedName) (*scope, error) {
	s := &scope{sm: &v1alpha1.ScheduledMachine{}}
	if err := r.Client.Get(ctx, name, s.sm); err != nil {
		return nil, err
	}
	s.stored = s.sm.DeepCopy()
	if record := s.sm.Status.Reclaim; record.Holds() && !record.Complete() {
		if err := r.refresh(ctx, s); err != nil {
			return nil, err
		}
	}
	s.child, s.childErr = r.Children.Get(child.Key(s.sm))
	if s.sm.Status.Reclaim.Holds() && s.child != nil {
		return s, r.distrust(ctx, s)
	}
	return s, nil
}

// refresh reads the object from the API server: a cache that lags behind our own last write would have steps done again, and their times
// overwritten.
func (r *Reconciler) refresh(ctx context.Context, s *scope) error {
	latest := &v1alpha1.ScheduledMachine{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(s.sm), latest); err != nil {
		return err
	}
	s.sm, s.stored = latest, latest.DeepCopy()
	return nil
}

// save stores status.reclaim and what follows from it. Another controller writes other parts of the status: after a conflict the record is
// put on the newer object, unless a decision on that one would be another.
func (r *Reconciler) save(ctx context.Context, s *scope) error {
	record := s.sm.Status.Reclaim
	if equality.Semantic.DeepEqual(record, s.stored.Status.Reclaim) {
		return nil
	}
	target := s.stored.DeepCopy()
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		before := target.Status.Phase
		target.Status.Reclaim = record.DeepCopy()
		describe(target)
		err := r.Client.Status().Update(ctx, target)
		if err == nil {
			events.Phase(r.Events, target, before)
			return nil
		}
		if apierrors.IsConflict(err) {
			target, err = r.newer(ctx, s, err)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("storing status.reclaim: %w", err)
	}
	s.stored = target
	return nil
}

// newer reads the object again after a conflict, and returns the conflict with it, to be tried again. It is another error when the record is no
// longer the one that the removal began on, or when the owner has opted out.
func (r *Reconciler) newer(ctx context.Context, s *scope, conflict error) (*v1alpha1.ScheduledMachine, error) {
	latest := &v1alpha1.ScheduledMachine{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(s.sm), latest); err != nil {
		return nil, err
	}
	there := latest.Status.Reclaim
	begun := there != nil && there.ID == s.sm.Status.Reclaim.ID
	same := latest.UID == s.sm.UID && (begun || idOf(there) == idOf(s.stored.Status.Reclaim) && len(latest.Spec.KillIfCommands) > 0)
	if !same {
		return nil, fmt.Errorf("the ScheduledMachine changed meanwhile: %w", errChanged)
	}
	return latest, conflict
}

// errChanged brings the next reconcile, which decides anew.
var errChanged = errors.New("deciding again")

func idOf(record *v1alpha1.ReclaimStatus) string {
	if record == nil {
		return ""
	}
	return record.ID
}

// microtime is a time as the API server keeps it, so that a record compares equal to what is read back.
func microtime(t time.Time) *metav1.MicroTime {
	m := metav1.NewMicroTime(t.Truncate(time.Microsecond))
	return &m
}
