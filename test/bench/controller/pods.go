package main

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	podsPerNode = 110
	// parallelDeletes is what the bare peer sends at once.
	parallelDeletes = 48
)

// fill puts pods on a Node.
func fill(ctx context.Context, c client.Client, node string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range podsPerNode {
		group.Go(func() error {
			return c.Create(ctx, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: fmt.Sprintf("%s-%d", node, i)},
				Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "registry.example.org/main"}}},
			})
		})
	}
	return group.Wait()
}

func podsOn(ctx context.Context, c client.Client, node string) ([]corev1.Pod, error) {
	var pods corev1.PodList
	err := c.List(ctx, &pods, client.MatchingFields{"spec.nodeName": node})
	return pods.Items, err
}

// removePods deletes all at once. With a grace of 0 they are off the API, as when their kubelet has killed them.
func removePods(ctx context.Context, c client.Client, pods []corev1.Pod, grace int64) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelDeletes)
	for i := range pods {
		group.Go(func() error {
			return client.IgnoreNotFound(c.Delete(ctx, &pods[i], client.GracePeriodSeconds(grace)))
		})
	}
	return group.Wait()
}

// clearNode takes what is left of a Node's pods off the API.
func clearNode(ctx context.Context, c client.Client, node string) error {
	pods, err := podsOn(ctx, c, node)
	if err != nil {
		return err
	}
	return removePods(ctx, c, pods, 0)
}
