package child

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// stripNode keeps of a Node what the controller reads, so that a thousand of them fit into little memory: metadata, taints, the Ready
// condition, kubelet version, machine id and the volumes in use.
func stripNode(obj any) (any, error) {
	node, ok := obj.(*corev1.Node)
	if !ok {
		return obj, nil // a tombstone
	}
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion,
			CreationTimestamp: node.CreationTimestamp, DeletionTimestamp: node.DeletionTimestamp,
			Labels: node.Labels, Annotations: node.Annotations,
		},
		Spec: corev1.NodeSpec{ProviderID: node.Spec.ProviderID, Unschedulable: node.Spec.Unschedulable, Taints: node.Spec.Taints},
		Status: corev1.NodeStatus{
			Conditions:   readyCondition(node.Status.Conditions),
			VolumesInUse: node.Status.VolumesInUse,
			NodeInfo: corev1.NodeSystemInfo{
				KubeletVersion: node.Status.NodeInfo.KubeletVersion, MachineID: node.Status.NodeInfo.MachineID,
			},
		},
	}, nil
}

func readyCondition(conditions []corev1.NodeCondition) []corev1.NodeCondition {
	for _, c := range conditions {
		if c.Type == corev1.NodeReady {
			return []corev1.NodeCondition{c}
		}
	}
	return nil
}
