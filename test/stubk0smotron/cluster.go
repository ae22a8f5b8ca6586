package stubk0smotron

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// CreateCluster makes a child cluster known to Cluster API: its kubeconfig Secret, a control plane and an infrastructure that say
// they are ready, and the Cluster that refers to both. The kubeconfig must be an administrator's and carry its credential inline.
func CreateCluster(ctx context.Context, c client.Client, key types.NamespacedName, kubeconfig []byte) error {
	endpoint, err := endpointOf(kubeconfig)
	if err != nil {
		return fmt.Errorf("creating Cluster %s: %w", key, err)
	}
	if err := c.Create(ctx, kubeconfigSecret(key, kubeconfig)); err != nil {
		return fmt.Errorf("creating the kubeconfig Secret of Cluster %s: %w", key, err)
	}
	infrastructure, err := createInfrastructure(ctx, c, key, endpoint)
	if err != nil {
		return err
	}
	controlPlane, err := createControlPlane(ctx, c, key)
	if err != nil {
		return err
	}
	cluster := named(key, clusterGroup, "Cluster")
	cluster.Object["spec"] = map[string]any{
		"infrastructureRef": referenceTo(infrastructure),
		"controlPlaneRef":   referenceTo(controlPlane),
	}
	if err := c.Create(ctx, cluster); err != nil {
		return fmt.Errorf("creating Cluster %s: %w", key, err)
	}
	return nil
}

func createInfrastructure(
	ctx context.Context, c client.Client, key types.NamespacedName, endpoint map[string]any,
) (*unstructured.Unstructured, error) {
	object := named(key, infrastructureGroup, "RemoteCluster")
	object.Object["spec"] = map[string]any{"controlPlaneEndpoint": endpoint}
	return object, createReady(ctx, c, object, map[string]any{
		"ready":          true,
		"initialization": map[string]any{"provisioned": true},
	})
}

func createControlPlane(ctx context.Context, c client.Client, key types.NamespacedName) (*unstructured.Unstructured, error) {
	object := named(key, controlPlaneGroup, "K0smotronControlPlane")
	return object, createReady(ctx, c, object, map[string]any{
		"ready":          true,
		"initialized":    true,
		"initialization": map[string]any{"controlPlaneInitialized": true},
		// Without it Cluster API looks for control plane Machines, finds none, and skips drain and the Node's deletion.
		"externalManagedControlPlane": true,
	})
}

func createReady(ctx context.Context, c client.Client, object *unstructured.Unstructured, status map[string]any) error {
	if err := c.Create(ctx, object); err != nil {
		return fmt.Errorf("creating %s %s: %w", object.GetKind(), client.ObjectKeyFromObject(object), err)
	}
	return setStatus(ctx, c, object, status)
}

func kubeconfigSecret(key types.NamespacedName, kubeconfig []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace,
			Name:      kubeconfigSecretName(key.Name),
			Labels:    map[string]string{clusterNameLabel: key.Name},
		},
		Type: capiSecret,
		Data: map[string][]byte{"value": kubeconfig},
	}
}

func named(key types.NamespacedName, group, kind string) *unstructured.Unstructured {
	object := newObject(group, kind)
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	return object
}

func referenceTo(object *unstructured.Unstructured) map[string]any {
	return map[string]any{
		"apiGroup": object.GroupVersionKind().Group,
		"kind":     object.GetKind(),
		"name":     object.GetName(),
	}
}

// endpointOf is the API server's host and port in a kubeconfig.
func endpointOf(kubeconfig []byte) (map[string]any, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("parsing the kubeconfig: %w", err)
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("parsing the kubeconfig's server: %w", err)
	}
	host, portText, err := net.SplitHostPort(server.Host)
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig's server %q needs a port: %w", config.Host, err)
	}
	port, err := strconv.ParseInt(portText, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("the kubeconfig's server %q: %w", config.Host, err)
	}
	return map[string]any{"host": host, "port": port}, nil
}
