package integration

import (
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/test/lab"
)

// The role knows k0smotron's kinds alone.
func TestScheduledMachineOfAKindThatIsNotAllowedCanBeDeleted(t *testing.T) {
	l, ctx := newLab(t)
	sm := lab.ScheduledMachine("fault-kind", "10.0.5.232")
	sm.Spec.InfrastructureSpec.Kind = "RemoteCluster"
	require.NoError(t, l.Admin.Create(ctx, sm))
	awaitPhase(t, l, sm, v1alpha1.PhaseError)
	require.NoError(t, l.Admin.Delete(ctx, sm.DeepCopy()))
	require.Eventually(t, func() bool {
		return apierrors.IsNotFound(l.Admin.Get(ctx, client.ObjectKeyFromObject(sm), &v1alpha1.ScheduledMachine{}))
	}, patience, poll)
}

// A schedule without meaning keeps a machine where it is, but not against enabled: false.
func TestDisabledMachineLeavesWhateverItsScheduleSays(t *testing.T) {
	newLab(t)
	l := begin(t, "fault-zone", address(238, true), "0s", "1h").active()
	l.patch(`{"spec":{"schedule":{"timezone":"Mars/Phobos"}}}`)
	l.awaits(v1alpha1.PhaseError)
	l.patch(`{"spec":{"schedule":{"enabled":false}}}`)
	require.Eventually(t, func() bool { return machineOf(t, l.Lab, l.name) == nil }, patience, poll)
	require.Empty(t, podsOf(t, l.Lab, l.name))
}

func TestKillSwitchDuringAHoldLeavesTheWayBackInTheMessage(t *testing.T) {
	l, _ := newLab(t)
	sm := lab.ScheduledMachine("fault-message", "10.0.5.239", "java")
	active(t, l, sm)
	require.NoError(t, annotate(t, l, sm.Name, sm.Name, request...))
	awaitPhase(t, l, sm, v1alpha1.PhaseDisabled)
	for _, killed := range []string{"true", "false"} {
		require.NoError(t, l.Admin.Patch(t.Context(), sm.DeepCopy(), mergePatch(`{"spec":{"killSwitch":`+killed+`}}`)))
		awaitPhase(t, l, sm, map[string]v1alpha1.Phase{"true": v1alpha1.PhaseTerminated, "false": v1alpha1.PhaseDisabled}[killed])
	}
	require.Contains(t, read(t, l, sm).Status.Message, "To give it back: ")
}
