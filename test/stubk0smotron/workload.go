package stubk0smotron

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
)

// workload puts one Pods on one Node, in place of a scheduler and of the workload controllers.
type workload struct {
	Pods
	admin   kubernetes.Interface
	kubelet *kubelet
}

// putPods puts a host's pods on its Node. Those that an earlier attempt put there stay.
func putPods(ctx context.Context, k *kubelet) error {
	if len(k.id.host.Pods) == 0 {
		return nil
	}
	admin, err := kubernetes.NewForConfig(k.child)
	if err != nil {
		return fmt.Errorf("making the client that puts pods on Node %s: %w", k.id.nodeName, err)
	}
	for _, pods := range k.id.host.Pods {
		w := workload{Pods: pods, admin: admin, kubelet: k}
		if w.Namespace == "" {
			w.Namespace = metav1.NamespaceDefault
		}
		if err := w.put(ctx); err != nil {
			return fmt.Errorf("putting pods %s/%s on Node %s: %w", w.Namespace, w.Name, k.id.nodeName, err)
		}
	}
	return nil
}

func (w *workload) put(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.Namespace}}
	if _, err := w.admin.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); existing(err) != nil {
		return fmt.Errorf("creating their namespace: %w", err)
	}
	if w.ForbidEviction {
		if err := w.forbidEviction(ctx); err != nil {
			return fmt.Errorf("creating their PodDisruptionBudget: %w", err)
		}
	}
	owners, err := w.owners(ctx)
	if err != nil {
		return fmt.Errorf("finding their owner: %w", err)
	}
	for i := range w.Count {
		_, err := w.creator().CoreV1().Pods(w.Namespace).Create(ctx, w.pod(i, owners), metav1.CreateOptions{})
		if existing(err) != nil {
			return err
		}
	}
	return nil
}

// creator is who creates the pods: a mirror pod is the kubelet's own.
func (w *workload) creator() kubernetes.Interface {
	if w.Kind == MirrorPod {
		return w.kubelet.client
	}
	return w.admin
}

// pod is the i-th pod. Its name tells one life of the Machine from the next, so that pods that finalizers keep are not taken for
// new ones.
func (w *workload) pod(i int, owners []metav1.OwnerReference) *corev1.Pod {
	id := w.kubelet.id
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       w.Namespace,
			Name:            fmt.Sprintf("%s-%.5s-%d", w.Name, id.machineUID, i),
			Labels:          w.Labels,
			Finalizers:      w.Finalizers,
			OwnerReferences: owners,
		},
		Spec: corev1.PodSpec{
			NodeName:   id.nodeName,
			Containers: []corev1.Container{{Name: "main", Image: "example.test/main"}},
		},
	}
	if w.Kind == MirrorPod {
		pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "stub", "kubernetes.io/config.source": "file"}
	}
	return pod
}

func (w *workload) owners(ctx context.Context) ([]metav1.OwnerReference, error) {
	switch w.Kind {
	case DaemonSetPod:
		return w.daemonSet(ctx)
	case MirrorPod:
		return w.node(ctx)
	default:
		return nil, nil
	}
}

func (w *workload) daemonSet(ctx context.Context) ([]metav1.OwnerReference, error) {
	sets := w.admin.AppsV1().DaemonSets(w.Namespace)
	_, err := sets.Create(ctx, &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: w.Name},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: w.Labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: w.Labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.test/main"}}},
			},
		},
	}, metav1.CreateOptions{})
	if existing(err) != nil {
		return nil, err
	}
	set, err := sets.Get(ctx, w.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}, nil
}

// node owns its mirror pods; NodeRestriction refuses them otherwise, and refuses blockOwnerDeletion.
func (w *workload) node(ctx context.Context) ([]metav1.OwnerReference, error) {
	node, err := w.kubelet.client.CoreV1().Nodes().Get(ctx, w.kubelet.id.nodeName, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	reference := metav1.NewControllerRef(node, corev1.SchemeGroupVersion.WithKind("Node"))
	reference.BlockOwnerDeletion = nil
	return []metav1.OwnerReference{*reference}, nil
}

// forbidEviction creates the budget and reports on it as the disruption controller would: an eviction is refused for the budget's
// sake, not because nobody has looked at it yet.
func (w *workload) forbidEviction(ctx context.Context) error {
	budgets := w.admin.PolicyV1().PodDisruptionBudgets(w.Namespace)
	_, err := budgets.Create(ctx, &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: w.Name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: ptr.To(intstr.FromInt32(0)),
			Selector:       &metav1.LabelSelector{MatchLabels: w.Labels},
		},
	}, metav1.CreateOptions{})
	if existing(err) != nil {
		return err
	}
	budget, err := budgets.Get(ctx, w.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	pods := int32(w.Count)
	budget.Status = policyv1.PodDisruptionBudgetStatus{
		ObservedGeneration: budget.Generation, ExpectedPods: pods, CurrentHealthy: pods, DesiredHealthy: pods,
	}
	_, err = budgets.UpdateStatus(ctx, budget, metav1.UpdateOptions{})
	return err
}
