// Package pods finds the pods that have to leave a Node, and tells whether one still runs. How they are made to leave, and how long that may
// take, is the caller's: package eject deletes them, package drain evicts them.
package pods

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/controller/child"
)

// OnNode lists, from the API server, the pods of a Node that have to go. Those of DaemonSets, which would be made again at once, and mirror pods, which
// are not the API's to delete, go with the Node. And narrows the list further.
func OnNode(ctx context.Context, connection *child.Connection, node string, and ...fields.Selector) ([]metav1.PartialObjectMetadata, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	selector := fields.AndSelectors(append(and, fields.OneTermEqualSelector("spec.nodeName", node))...)
	err := connection.Do(ctx, func(ctx context.Context) error {
		return connection.Client.List(ctx, list, client.MatchingFieldsSelector{Selector: selector})
	})
	if err != nil {
		return nil, fmt.Errorf("listing the pods of Node %s: %w", node, err)
	}
	var leaving []metav1.PartialObjectMetadata
	for _, pod := range list.Items {
		if !isMirror(&pod) && !isDaemon(&pod) {
			leaving = append(leaving, pod)
		}
	}
	return leaving, nil
}

// Dead says that a pod's containers are: its kubelet's last word is a grace period of 0. The object may stay for as long as somebody else's
// finalizer wants.
func Dead(pod *metav1.PartialObjectMetadata) bool {
	return pod.DeletionTimestamp != nil && pod.DeletionGracePeriodSeconds != nil && *pod.DeletionGracePeriodSeconds == 0
}

// isMirror: the kubelet's picture of a static pod.
func isMirror(pod *metav1.PartialObjectMetadata) bool {
	_, ok := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return ok
}

func isDaemon(pod *metav1.PartialObjectMetadata) bool {
	owner := metav1.GetControllerOf(pod)
	return owner != nil && owner.Kind == "DaemonSet"
}
