package eject

import (
	"context"
	"errors"
	"time"

	toolsevents "k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/child"
	"5spot.finos.org/node-reclaim/controller/machine"
)

// workers are this controller's own: an emergency never queues behind schedule work.
const workers = 32

// A step that failed is tried again after firstRetry, then twice that, and so on up to lastRetry: a removal must not wait for minutes
// because an API server was away for one.
const (
	firstRetry = 20 * time.Millisecond
	lastRetry  = 2 * time.Second
)

// Reconciler carries out emergency removals.
type Reconciler struct {
	// Client reads from the manager's cache; Live reads from the API server.
	Client client.Client
	Live   client.Reader
	// Children are the connections to the child clusters.
	Children *child.Cache
	// Version of the Machines that the management cluster serves.
	Version capi.Version
	// PodKillWait is how long the Machine's DELETE waits for the node's pods to end. 0: not at all.
	PodKillWait time.Duration
	// Events reports phases.
	Events toolsevents.EventRecorder
	// Now is the clock.
	Now func() time.Time
	// Instance names this process in events.
	Instance string
}

// SetupWithManager registers the controller: it is fed by the Nodes of all child clusters, and by the ScheduledMachines and their Machines.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("eject").
		For(&v1alpha1.ScheduledMachine{}).
		Watches(machine.Empty(r.Version), handler.EnqueueRequestsFromMapFunc(machine.Owner)).
		WatchesRawSource(machine.Nodes(r.Client, r.Children, requestMatters)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		}).
		Complete(r)
}

// Reconcile brings one machine as far out of its cluster as is possible now.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, err := r.scope(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	switch reclaim := s.sm.Status.Reclaim; {
	case reclaim.Holds() && reclaim.Complete():
		return ctrl.Result{}, r.hold(ctx, s)
	case reclaim.Holds():
		return r.remove(ctx, s)
	default:
		return r.watch(ctx, s)
	}
}

// step is one part of a removal. It does nothing when its part is done, and says when to look again when it has to wait. Its error
// does not keep the others from running.
type step func(context.Context, *scope) (wait time.Duration, err error)

// remove runs the steps that are left of a recorded removal.
func (r *Reconciler) remove(ctx context.Context, s *scope) (ctrl.Result, error) {
	strikeWait, err := r.strike(ctx, s)
	if idOf(s.stored.Status.Reclaim) != idOf(s.sm.Status.Reclaim) {
		return ctrl.Result{}, err // no removal without its record: nothing that follows may happen
	}
	result, errs := ctrl.Result{RequeueAfter: strikeWait}, []error{err}
	for _, run := range []step{
		r.recordEvent, r.disableSchedule, r.awaitPods, r.deleteMachine, r.clearRequest, r.awaitMachine,
	} {
		wait, err := run(ctx, s)
		errs = append(errs, err)
		if wait > 0 && (result.RequeueAfter == 0 || wait < result.RequeueAfter) {
			result.RequeueAfter = wait
		}
	}
	errs = append(errs, r.save(ctx, s))
	if err := errors.Join(errs...); err != nil {
		return ctrl.Result{}, err
	}
	return result, nil
}
