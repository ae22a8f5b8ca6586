package projection

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/child"
	"5spot.finos.org/node-reclaim/controller/machine"
)

// gather is how long a change waits for others to be seen together with it, and for an emergency to be served first.
const gather = 200 * time.Millisecond

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// SetupWithManager registers the controller. changed tells of ScheduledMachines whose child cluster was connected or lost.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager, changed <-chan event.GenericEvent) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("projection").
		Watches(&v1alpha1.ScheduledMachine{}, wake(clusterOf), builder.WithPredicates(predicate.Funcs{UpdateFunc: machineMatters})).
		Watches(machine.Empty(r.Version), wake(clusterOfMachine), builder.WithPredicates(predicate.Funcs{UpdateFunc: mappingMatters})).
		WatchesRawSource(source.Channel(changed, wake(clusterOf))).
		WatchesRawSource(source.Func(r.watchChildren)).
		WithOptions(r.options()).
		Complete(r.Wrap("projection", r))
}

func (r *Reconciler) watchChildren(ctx context.Context, q queue) error {
	r.Children.OnPlaced(func(key child.ClusterKey) { soon(q, key) })
	return r.Children.OnNode(ctx, func(key child.ClusterKey, old, node *corev1.Node) {
		if nodeMatters(old, node) {
			soon(q, key)
		}
	})
}

func soon(q queue, key child.ClusterKey) {
	q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName(key)}, gather)
}

func wake(cluster func(client.Object) child.ClusterKey) handler.EventHandler {
	return handler.Funcs{
		CreateFunc:  func(_ context.Context, e event.CreateEvent, q queue) { soon(q, cluster(e.Object)) },
		UpdateFunc:  func(_ context.Context, e event.UpdateEvent, q queue) { soon(q, cluster(e.ObjectNew)) },
		DeleteFunc:  func(_ context.Context, e event.DeleteEvent, q queue) { soon(q, cluster(e.Object)) },
		GenericFunc: func(_ context.Context, e event.GenericEvent, q queue) { soon(q, cluster(e.Object)) },
	}
}

func clusterOf(o client.Object) child.ClusterKey { return child.Key(o.(*v1alpha1.ScheduledMachine)) }

func clusterOfMachine(o client.Object) child.ClusterKey {
	name, _, _ := unstructured.NestedString(o.(*unstructured.Unstructured).Object, "spec", "clusterName")
	return child.ClusterKey{Namespace: o.GetNamespace(), Name: name}
}

// machineMatters keeps out what others write into the status: the spec matters, our own condition, and the end of a removal.
func machineMatters(e event.UpdateEvent) bool {
	old, sm := e.ObjectOld.(*v1alpha1.ScheduledMachine), e.ObjectNew.(*v1alpha1.ScheduledMachine)
	return old.Generation != sm.Generation || ejecting(old) != ejecting(sm) || !equality.Semantic.DeepEqual(
		meta.FindStatusCondition(old.Status.Conditions, v1alpha1.ConditionAgentReady),
		meta.FindStatusCondition(sm.Status.Conditions, v1alpha1.ConditionAgentReady))
}

// mappingMatters keeps out everything of a Machine but its owner and its Node.
func mappingMatters(e event.UpdateEvent) bool {
	before, _ := capi.NodeRef(e.ObjectOld.(*unstructured.Unstructured))
	after, _ := capi.NodeRef(e.ObjectNew.(*unstructured.Unstructured))
	return before != after || e.ObjectOld.GetUID() != e.ObjectNew.GetUID() ||
		e.ObjectOld.GetAnnotations()[v1alpha1.OwnerUIDAnnotation] != e.ObjectNew.GetAnnotations()[v1alpha1.OwnerUIDAnnotation]
}

// nodeMatters keeps heartbeats out.
func nodeMatters(old, node *corev1.Node) bool {
	if old == nil || node == nil || old.UID != node.UID || reports(old) != reports(node) {
		return true
	}
	for _, key := range []string{reclaim.AnnotationAgentState, reclaim.LabelProjectedBy} {
		if old.Annotations[key] != node.Annotations[key] {
			return true
		}
	}
	before, had := old.Labels[reclaim.LabelAgent]
	after, has := node.Labels[reclaim.LabelAgent]
	return had != has || before != after
}
