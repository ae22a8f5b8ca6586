package integration

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/test/lab"
)

// What is up follows what it was made from: the owner of a host that kept its name gets it back although the spec says otherwise by now.
func TestRequestCountsAfterTheSpecForgotThatTheHostKeepsItsName(t *testing.T) {
	l, ctx := newLab(t)
	sm := lab.ScheduledMachine("keeps-1", "10.0.12.1", "java")
	sm.Spec.BootstrapSpec.Spec = runtime.RawExtension{Raw: []byte(`{"version":"v1.37.2+k0s.0","useSystemHostname":true}`)}
	require.NoError(t, l.Admin.Create(ctx, sm))
	t.Cleanup(func() { remove(t, l, sm) })
	awaitPhase(t, l, sm, v1alpha1.PhaseActive)
	node := read(t, l, sm).Status.NodeRef.Name
	require.Equal(t, "desk-1", node)
	require.Eventually(t, func() bool { return len(podsOf(t, l, node)) == podsOn }, patience, poll)
	require.NoError(t, l.Admin.Patch(ctx, sm.DeepCopy(), mergePatch(`{"spec":{"bootstrapSpec":{"spec":{"useSystemHostname":null}}}}`)))
	require.Never(t, func() bool { return read(t, l, sm).Status.Phase != v1alpha1.PhaseActive }, stillness, poll)

	require.NoError(t, annotate(t, l, node, node, "5spot.finos.org/reclaim-requested=true"))
	awaitPhase(t, l, sm, v1alpha1.PhaseDisabled)
	require.False(t, nodeExists(t, l, node))
}

// A Machine that lost its mark is somebody else's by now, and so is what it works with, whatever marks that still has.
func TestScheduledMachineThatIsDeletedLeavesAMachineThatIsNotItsOwnWhole(t *testing.T) {
	l, ctx := newLab(t)
	sm := lab.ScheduledMachine("lost-mark", "10.0.12.2")
	active(t, l, sm)
	uid := machineUID(t, l, sm.Name)
	require.NoError(t, l.Admin.Patch(ctx, machineOf(t, l, sm.Name), mergePatch(`{"metadata":{"annotations":{"5spot.finos.org/scheduled-machine-uid":null}}}`)))
	awaitPhase(t, l, sm, v1alpha1.PhaseError)
	left := machineOf(t, l, sm.Name)
	t.Cleanup(func() { require.NoError(t, l.Admin.Delete(context.Background(), left)) })
	require.NoError(t, l.Admin.Delete(ctx, sm))
	require.Eventually(t, func() bool {
		return apierrors.IsNotFound(l.Admin.Get(ctx, client.ObjectKeyFromObject(sm), &v1alpha1.ScheduledMachine{}))
	}, patience, poll)
	require.Equal(t, uid, machineUID(t, l, sm.Name))
	bootstrap, err := capi.Bootstrap(sm)
	require.NoError(t, err)
	infrastructure, err := capi.Infrastructure(sm)
	require.NoError(t, err)
	for _, object := range []*unstructured.Unstructured{bootstrap, infrastructure} {
		require.NoError(t, l.Admin.Get(ctx, client.ObjectKeyFromObject(object), object))
		require.Nil(t, object.GetDeletionTimestamp(), object.GetKind())
	}
}
