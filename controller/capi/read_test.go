package capi

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

func machineFrom(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	machine := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte(text), &machine.Object))
	return machine
}

func TestNodeRef(t *testing.T) {
	for text, want := range map[string]string{
		"status: {nodeRef: {name: ws-1}}":                                        "ws-1",
		"status: {nodeRef: {apiVersion: v1, kind: Node, name: ws-1, uid: 77ab}}": "ws-1",
		"status: {nodeRef: {}}":                                                  "",
		"status: {nodeRef: ws-1}":                                                "",
		"status: {nodeRef: {name: 7}}":                                           "",
		"spec: {nodeRef: {name: ws-1}}":                                          "",
	} {
		name, ok := NodeRef(machineFrom(t, text))
		require.Equal(t, want, name, text)
		require.Equal(t, want != "", ok, text)
	}
}

func TestOwnedByGoesByTheUIDAlone(t *testing.T) {
	sm := scheduledMachine(t)
	for name, tt := range map[string]struct {
		change func(*unstructured.Unstructured)
		want   bool
	}{
		"as made":            {func(*unstructured.Unstructured) {}, true},
		"labels edited":      {func(u *unstructured.Unstructured) { u.SetLabels(nil) }, true},
		"owner removed":      {func(u *unstructured.Unstructured) { u.SetOwnerReferences(nil) }, true},
		"annotation removed": {func(u *unstructured.Unstructured) { u.SetAnnotations(nil) }, false},
		"of an earlier one": {func(u *unstructured.Unstructured) {
			u.SetAnnotations(map[string]string{v1alpha1.OwnerUIDAnnotation: "0"})
		}, false},
		"in another namespace": {func(u *unstructured.Unstructured) { u.SetNamespace("team-b") }, false},
	} {
		machine := Machine(sm, V1Beta2)
		tt.change(machine)
		require.Equal(t, tt.want, OwnedBy(machine, sm), name)
	}
}

func TestNobodyOwnsWithoutUID(t *testing.T) {
	sm := scheduledMachine(t)
	sm.UID = ""
	require.False(t, OwnedBy(Machine(sm, V1Beta2), sm))
}

func TestKinds(t *testing.T) {
	require.Equal(t, "cluster.x-k8s.io/v1beta1, Kind=Machine", V1Beta1.MachineKind().String())
	require.Equal(t, "cluster.x-k8s.io/v1beta2, Kind=Machine", V1Beta2.MachineKind().String())
}
