package v1alpha1_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/test/controlplane"
)

// server is a real API server that serves the committed CRD.
type server struct {
	client client.Client
	config *rest.Config
}

// TestOnAnAPIServer starts one server for every test that needs one: only the server knows what a CRD lets through.
func TestOnAnAPIServer(t *testing.T) {
	s := start(t)
	t.Run("field objects are accepted", s.acceptsFieldObjects)
	t.Run("the sample is accepted", s.acceptsTheSample)
	t.Run("good values are accepted", s.acceptsGoodValues)
	t.Run("bad values are refused", s.refusesBadValues)
	t.Run("clusterName cannot be changed", s.refusesAnotherCluster)
	t.Run("absent fields take their defaults", s.fillsDefaults)
	t.Run("killIfCommands survives a round trip", s.keepsKillIfCommands)
	t.Run("a typed client loses nothing", s.typedClientLosesNothing)
	t.Run("status survives a round trip", s.keepsStatus)
	t.Run("a table shows a future activation", s.printsColumns)
}

func start(t *testing.T) server {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	cp := controlplane.ForTest(t, controlplane.Options{CRDs: []string{filepath.Join(controlplane.Root(), "deploy", "crds")}})
	c, err := client.New(cp.Config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	return server{client: c, config: cp.Config}
}

// create stores an object and removes it after the test.
func (s server) create(t *testing.T, obj client.Object) {
	t.Helper()
	require.NoError(t, s.client.Create(t.Context(), obj))
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() { require.NoError(t, s.client.Delete(ctx, obj)) })
}

// stored reads an object back as the server has it.
func (s server) stored(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ScheduledMachine"))
	require.NoError(t, s.client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, u))
	return u
}

// fromFile reads an object of testdata/scheduledmachines: objects as they are in the field.
func fromFile(t *testing.T, file string) *unstructured.Unstructured {
	t.Helper()
	return fromPath(t, "testdata", "scheduledmachines", file)
}

func fromPath(t *testing.T, path ...string) *unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(controlplane.Root(), filepath.Join(path...)))
	require.NoError(t, err)
	return fromYAML(t, string(data))
}

func fromYAML(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &u.Object))
	return u
}
