package stubk0smotron_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"5spot.finos.org/node-reclaim/test/controlplane"
	"5spot.finos.org/node-reclaim/test/stubk0smotron"
)

const (
	namespace   = "default"
	clusterName = "child"

	// patience is long: Cluster API looks at a Machine once a second, and connects to a new child after a while.
	patience = 90 * time.Second
	interval = 50 * time.Millisecond
)

// environment is a management cluster with Cluster API's core and the stub, and one child cluster.
type environment struct {
	management, child client.Client
	hosts             *stubk0smotron.Hosts
}

func newEnvironment(t *testing.T, options stubk0smotron.Options) *environment {
	t.Helper()
	management := controlplane.ForTest(t, controlplane.Options{CAPI: true, CRDs: []string{stubk0smotron.CRDDirectory()}})
	child := controlplane.ForTest(t, controlplane.Options{})
	e := &environment{}
	var err error
	e.management, err = client.New(management.Config, client.Options{})
	require.NoError(t, err)
	e.child, err = client.New(child.Config, client.Options{})
	require.NoError(t, err)
	management.CAPIForTest(t)
	e.startStub(t, management, options)
	key := types.NamespacedName{Namespace: namespace, Name: clusterName}
	require.NoError(t, stubk0smotron.CreateCluster(t.Context(), e.management, key, child.Kubeconfig))
	return e
}

func (e *environment) startStub(t *testing.T, management *controlplane.ControlPlane, options stubk0smotron.Options) {
	t.Helper()
	mgr, err := ctrl.NewManager(management.Config, ctrl.Options{
		Logger:  testr.New(t),
		Metrics: server.Options{BindAddress: "0"},
	})
	require.NoError(t, err)
	e.hosts, err = stubk0smotron.SetupWithManager(mgr, options)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-ended)
	})
}

// machine is a hand-made Machine of the child with its bootstrap and infrastructure objects, all of one name.
type machine struct {
	name, address string
	// providerVersion is the API version under which the provider's objects are created.
	providerVersion   string
	useSystemHostname bool
}

// create creates the three objects and returns the Machine.
func (e *environment) create(t *testing.T, m machine) *unstructured.Unstructured {
	t.Helper()
	config := object("bootstrap.cluster.x-k8s.io", m.providerVersion, "K0sWorkerConfig", m.name)
	config.Object["spec"] = map[string]any{"useSystemHostname": m.useSystemHostname}
	remote := object("infrastructure.cluster.x-k8s.io", m.providerVersion, "RemoteMachine", m.name)
	remote.Object["spec"] = map[string]any{"address": m.address}
	capi := capiMachine(m.name)
	capi.SetLabels(map[string]string{"cluster.x-k8s.io/cluster-name": clusterName})
	capi.SetAnnotations(map[string]string{"machine.cluster.x-k8s.io/exclude-node-draining": ""})
	capi.Object["spec"] = map[string]any{
		"clusterName":       clusterName,
		"bootstrap":         map[string]any{"configRef": reference(config)},
		"infrastructureRef": reference(remote),
		"deletion":          map[string]any{"nodeDeletionTimeoutSeconds": int64(10)},
	}
	for _, o := range []client.Object{config, remote, capi} {
		require.NoError(t, e.management.Create(t.Context(), o))
	}
	return capi
}

// join creates a Machine and waits until it is Running.
func (e *environment) join(t *testing.T, m machine) *unstructured.Unstructured {
	t.Helper()
	capi := e.create(t, m)
	require.Eventually(t, func() bool {
		require.NoError(t, e.management.Get(t.Context(), client.ObjectKeyFromObject(capi), capi))
		phase, _, _ := unstructured.NestedString(capi.Object, "status", "phase")
		return phase == "Running"
	}, patience, interval, "Machine %s is not Running", m.name)
	return capi
}

// awaitGone waits until an object is not there any more.
func awaitGone(t *testing.T, c client.Client, o client.Object) {
	t.Helper()
	require.Eventually(t, func() bool { return gone(t, c, o) }, patience, interval,
		"%T %s is still there", o, o.GetName())
}

func gone(t *testing.T, c client.Client, o client.Object) bool {
	t.Helper()
	err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o.DeepCopyObject().(client.Object))
	require.NoError(t, client.IgnoreNotFound(err))
	return apierrors.IsNotFound(err)
}

// pods waits until count pods with these labels are Running.
func (e *environment) pods(t *testing.T, labels client.MatchingLabels, count int) []corev1.Pod {
	t.Helper()
	var pods corev1.PodList
	require.Eventually(t, func() bool {
		require.NoError(t, e.child.List(t.Context(), &pods, labels))
		running := 0
		for _, pod := range pods.Items {
			if pod.Status.Phase == corev1.PodRunning {
				running++
			}
		}
		return running == count
	}, patience, interval, "not %d pods with labels %v are Running", count, labels)
	return pods.Items
}

func (e *environment) node(t *testing.T, name string) *corev1.Node {
	t.Helper()
	node := &corev1.Node{}
	require.NoError(t, e.child.Get(t.Context(), client.ObjectKey{Name: name}, node))
	return node
}

func capiMachine(name string) *unstructured.Unstructured {
	return object("cluster.x-k8s.io", "v1beta2", "Machine", name)
}

func remoteMachine(name string) *unstructured.Unstructured {
	return object("infrastructure.cluster.x-k8s.io", "v1beta2", "RemoteMachine", name)
}

func object(group, version, kind, name string) *unstructured.Unstructured {
	if version == "" {
		version = "v1beta2"
	}
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

func reference(o *unstructured.Unstructured) map[string]any {
	return map[string]any{"apiGroup": o.GroupVersionKind().Group, "kind": o.GetKind(), "name": o.GetName()}
}
