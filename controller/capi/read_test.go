package capi

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/utils/ptr"

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

func TestBootstrapDataReady(t *testing.T) {
	require.True(t, BootstrapDataReady(machineFrom(t, "spec: {bootstrap: {dataSecretName: ws-1}}")))
	for _, text := range []string{"spec: {}", "spec: {bootstrap: {configRef: {name: ws-1}}}", `spec: {bootstrap: {dataSecretName: ""}}`} {
		require.False(t, BootstrapDataReady(machineFrom(t, text)), text)
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
		"in another namespace":                       {func(u *unstructured.Unstructured) { u.SetNamespace("team-b") }, false},
		"of the version in Rust":                     {func(u *unstructured.Unstructured) { asInRust(u, sm.UID) }, true},
		"of the version in Rust, for an earlier one": {func(u *unstructured.Unstructured) { asInRust(u, "0") }, false},
		"of the version in Rust, marked for another since": {func(u *unstructured.Unstructured) {
			asInRust(u, sm.UID)
			u.SetAnnotations(map[string]string{v1alpha1.OwnerUIDAnnotation: "0"})
		}, false},
		"controlled by another kind with that UID": {func(u *unstructured.Unstructured) {
			asInRust(u, sm.UID)
			refs := u.GetOwnerReferences()
			refs[0].Kind = "Cluster"
			u.SetOwnerReferences(refs)
		}, false},
		"controlled by that kind of another group": {func(u *unstructured.Unstructured) {
			asInRust(u, sm.UID)
			refs := u.GetOwnerReferences()
			refs[0].APIVersion = "example.org/v1alpha1"
			u.SetOwnerReferences(refs)
		}, false},
	} {
		machine := Machine(sm, V1Beta2)
		tt.change(machine)
		require.Equal(t, tt.want, OwnedBy(machine, sm), name)
	}
}

// asInRust makes an object what the earlier version in Rust made: a controller's owner reference, and no annotations.
func asInRust(u *unstructured.Unstructured, uid types.UID) {
	u.SetAnnotations(nil)
	u.SetLabels(nil)
	u.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: "5spot.finos.org/v1alpha1", Kind: "ScheduledMachine", Name: u.GetName(), UID: uid,
		Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
	}})
}

func TestNobodyOwnsWithoutUID(t *testing.T) {
	sm := scheduledMachine(t)
	sm.UID = ""
	require.False(t, OwnedBy(Machine(sm, V1Beta2), sm))
}

func TestPaused(t *testing.T) {
	for text, want := range map[string]bool{
		"spec: {paused: true}":  true,
		"spec: {paused: false}": false,
		"spec: {}":              false,
		"metadata: {annotations: {cluster.x-k8s.io/paused: ''}}": true,
	} {
		require.Equal(t, want, Paused(machineFrom(t, text)), text)
	}
}

func TestDeletionOf(t *testing.T) {
	machine := Machine(scheduledMachine(t), V1Beta2)
	_, ok := DeletionOf(machine)
	require.False(t, ok)

	since := metav1.NewTime(time.Unix(1780000000, 0))
	machine.SetDeletionTimestamp(&since)
	machine.SetAnnotations(merge(machine.GetAnnotations(), map[string]string{
		"pre-terminate.delete.hook.machine.cluster.x-k8s.io/backup": "team-b",
		"pre-drain.delete.hook.machine.cluster.x-k8s.io":            "",
	}))
	deletion, ok := DeletionOf(machine)
	require.True(t, ok)
	require.True(t, since.Time.Equal(deletion.Since))
	require.Empty(t, deletion.Message)
	require.Equal(t, []string{
		"pre-drain.delete.hook.machine.cluster.x-k8s.io", "pre-terminate.delete.hook.machine.cluster.x-k8s.io/backup",
	}, deletion.Hooks)
}

func TestDeletionTellsWhatCAPIWaitsFor(t *testing.T) {
	const deleting = "[{type: Ready, message: no}, {type: Deleting, message: waiting for RemoteMachine}]"
	for text, want := range map[string]string{
		"{conditions: " + deleting + "}":             "waiting for RemoteMachine",
		"{v1beta2: {conditions: " + deleting + "}}":  "waiting for RemoteMachine",
		"{conditions: [{type: Ready, message: no}]}": "",
		"{conditions: [odd, {type: Deleting}]}":      "",
	} {
		machine := machineFrom(t, "metadata: {deletionTimestamp: '2026-06-01T12:00:00Z'}\nstatus: "+text)
		deletion, ok := DeletionOf(machine)
		require.True(t, ok)
		require.Equal(t, want, deletion.Message, text)
	}
}

func TestKinds(t *testing.T) {
	require.Equal(t, "cluster.x-k8s.io/v1beta1, Kind=Machine", V1Beta1.MachineKind().String())
	require.Equal(t, "cluster.x-k8s.io/v1beta2, Kind=Cluster", V1Beta2.ClusterKind().String())
}
