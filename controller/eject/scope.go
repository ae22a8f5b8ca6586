package eject

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/child"
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
	if s.removal().UnderWay() {
		if err := r.refresh(ctx, s); err != nil {
			return nil, err
		}
	}
	s.child, s.childErr = r.Children.Get(child.Key(s.sm))
	if s.child != nil && (s.sm.Status.Reclaim.Holds() || s.removal().UnderWay()) {
		return s, r.distrust(ctx, s)
	}
	return s, nil
}

// removal is what is to be removed, or was last.
func (s *scope) removal() *v1alpha1.Removal { return removalOf(&s.sm.Status) }

// removalOf is a reclaim's until the owner releases the machine, otherwise the kill switch's. That comes before a reclaim that is complete, too:
// should there be a Machine in spite of the hold, it has to go.
func removalOf(status *v1alpha1.ScheduledMachineStatus) *v1alpha1.Removal {
	if status.Reclaim.Holds() && !(status.Reclaim.Complete() && status.Termination.UnderWay()) {
		return &status.Reclaim.Removal
	}
	return status.Termination
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

// microtime is a time as the API server keeps it, so that a record compares equal to what is read back.
func microtime(t time.Time) *metav1.MicroTime {
	m := metav1.NewMicroTime(t.Truncate(time.Microsecond))
	return &m
}
