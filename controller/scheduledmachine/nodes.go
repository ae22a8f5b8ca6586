package scheduledmachine

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/machine"
)

// concerned are the ScheduledMachines that a change of a Machine concerns: its own, and where it claims a Node of another name, or no longer
// does, those whose Machines claim the same.
func (r *Reconciler) concerned(ctx context.Context, changed client.Object) []reconcile.Request {
	requests := machine.Owner(ctx, changed)
	object, ok := changed.(*unstructured.Unstructured)
	if !ok {
		return requests
	}
	node, claimed := capi.NodeRef(object)
	if !claimed || node == object.GetName() {
		return requests
	}
	all, err := machine.List(ctx, r.Client, r.Version, object.GetNamespace())
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "looking for other claims to a Node", "node", node)
	}
	for i := range all {
		if other, _ := capi.NodeRef(&all[i]); other == node && all[i].GetName() != object.GetName() {
			requests = append(requests, machine.Owner(ctx, &all[i])...)
		}
	}
	return requests
}

// nodeMatters keeps heartbeats out of the queue: of a Node that stays, only what the status or the taints depend on does matter.
func nodeMatters(old, node *corev1.Node) bool {
	if old == nil || node == nil {
		return true
	}
	return old.UID != node.UID || nodeReady(old) != nodeReady(node) || old.Spec.ProviderID != node.Spec.ProviderID ||
		!equality.Semantic.DeepEqual(old.Spec.Taints, node.Spec.Taints)
}

func nodeReady(node *corev1.Node) bool {
	condition := readyCondition(node)
	return condition != nil && condition.Status == corev1.ConditionTrue
}

func readyCondition(node *corev1.Node) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == corev1.NodeReady {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}
