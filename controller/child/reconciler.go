package child

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// workers is how many child clusters may hang at once before one that answers has to wait.
const workers = 20

// farewellTimeout bounds what is still done in a cluster before it is disconnected.
const farewellTimeout = 5 * time.Second

// Reconciler connects the clusters that ScheduledMachines name, and keeps looking at them. It changes nothing by itself, so it runs on a replica
// that stands by, too: that one takes over with its connections up.
type Reconciler struct {
	Client client.Client
	Cache  *Cache
	// Changed get every ScheduledMachine of a cluster that was connected or lost.
	Changed []chan<- event.GenericEvent
	// Farewell takes off a cluster what was placed there, before it is disconnected because no ScheduledMachine names it any more. It is given
	// little time, and not called again.
	Farewell func(context.Context, ClusterKey)
	// Wrap is put around the reconciler, to count what it does.
	Wrap func(controller string, inner reconcile.Reconciler) reconcile.Reconciler
}

// SetupWithManager registers the reconciler. Its requests name child clusters, not objects.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("child").
		Watches(&v1alpha1.ScheduledMachine{}, handler.EnqueueRequestsFromMapFunc(clusterOfMachine),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(clusterOfSecret)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers, NeedLeaderElection: new(false)}).
		Complete(r.Wrap("child", r))
}

func clusterOfMachine(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName(Key(o.(*v1alpha1.ScheduledMachine)))}}
}

func clusterOfSecret(_ context.Context, o client.Object) []reconcile.Request {
	name, ok := strings.CutSuffix(o.GetName(), secretSuffix)
	if !ok {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: o.GetNamespace(), Name: name}}}
}

// +kubebuilder:rbac:groups="",resources=secrets,verbs=list;watch
// +kubebuilder:rbac:groups=5spot.finos.org,resources=scheduledmachines,verbs=list;watch

// Reconcile makes one connection what it should be. A cluster that does not answer is no error: it is a state, asked again soon.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	key := ClusterKey(req.NamespacedName)
	machines, err := r.machines(ctx, key)
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(machines) == 0 {
		r.leave(ctx, key)
		return ctrl.Result{}, nil
	}
	changed, err := r.Cache.Reconnect(ctx, key)
	if changed {
		r.report(ctx, key, err)
		r.tell(machines)
	}
	if err != nil {
		return ctrl.Result{RequeueAfter: retryAfter}, nil
	}
	return ctrl.Result{RequeueAfter: probeEvery}, nil
}

// leave disconnects a cluster that nobody needs.
func (r *Reconciler) leave(ctx context.Context, key ClusterKey) {
	if connection, _ := r.Cache.Get(key); connection != nil {
		ctx, cancel := context.WithTimeout(ctx, farewellTimeout)
		defer cancel()
		r.Farewell(ctx, key)
	}
	r.Cache.Disconnect(key)
}

func (r *Reconciler) tell(machines []v1alpha1.ScheduledMachine) {
	for _, changed := range r.Changed {
		for i := range machines {
			changed <- event.GenericEvent{Object: &machines[i]}
		}
	}
}

func (r *Reconciler) report(ctx context.Context, key ClusterKey, err error) {
	log := ctrl.LoggerFrom(ctx)
	if err != nil {
		log.Info("Child cluster is not connected", "cluster", key.String(), "reason", err.Error())
		return
	}
	log.Info("Child cluster connected", "cluster", key.String())
}

func (r *Reconciler) machines(ctx context.Context, key ClusterKey) ([]v1alpha1.ScheduledMachine, error) {
	var all v1alpha1.ScheduledMachineList
	if err := r.Client.List(ctx, &all, client.InNamespace(key.Namespace)); err != nil {
		return nil, err
	}
	var ours []v1alpha1.ScheduledMachine
	for _, sm := range all.Items {
		if sm.Spec.ClusterName == key.Name {
			ours = append(ours, sm)
		}
	}
	return ours, nil
}
