package machine

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/child"
	"5spot.finos.org/node-reclaim/controller/priority"
)

// Nodes feeds a controller with the ScheduledMachines whose Nodes changed in a way that matters, in every child cluster, connected now or
// later. A Node that came has no old, one that went no new; heartbeats are changes, too, and matters should keep them out of the queue.
func Nodes(scheduled client.Reader, children *child.Cache, matters func(old, new *corev1.Node) bool) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		return children.OnNode(ctx, func(key child.ClusterKey, old, node *corev1.Node) {
			if !matters(old, node) {
				return
			}
			for _, owner := range ownersOf(ctx, scheduled, key, either(node, old).Name) {
				priority.Add(queue, owner)
			}
		})
	})
}

func either(node, old *corev1.Node) *corev1.Node {
	if node != nil {
		return node
	}
	return old
}

// ownersOf are the ScheduledMachines that may have to do with a Node: by its name, which is the Machine's, or because they use the host's own
// name and have it, or had it, as theirs. Whether the Node is really theirs is decided later, on the Machine.
func ownersOf(ctx context.Context, scheduled client.Reader, key child.ClusterKey, node string) []*v1alpha1.ScheduledMachine {
	var all v1alpha1.ScheduledMachineList
	if err := scheduled.List(ctx, &all, client.InNamespace(key.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "listing ScheduledMachines for a Node", "node", node)
		return nil
	}
	var owners []*v1alpha1.ScheduledMachine
	for i := range all.Items {
		sm := &all.Items[i]
		if sm.Spec.ClusterName == key.Name && (sm.Name == node || refersTo(sm, node)) {
			owners = append(owners, sm)
		}
	}
	return owners
}

func refersTo(sm *v1alpha1.ScheduledMachine, node string) bool {
	return sm.Status.NodeRef != nil && sm.Status.NodeRef.Name == node ||
		sm.Status.Reclaim != nil && sm.Status.Reclaim.NodeName == node
}
