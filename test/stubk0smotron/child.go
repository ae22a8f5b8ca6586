package stubk0smotron

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// childConfig connects to a Machine's child cluster as its administrator.
func childConfig(ctx context.Context, reader client.Reader, machine *unstructured.Unstructured) (*rest.Config, error) {
	key := client.ObjectKey{
		Namespace: machine.GetNamespace(),
		Name:      kubeconfigSecretName(stringField(machine, "spec", "clusterName")),
	}
	secret := &corev1.Secret{}
	if err := reader.Get(ctx, key, secret); err != nil {
		return nil, fmt.Errorf("reading kubeconfig Secret %s: %w", key, err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["value"])
	if err != nil {
		return nil, fmt.Errorf("parsing kubeconfig Secret %s: %w", key, err)
	}
	config.QPS = -1 // the API server has its own limits
	return config, nil
}

// kubeletClient acts as the kubelet of a Node. The Node authorizer and NodeRestriction treat it as one that shows that Node's
// certificate.
func kubeletClient(child *rest.Config, nodeName string) (kubernetes.Interface, error) {
	config := rest.CopyConfig(child)
	config.Impersonate = rest.ImpersonationConfig{UserName: "system:node:" + nodeName, Groups: []string{"system:nodes"}}
	c, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the client of the kubelet of Node %s: %w", nodeName, err)
	}
	return c, nil
}

func kubeconfigSecretName(clusterName string) string { return clusterName + "-kubeconfig" }
