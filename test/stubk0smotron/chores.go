package stubk0smotron

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// chore is one thing that a kubelet does for one pod: start it, or remove it once its containers are dead.
type chore struct {
	namespace, name string
	uid             types.UID
	remove          bool
}

// observe looks at a pod of this Node. A pod that is seen Terminating again keeps the moment of its first sight.
func (k *kubelet) observe(pod *corev1.Pod) {
	c := chore{namespace: pod.Namespace, name: pod.Name, uid: pod.UID}
	switch {
	case dying(pod):
		c.remove = true
		k.chores.AddAfter(c, k.options.PodKillTime)
	case pod.DeletionTimestamp == nil && pod.Status.Phase == corev1.PodPending:
		k.chores.Add(c)
	}
}

// dying says that a pod waits for its kubelet. With a grace period of zero it does not: somebody has forced it off the API, or
// only finalizers keep it.
func dying(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp != nil && ptr.Deref(pod.DeletionGracePeriodSeconds, 0) > 0
}

// doChores runs until the queue is shut down. What fails is tried again after another PodKillTime.
func (k *kubelet) doChores(ctx context.Context) {
	for {
		c, shutdown := k.chores.Get()
		if shutdown || ctx.Err() != nil {
			return
		}
		if err := k.do(ctx, c); err != nil && ctx.Err() == nil {
			k.log.Error(err, "Pod not dealt with")
			k.chores.AddAfter(c, k.options.PodKillTime)
		}
		k.chores.Done(c)
	}
}

func (k *kubelet) do(ctx context.Context, c chore) error {
	action := k.start
	if c.remove {
		action = k.remove
	}
	err := action(ctx, c)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // gone, or another pod of that name
		return nil
	}
	if err != nil {
		return fmt.Errorf("pod %s/%s: %w", c.namespace, c.name, err)
	}
	return nil
}

func (k *kubelet) start(ctx context.Context, c chore) error {
	now := metav1.Now()
	status := corev1.PodStatus{
		Phase:     corev1.PodRunning,
		StartTime: &now,
		Conditions: []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now},
		},
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": c.uid}, "status": status})
	if err != nil {
		return err
	}
	_, err = k.client.CoreV1().Pods(c.namespace).
		Patch(ctx, c.name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	return err
}

func (k *kubelet) remove(ctx context.Context, c chore) error {
	return k.client.CoreV1().Pods(c.namespace).Delete(ctx, c.name, metav1.DeleteOptions{
		GracePeriodSeconds: ptr.To[int64](0),
		Preconditions:      metav1.NewUIDPreconditions(string(c.uid)),
	})
}
