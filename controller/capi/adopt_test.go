package capi

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

func TestObjectsOfTheVersionInRustAreBroughtOver(t *testing.T) {
	sm := scheduledMachine(t)
	sm.Spec.MachineTemplate = nil
	bootstrap, err := Bootstrap(sm)
	require.NoError(t, err)
	for _, want := range []*unstructured.Unstructured{Machine(sm, V1Beta1), Machine(sm, V1Beta2), bootstrap} {
		old := want.DeepCopy()
		asInRust(old, sm.UID)
		old.SetAnnotations(map[string]string{"example.org/a": "b"})
		require.True(t, BringOver(old, sm), want.GetKind())
		annotations := merge(want.GetAnnotations(), map[string]string{"example.org/a": "b"})
		delete(annotations, v1alpha1.TemplateHashAnnotation) // nobody knows what it was made from
		require.Equal(t, annotations, old.GetAnnotations(), want.GetKind())
		require.Equal(t, want.GetLabels(), old.GetLabels(), want.GetKind())
		require.Len(t, old.GetOwnerReferences(), 1, want.GetKind())
		require.Nil(t, metav1.GetControllerOf(old), want.GetKind())
		require.True(t, OwnedBy(old, sm), want.GetKind())
		require.False(t, BringOver(old, sm), "%s: a second time", want.GetKind())
	}
}

func TestNothingElseIsBroughtOver(t *testing.T) {
	sm := scheduledMachine(t)
	require.False(t, BringOver(Machine(sm, V1Beta2), sm), "a new one")
	another := Machine(sm, V1Beta2)
	asInRust(another, "0")
	before := another.DeepCopy()
	require.False(t, BringOver(another, sm), "of an earlier ScheduledMachine")
	require.Equal(t, before, another)
}

// Owners besides ours stay: Cluster API puts the Machine, or the Cluster, among them.
func TestOtherOwnersStay(t *testing.T) {
	sm := scheduledMachine(t)
	machine := Machine(sm, V1Beta2)
	asInRust(machine, sm.UID)
	cluster := metav1.OwnerReference{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Cluster", Name: "team-a", UID: "c"}
	machine.SetOwnerReferences(append([]metav1.OwnerReference{cluster}, machine.GetOwnerReferences()...))
	require.True(t, BringOver(machine, sm))
	require.Equal(t, cluster, machine.GetOwnerReferences()[0])
	require.Len(t, machine.GetOwnerReferences(), 2)
}
