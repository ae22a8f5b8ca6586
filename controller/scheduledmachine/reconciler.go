package scheduledmachine

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	toolsevents "k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/child"
	"5spot.finos.org/node-reclaim/controller/machine"
	"5spot.finos.org/node-reclaim/controller/metrics"
	"5spot.finos.org/node-reclaim/controller/priority"
)

const workers = 10

// Back-off for what the API servers refuse for the moment.
const (
	firstRetry = 20 * time.Millisecond
	lastRetry  = 30 * time.Second
)

// Reconciler keeps Machines where their schedules want them.
type Reconciler struct {
	// Client reads from the manager's cache; Live reads from the API server.
	Client client.Client
	Live   client.Reader
	// Children are the connections to the child clusters.
	Children *child.Cache
	// Version of the Machines that the management cluster serves.
	Version capi.Version
	// Metrics are counted here.
	Metrics *metrics.Metrics
	// Events reports phases.
	Events toolsevents.EventRecorder
	// Now is the clock.
	Now func() time.Time
}

// SetupWithManager registers the controller. changed tells of ScheduledMachines whose child cluster was connected or lost.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, changed <-chan event.GenericEvent) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("scheduledmachine").
		Watches(&v1alpha1.ScheduledMachine{}, priority.Handler()). // For would put all of the first pass behind everything else, in no order
		Watches(machine.Empty(r.Version), handler.EnqueueRequestsFromMapFunc(r.concerned)).
		Watches(emptyCluster(r.Version), handler.EnqueueRequestsFromMapFunc(r.lentTo),
			builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		WatchesRawSource(source.Channel(changed, priority.Handler())).
		WatchesRawSource(machine.Nodes(r.Client, r.Children, nodeMatters)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		}).
		Complete(r.Metrics.Reconciler("scheduledmachine", reconcile.AsReconciler[*v1alpha1.ScheduledMachine](r.Client, r)))
}

// lentTo are the ScheduledMachines of a Cluster.
func (r *Reconciler) lentTo(ctx context.Context, cluster client.Object) []reconcile.Request {
	var all v1alpha1.ScheduledMachineList
	if err := r.Client.List(ctx, &all, client.InNamespace(cluster.GetNamespace()), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing ScheduledMachines for a Cluster", "cluster", cluster.GetName())
		return nil
	}
	var requests []reconcile.Request
	for i := range all.Items {
		if all.Items[i].Spec.ClusterName == cluster.GetName() {
			requests = append(requests, reconcile.Request{NamespacedName: key(&all.Items[i])})
		}
	}
	return requests
}

func emptyCluster(version capi.Version) *unstructured.Unstructured {
	cluster := &unstructured.Unstructured{}
	cluster.SetGroupVersionKind(version.ClusterKind())
	return cluster
}

// +kubebuilder:rbac:groups=5spot.finos.org,resources=scheduledmachines,verbs=get;list;watch;update;patch
// +kubebuilder:rbac:groups=5spot.finos.org,resources=scheduledmachines/status,verbs=update
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=list;watch
// +kubebuilder:rbac:groups=bootstrap.cluster.x-k8s.io,resources=k0sworkerconfigs,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=remotemachines,verbs=get;create;patch;delete
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create

// Reconcile takes one ScheduledMachine a step towards where it should be. Waiting is a requeue, never a blocked worker.
func (r *Reconciler) Reconcile(ctx context.Context, sm *v1alpha1.ScheduledMachine) (result ctrl.Result, err error) {
	if sm.DeletionTimestamp == nil && controllerutil.AddFinalizer(sm, v1alpha1.Finalizer) {
		return r.claim(ctx, sm)
	}
	s := &scope{sm: sm, before: sm.DeepCopy(), now: r.Now()}
	defer func() { err = errors.Join(err, r.save(ctx, s)) }()
	steps := []func(context.Context, *scope) error{
		r.readSchedule, r.readCluster, r.readMachine, r.bringOver, r.readNode, r.settle, r.keepTaints,
	}
	if s.deleting() {
		steps = steps[1:] // a schedule at fault must not keep it from going
	}
	for _, run := range steps {
		err := run(ctx, s)
		if retry(err) {
			s.fault = err
			break
		}
		s.fault = errors.Join(s.fault, err) // what a person has to mend keeps nothing else from being looked at
	}
	s.conclude()
	if retry(s.fault) {
		return ctrl.Result{}, s.fault
	}
	return ctrl.Result{RequeueAfter: s.wakeAfter(), Priority: new(priority.Of(sm))}, s.taintErr
}

// claim stores the finalizer; its own watch event comes back for the rest.
func (r *Reconciler) claim(ctx context.Context, sm *v1alpha1.ScheduledMachine) (ctrl.Result, error) {
	s := &scope{sm: sm, before: sm.DeepCopy(), now: r.Now()}
	err := r.Client.Update(ctx, sm.DeepCopy())
	if !refused(err) {
		return ctrl.Result{}, err
	}
	s.fault = &Fault{Reason: v1alpha1.ReasonRefused, Message: "storing the finalizer: " + err.Error()}
	s.conclude()
	return ctrl.Result{RequeueAfter: faultRetry}, r.save(ctx, s)
}

func key(sm *v1alpha1.ScheduledMachine) types.NamespacedName { return client.ObjectKeyFromObject(sm) }
