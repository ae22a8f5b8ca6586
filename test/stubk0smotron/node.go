package stubk0smotron

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// machineNameLabel is what k0smotron has k0s put on a worker's Node.
const machineNameLabel = "k0smotron.io/machine-name"

// register makes the Node known. A Node that is still there from an earlier run is taken over.
func (k *kubelet) register(ctx context.Context) error {
	_, err := k.client.CoreV1().Nodes().Create(ctx, k.node(), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return k.heartbeat(ctx)
	}
	if err != nil {
		return fmt.Errorf("registering Node %s: %w", k.id.nodeName, err)
	}
	return nil
}

func (k *kubelet) node() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: k.id.nodeName,
			Labels: map[string]string{
				machineNameLabel:          k.id.machineName,
				corev1.LabelHostname:      k.id.nodeName,
				corev1.LabelOSStable:      "linux",
				corev1.LabelArchStable:    "amd64",
				"node.k0sproject.io/role": "worker",
			},
		},
		Spec: corev1.NodeSpec{ProviderID: k.id.providerID},
		Status: corev1.NodeStatus{
			Addresses: []corev1.NodeAddress{
				{Type: corev1.NodeInternalIP, Address: k.id.address},
				{Type: corev1.NodeHostName, Address: k.id.nodeName},
			},
			Conditions: []corev1.NodeCondition{readyCondition()},
			NodeInfo: corev1.NodeSystemInfo{
				MachineID:       k.id.host.MachineID,
				KubeletVersion:  k.id.host.KubeletVersion,
				OperatingSystem: "linux",
				Architecture:    "amd64",
			},
		},
	}
}

// heartbeat says that the kubelet lives. Where the Node was deleted it does nothing: a running kubelet does not register again.
func (k *kubelet) heartbeat(ctx context.Context) error {
	beat := map[string]any{"status": map[string]any{"conditions": []corev1.NodeCondition{readyCondition()}}}
	patch, err := json.Marshal(beat)
	if err != nil {
		return fmt.Errorf("encoding the heartbeat of Node %s: %w", k.id.nodeName, err)
	}
	_, err = k.client.CoreV1().Nodes().PatchStatus(ctx, k.id.nodeName, patch)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("patching the status of Node %s: %w", k.id.nodeName, err)
	}
	return nil
}

func readyCondition() corev1.NodeCondition {
	now := metav1.Now()
	return corev1.NodeCondition{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		Message:           "kubelet is posting ready status",
		LastHeartbeatTime: now, LastTransitionTime: now,
	}
}
