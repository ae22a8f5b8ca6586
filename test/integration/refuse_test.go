package integration

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/test/controlplane"
	"5spot.finos.org/node-reclaim/test/lab"
)

func TestSuspendedRemovalIsSaidAndHappensWhenItMay(t *testing.T) {
	controlplane.Require(t)
	l := shared
	suspended := startController(t, controller.kubeconfig, "--suspend-eject")
	sm := lab.ScheduledMachine("refuse-1", "10.0.5.1", "java")
	active(t, l, sm)
	require.NoError(t, annotate(t, l, "refuse-1", "refuse-1", request...))
	require.Eventually(t, func() bool { return reclaimed(t, l, sm) == "ReclaimSuspended" }, patience, poll)
	stays(t, l, sm)
	require.Equal(t, 1, eventsOf(t, l, sm)["ReclaimSuspended"])
	suspended.signal(syscall.SIGTERM)

	startController(t, controller.kubeconfig)
	awaitPhase(t, l, sm, v1alpha1.PhaseDisabled)
	require.Equal(t, "EmergencyReclaim", reclaimed(t, l, sm))
	require.Equal(t, 1, eventsOf(t, l, sm)["EmergencyReclaim"])
	remove(t, l, sm) // while its controller runs
}

// A program that ran last week is no reason to lose the machine in the minute its owner opts in.
func TestRequestFromBeforeTheOptInIsClearedByIt(t *testing.T) {
	l, ctx := newLab(t)
	sm := lab.ScheduledMachine("refuse-2", "10.0.5.2")
	active(t, l, sm)
	require.NoError(t, annotate(t, l, "refuse-2", "refuse-2", request...))
	require.Eventually(t, func() bool { return reclaimed(t, l, sm) == "ReclaimIgnored" }, patience, poll)

	require.NoError(t, l.Admin.Patch(ctx, read(t, l, sm), mergePatch(`{"spec":{"killIfCommands":["java"]}}`)))
	require.Eventually(t, func() bool { return reclaimed(t, l, sm) == "" }, patience, poll)
	stays(t, l, sm)
	require.NoError(t, annotate(t, l, "refuse-2", "refuse-2", request...), "and the next one counts")
	awaitPhase(t, l, sm, v1alpha1.PhaseDisabled)
}

// reclaimed is the reason of the condition Reclaimed.
func reclaimed(t *testing.T, l *lab.Lab, sm *v1alpha1.ScheduledMachine) string {
	t.Helper()
	condition := meta.FindStatusCondition(read(t, l, sm).Status.Conditions, v1alpha1.ConditionReclaimed)
	if condition == nil {
		return ""
	}
	return condition.Reason
}

func TestHoldOutlastsAGitLoopThatEnablesTheSchedule(t *testing.T) {
	l, ctx := newLab(t)
	sm := lab.ScheduledMachine("refuse-3", "10.0.5.3", "java")
	sm.Spec.AfterReclaim = v1alpha1.Hold
	active(t, l, sm)
	require.NoError(t, annotate(t, l, "refuse-3", "refuse-3", request...))
	priority := 0
	enable := func() { // each time another generation, as a person's and a loop's edits in turn make them
		priority = (priority + 1) % 100
		patch := fmt.Sprintf(`{"spec":{"priority":%d,"schedule":{"enabled":true}}}`, priority)
		_ = l.Admin.Patch(ctx, sm.DeepCopy(), mergePatch(patch)) // the last one may meet the end of the test
	}
	require.Eventually(t, func() bool { enable(); return read(t, l, sm).Status.Phase == v1alpha1.PhaseDisabled }, patience, poll)
	require.Never(t, func() bool { enable(); return machineUID(t, l, "refuse-3") != "" }, stillness, poll)
	require.Greater(t, read(t, l, sm).Generation, int64(5), "the loop did nothing")
	require.True(t, read(t, l, sm).Status.Reclaim.Holds())
}

func TestHoldStandsWhenTheSpecMayNotBeChanged(t *testing.T) {
	l, _ := newLab(t)
	sm := lab.ScheduledMachine("refuse-4", "10.0.5.4", "java")
	active(t, l, sm)
	allow := admit(t, l, "scheduledmachines", "!has(object.spec.schedule.enabled) || object.spec.schedule.enabled")
	disable := mergePatch(`{"spec":{"schedule":{"enabled":false}}}`)
	require.Eventually(t, func() bool { return l.Admin.Patch(t.Context(), read(t, l, sm), disable, client.DryRunAll) != nil }, patience, poll)
	require.NoError(t, annotate(t, l, "refuse-4", "refuse-4", request...))
	awaitPhase(t, l, sm, v1alpha1.PhaseDisabled)
	require.Never(t, func() bool { return machineUID(t, l, "refuse-4") != "" }, stillness, poll)
	got := read(t, l, sm)
	require.True(t, *got.Spec.Schedule.Enabled)
	require.True(t, got.Status.Reclaim.Holds())
	allow()
	require.Eventually(t, func() bool { return read(t, l, sm).Status.Reclaim.ScheduleDisabledAt != nil }, patience, poll)
	require.False(t, *read(t, l, sm).Spec.Schedule.Enabled)
}

func TestReasonIsTextFromAStranger(t *testing.T) {
	l, _ := newLab(t)
	sm := lab.ScheduledMachine("refuse-5", "10.0.5.5", "java")
	active(t, l, sm)
	hostile := "\x1b[2Jprocess-match: %s%n\n{\"level\":\"ERROR\"}\u202e" + strings.Repeat("<script>", 5000)
	require.NoError(t, annotate(t, l, "refuse-5", "refuse-5",
		"5spot.finos.org/reclaim-requested=true", "5spot.finos.org/reclaim-reason="+hostile))
	awaitPhase(t, l, sm, v1alpha1.PhaseDisabled)
	reason := read(t, l, sm).Status.Reclaim.Reason
	require.LessOrEqual(t, len(reason), 256)
	require.Contains(t, reason, "process-match: %s%n")
	for _, r := range reason {
		require.True(t, unicode.IsPrint(r), "%q", r)
	}
	require.Equal(t, 1, eventsOf(t, l, sm)["EmergencyReclaim"])
}
