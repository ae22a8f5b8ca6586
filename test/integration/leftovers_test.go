package integration

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/test/lab"
)

// What was made for a Machine that the API server then refused belongs to no Machine, and would stay for ever.
func TestObjectsWithoutAMachineGoWithTheScheduledMachine(t *testing.T) {
	l, _ := newLab(t)
	sm := lab.ScheduledMachine("leftovers-1", "10.0.10.1")
	sm.Spec.MachineTemplate = &v1alpha1.MachineTemplate{Labels: map[string]string{"example.org/team": "not a label's value"}}
	require.NoError(t, l.Admin.Create(t.Context(), sm))
	awaitPhase(t, l, sm, v1alpha1.PhaseError)
	bootstrap, err := capi.Bootstrap(sm)
	require.NoError(t, err)
	infrastructure, err := capi.Infrastructure(sm)
	require.NoError(t, err)
	for _, object := range []*unstructured.Unstructured{bootstrap, infrastructure} {
		require.NoError(t, l.Admin.Get(t.Context(), client.ObjectKeyFromObject(object), object))
	}
	remove(t, l, sm)
	for _, object := range []*unstructured.Unstructured{bootstrap, infrastructure} {
		err := l.Admin.Get(t.Context(), client.ObjectKeyFromObject(object), object)
		require.True(t, apierrors.IsNotFound(err) || object.GetDeletionTimestamp() != nil, "%s: %v", object.GetKind(), err)
	}
}

// The owner corrects the whole spec after the first refusal, and not only the part that was refused.
func TestTemplateThatIsCorrectedBeforeTheMachineExistsCounts(t *testing.T) {
	l, _ := newLab(t)
	sm := lab.ScheduledMachine("leftovers-2", "10.0.10.99")
	sm.Spec.MachineTemplate = &v1alpha1.MachineTemplate{Labels: map[string]string{"example.org/team": "not a label's value"}}
	require.NoError(t, l.Admin.Create(t.Context(), sm))
	t.Cleanup(func() { remove(t, l, sm) })
	awaitPhase(t, l, sm, v1alpha1.PhaseError)
	bootstrap, err := capi.Bootstrap(sm)
	require.NoError(t, err)
	require.NoError(t, l.Admin.Get(t.Context(), client.ObjectKeyFromObject(bootstrap), bootstrap))
	kept := bootstrap.GetUID()

	require.NoError(t, l.Admin.Patch(t.Context(), sm.DeepCopy(), mergePatch(
		`{"spec":{"machineTemplate":null,"infrastructureSpec":{"spec":{"address":"10.0.10.2"}}}}`)))
	awaitPhase(t, l, sm, v1alpha1.PhaseActive)
	infrastructure, err := capi.Infrastructure(sm)
	require.NoError(t, err)
	require.NoError(t, l.Admin.Get(t.Context(), client.ObjectKeyFromObject(infrastructure), infrastructure))
	address, _, _ := unstructured.NestedString(infrastructure.Object, "spec", "address")
	require.Equal(t, "10.0.10.2", address)
	require.NoError(t, l.Admin.Get(t.Context(), client.ObjectKeyFromObject(bootstrap), bootstrap))
	require.Equal(t, kept, bootstrap.GetUID(), "its template is the same")

	require.NoError(t, l.Admin.Patch(t.Context(), sm.DeepCopy(), mergePatch(`{"spec":{"infrastructureSpec":{"spec":{"address":"10.0.10.98"}}}}`)))
	made := infrastructure.GetUID()
	require.Never(t, func() bool {
		now := infrastructure.DeepCopy() // the last look outlives the test
		return l.Admin.Get(t.Context(), client.ObjectKeyFromObject(now), now) == nil && now.GetUID() != made
	}, stillness, poll, "the Machine exists: nothing is made anew")
}
