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
	"5spot.finos.org/node-reclaim/controller/metrics"
	"5spot.finos.org/node-reclaim/controller/priority"
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
	// Suspended: no removal begins because a Node asks for it. What has begun is ended, and what is held out stays out.
	Suspended bool
	// Metrics are counted here.
	Metrics *metrics.Metrics
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
		Watches(&v1alpha1.ScheduledMachine{}, priority.Handler()).
		Watches(machine.Empty(r.Version), handler.EnqueueRequestsFromMapFunc(machine.Owner)).
		WatchesRawSource(machine.Nodes(r.Client, r.Children, requestMatters)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		}).
		Complete(r.Metrics.Reconciler("eject", r))
}

// +kubebuilder:rbac:groups=5spot.finos.org,resources=scheduledmachines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=5spot.finos.org,resources=scheduledmachines/status,verbs=update
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=get;list;watch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create

// Reconcile brings one machine as far out of its cluster as is possible now.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	s, err := r.scope(ctx, req.NamespacedName)
	if err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	switch record := s.sm.Status.Reclaim; {
	case record.Holds() && !record.Complete():
		return r.reclaim(ctx, s)
	case s.removal().UnderWay() || s.sm.Spec.KillSwitch:
		return r.terminate(ctx, s)
	case record.Holds():
		return ctrl.Result{}, r.hold(ctx, s)
	default:
		return r.watch(ctx, s)
	}
}

// step is one part of a removal. It does nothing when its part is done, and says when to look again when it has to wait. Its error
// does not keep the others from running.
type step func(context.Context, *scope) (wait time.Duration, err error)

// reclaim carries out what a Node asked for.
func (r *Reconciler) reclaim(ctx context.Context, s *scope) (ctrl.Result, error) {
	return r.remove(ctx, s, r.recordEvent, r.disableSchedule, r.awaitPods, r.deleteMachine, r.clearRequest, r.awaitMachine)
}

// remove strikes and then runs the steps, as far as they are due.
func (r *Reconciler) remove(ctx context.Context, s *scope, steps ...step) (ctrl.Result, error) {
	strikeWait, err := r.strike(ctx, s)
	if idOf(&s.stored.Status) != idOf(&s.sm.Status) {
		return ctrl.Result{}, err // no removal without its record: nothing that follows may happen
	}
	result, errs := ctrl.Result{RequeueAfter: strikeWait}, []error{err}
	for _, run := range steps {
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
