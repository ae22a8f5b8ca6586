package eject

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/child"
)

// nodes feeds the controller with what happens to the Nodes of every child cluster, connected now or later.
func (r *Reconciler) nodes() source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		return r.Children.OnNode(ctx, func(key child.ClusterKey, old, node *corev1.Node) {
			if !matters(old, node) {
				return
			}
			for _, name := range r.ownersOf(ctx, key, either(node, old).Name) {
				queue.Add(reconcile.Request{NamespacedName: name})
			}
		})
	})
}

// matters keeps heartbeats out of the queue: only a Node that came, went, or changed its request does.
func matters(old, node *corev1.Node) bool {
	if old == nil || node == nil {
		return true
	}
	return old.UID != node.UID || old.Annotations[reclaim.AnnotationRequested] != node.Annotations[reclaim.AnnotationRequested]
}

func either(node, old *corev1.Node) *corev1.Node {
	if node != nil {
		return node
	}
	return old
}

// ownersOf are the ScheduledMachines that may have to do with a Node: by its name, which is the Machine's, or because they use the host's own
// name and have it, or had it, as theirs. Whether the Node is really theirs is decided later, on the Machine.
func (r *Reconciler) ownersOf(ctx context.Context, key child.ClusterKey, node string) []types.NamespacedName {
	var all v1alpha1.ScheduledMachineList
	if err := r.Client.List(ctx, &all, client.InNamespace(key.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing ScheduledMachines for a Node", "node", node)
		return nil
	}
	var owners []types.NamespacedName
	for i := range all.Items {
		sm := &all.Items[i]
		if sm.Spec.ClusterName == key.Name && (sm.Name == node || refersTo(sm, node)) {
			owners = append(owners, client.ObjectKeyFromObject(sm))
		}
	}
	return owners
}

func refersTo(sm *v1alpha1.ScheduledMachine, node string) bool {
	return sm.Status.NodeRef != nil && sm.Status.NodeRef.Name == node ||
		sm.Status.Reclaim != nil && sm.Status.Reclaim.NodeName == node
}
