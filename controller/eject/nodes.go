package eject

import (
	corev1 "k8s.io/api/core/v1"

	"5spot.finos.org/node-reclaim/api/reclaim"
)

// requestMatters keeps heartbeats out of the queue: only a Node that came, went, or changed its request does matter.
func requestMatters(old, node *corev1.Node) bool {
	if old == nil || node == nil {
		return true
	}
	return old.UID != node.UID || old.Annotations[reclaim.AnnotationRequested] != node.Annotations[reclaim.AnnotationRequested]
}
