package capi

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

func read(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(data, into))
}

func scheduledMachine(t *testing.T) *v1alpha1.ScheduledMachine {
	t.Helper()
	sm := &v1alpha1.ScheduledMachine{}
	read(t, "scheduledmachine.yaml", sm)
	return sm
}

func requireFile(t *testing.T, file string, got *unstructured.Unstructured) {
	t.Helper()
	want := &unstructured.Unstructured{}
	read(t, file, &want.Object)
	require.Equal(t, want.Object, got.DeepCopy().Object)
}

func TestObjectsAreAsInTestdata(t *testing.T) {
	sm := scheduledMachine(t)
	requireFile(t, "machine-v1beta1.yaml", Machine(sm, V1Beta1))
	requireFile(t, "machine-v1beta2.yaml", Machine(sm, V1Beta2))
	bootstrap, err := Bootstrap(sm)
	require.NoError(t, err)
	requireFile(t, "bootstrap.yaml", bootstrap)
	infrastructure, err := Infrastructure(sm)
	require.NoError(t, err)
	requireFile(t, "infrastructure.yaml", infrastructure)
}

func TestMachineWithoutTemplate(t *testing.T) {
	sm := scheduledMachine(t)
	sm.Spec.MachineTemplate = nil
	machine := Machine(sm, V1Beta2)
	require.Len(t, machine.GetLabels(), 2)
	require.Len(t, machine.GetAnnotations(), 4)
	require.NotContains(t, machine.Object["spec"], "version")
}

func TestOurKeysWinOverTheTemplate(t *testing.T) {
	sm := scheduledMachine(t)
	own := Machine(sm, V1Beta2)
	sm.Spec.MachineTemplate.Labels = map[string]string{ClusterNameLabel: "other", v1alpha1.ScheduledMachineLabel: "other"}
	sm.Spec.MachineTemplate.Annotations = map[string]string{
		v1alpha1.OwnerUIDAnnotation: "other", ExcludeDrainAnnotation: "other", ExcludeVolumeDetachAnnotation: "other",
	}
	machine := Machine(sm, V1Beta2)
	for key := range sm.Spec.MachineTemplate.Labels {
		require.Equal(t, own.GetLabels()[key], machine.GetLabels()[key])
	}
	for key := range sm.Spec.MachineTemplate.Annotations {
		require.Equal(t, own.GetAnnotations()[key], machine.GetAnnotations()[key])
	}
}

func TestMachineIsFreeForCAPIToAdopt(t *testing.T) {
	machine := Machine(scheduledMachine(t), V1Beta1)
	require.Len(t, machine.GetOwnerReferences(), 1)
	require.Nil(t, metav1.GetControllerOf(machine))
}

func TestEncodingLeavesTheScheduledMachineAlone(t *testing.T) {
	sm := scheduledMachine(t)
	before := sm.DeepCopy()
	machine := Machine(sm, V1Beta2)
	machine.SetLabels(map[string]string{})
	bootstrap, err := Bootstrap(sm)
	require.NoError(t, err)
	bootstrap.Object["spec"].(map[string]any)["version"] = "changed"
	require.Equal(t, before, sm)
}

func TestProviderSpecMustBeAnObject(t *testing.T) {
	for _, raw := range []string{"", "null", "[]", `"text"`, "7", "{"} {
		sm := scheduledMachine(t)
		sm.Spec.BootstrapSpec.Spec = runtime.RawExtension{Raw: []byte(raw)}
		_, err := Bootstrap(sm)
		require.ErrorContains(t, err, "spec.bootstrapSpec.spec: must be an object, the spec of the K0sWorkerConfig to create, for example", raw)
		require.False(t, UsesSystemHostname(sm))

		sm.Spec.InfrastructureSpec.Spec = sm.Spec.BootstrapSpec.Spec
		_, err = Infrastructure(sm)
		require.ErrorContains(t, err, "spec.infrastructureSpec.spec: must be an object, the spec of the RemoteMachine to create", raw)
	}
}

func TestProviderSpecIsPassedOnUnchanged(t *testing.T) {
	sm := scheduledMachine(t)
	raw := `{"empty":{},"list":[],"null":null,"big":9007199254740993,"ratio":0.5,"metadata":{"name":"inner"}}`
	sm.Spec.BootstrapSpec.Spec = runtime.RawExtension{Raw: []byte(raw)}
	bootstrap, err := Bootstrap(sm)
	require.NoError(t, err)
	require.Equal(t, map[string]any{
		"empty": map[string]any{}, "list": []any{}, "null": nil, "big": int64(9007199254740993), "ratio": 0.5,
		"metadata": map[string]any{"name": "inner"},
	}, bootstrap.Object["spec"])
	require.Equal(t, "ws-1", bootstrap.GetName())
}

func TestUsesSystemHostname(t *testing.T) {
	for raw, want := range map[string]bool{
		`{"useSystemHostname":true}`:   true,
		`{"useSystemHostname":false}`:  false,
		`{"useSystemHostname":"true"}`: false,
		`{}`:                           false,
	} {
		sm := scheduledMachine(t)
		sm.Spec.BootstrapSpec.Spec.Raw = []byte(raw)
		require.Equal(t, want, UsesSystemHostname(sm), raw)
	}
}

func TestTemplateHashTellsTemplatesApart(t *testing.T) {
	sm := scheduledMachine(t)
	there, err := Bootstrap(sm)
	require.NoError(t, err)
	for raw, outdated := range map[string]bool{
		`{"version":"v1.34.1+k0s.0","args":["--labels=team=a"]}`:    false,
		`{ "args": ["--labels=team=a"], "version":"v1.34.1+k0s.0"}`: false,
		`{"version":"v1.34.1+k0s.1","args":["--labels=team=a"]}`:    true,
		`{}`: true,
	} {
		sm.Spec.BootstrapSpec.Spec.Raw = []byte(raw)
		wanted, err := Bootstrap(sm)
		require.NoError(t, err)
		require.Equal(t, outdated, Outdated(there, wanted), raw)
	}
	sm = scheduledMachine(t)
	sm.Spec.BootstrapSpec.APIVersion = "bootstrap.cluster.x-k8s.io/v1beta2"
	wanted, err := Bootstrap(sm)
	require.NoError(t, err)
	require.True(t, Outdated(there, wanted), "another version may mean another thing by the same field")
	there.SetAnnotations(nil)
	require.False(t, Outdated(there, wanted), "of an earlier version of the controller")
	require.NotContains(t, Machine(sm, V1Beta2).GetAnnotations(), v1alpha1.TemplateHashAnnotation, "a Machine is never made anew")
}
