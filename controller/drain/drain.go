// Package drain takes the pods off a Node as `kubectl drain` does, through the eviction API, which PodDisruptionBudgets may refuse; but one pass at
// a time, so that nobody waits for it: a pass asks for the eviction of what is not on its way yet, and says what is still there.
//
// When a Node is drained, for how long, and what follows, is the caller's. The package must not know Machines or ScheduledMachines.
package drain

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/controller/child"
	"5spot.finos.org/node-reclaim/controller/pods"
)

// parallelEvictions is what one drain asks for at once: a fraction of what a child's API server gets from us, so that evictions that hang leave
// room for an emergency in the same cluster.
const parallelEvictions = 8

// passTimeout bounds a pass whose evictions hang, each until its own deadline. What was not asked for then is asked for by the next.
const passTimeout = 5 * time.Second

// Cordon keeps the scheduler away from a Node, or lets it come back. Another Node of that name is left alone; see child.Moved.
func Cordon(ctx context.Context, connection *child.Connection, node *corev1.Node, on bool) error {
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q},"spec":{"unschedulable":%t}}`, node.UID, on)
	target := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name}}
	err := connection.Do(ctx, func(ctx context.Context) error {
		return connection.Client.Patch(ctx, target, client.RawPatch(types.MergePatchType, patch))
	})
	if err != nil {
		return fmt.Errorf("setting spec.unschedulable of Node %s to %t: %w", node.Name, on, err)
	}
	return nil
}

// Pass asks for the eviction of the Node's pods, all but those that are on their way, and returns those that are still there.
// asked is told of each answer, from several goroutines.
//
// Pods that `kubectl drain` leaves unless told otherwise go, too: those without a controller, and those with an emptyDir. The machine leaves at any
// rate; what is not evicted dies with it, without its grace period. Finished pods have nothing left to lose, and hold nothing up.
func Pass(ctx context.Context, connection *child.Connection, node *corev1.Node, asked func(error)) (Left, error) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	all, err := pods.OnNode(ctx, connection, node.Name,
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)))
	if err != nil {
		return nil, err
	}
	var group errgroup.Group
	group.SetLimit(parallelEvictions)
	left := make(Left, len(all))
	for i := range all {
		group.Go(func() error {
			left[i] = evict(ctx, connection, &all[i], asked)
			return nil
		})
	}
	_ = group.Wait() // a refusal is part of the answer
	return left.waitedFor(silent(node)), nil
}

// evict asks for the eviction of one pod, unless it is leaving already.
func evict(ctx context.Context, connection *child.Connection, pod *metav1.PartialObjectMetadata, asked func(error)) Pod {
	name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	if pod.DeletionTimestamp != nil {
		return Pod{Name: name, state: leavingOrDead(pod)}
	}
	eviction := &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(pod.UID))}}
	target := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
	err := connection.Do(ctx, func(ctx context.Context) error {
		return connection.Client.SubResource("eviction").Create(ctx, target, eviction)
	})
	asked(err)
	return answered(name, err)
}

func leavingOrDead(pod *metav1.PartialObjectMetadata) state {
	if pods.Dead(pod) {
		return gone
	}
	return leaving
}

// silent says that the Node's kubelet has not reported for so long that its cluster takes it for dead: a workstation that was switched off. It
// will not end any pod, so pods that are leaving are not waited for.
func silent(node *corev1.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status == corev1.ConditionUnknown
		}
	}
	return false
}
