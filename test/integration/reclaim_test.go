package integration

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/test/lab"
)

func TestRequestOfTheNodeItselfRemovesTheMachine(t *testing.T) {
	l, _ := newLab(t)
	sm := lab.ScheduledMachine("ws-1", "10.0.0.1", "java")
	active(t, l, sm)
	earlier, err := l.Child.PodRemovals()
	require.NoError(t, err)
	before := time.Now()
	require.NoError(t, annotate(t, l, "ws-1", "ws-1", request...))
	awaitPhase(t, l, sm, v1alpha1.PhaseDisabled)

	got := read(t, l, sm)
	record := got.Status.Reclaim
	require.True(t, record.Complete())
	require.True(t, record.Holds())
	require.Equal(t, "process-match: java", record.Reason)
	require.Equal(t, "ws-1", record.NodeName)
	require.EqualValues(t, podsOn, record.PodsDeleted)
	require.Equal(t, "2026-04-19T21:30:00Z", record.RequestedAt.UTC().Format(time.RFC3339))
	require.False(t, *got.Spec.Schedule.Enabled)
	require.True(t, meta.IsStatusConditionTrue(got.Status.Conditions, v1alpha1.ConditionReclaimed))
	require.Nil(t, got.Status.MachineRef)
	inOrder(t, before, record)

	require.False(t, nodeExists(t, l, "ws-1"))
	require.Empty(t, podsOf(t, l, "ws-1"))
	require.Empty(t, machineUID(t, l, "ws-1"))
	require.Equal(t, 1, eventsOf(t, l, sm)["EmergencyReclaim"])
	require.Equal(t, 1, eventsOf(t, l, sm)["EmergencyReclaimDisabledSchedule"])
	require.Equal(t, 1, eventsOf(t, l, sm)["EmergencyRemove"])
	after, err := l.Child.PodRemovals()
	require.NoError(t, err)
	require.GreaterOrEqual(t, after.Deletes["5spot-controller"]-earlier.Deletes["5spot-controller"], podsOn)
	require.Equal(t, earlier.Evictions, after.Evictions, "the graceful path was taken")
}

// inOrder holds the steps to their order: what may only follow, follows.
func inOrder(t *testing.T, before time.Time, r *v1alpha1.ReclaimStatus) {
	t.Helper()
	require.WithinRange(t, r.ObservedAt.Time, before, time.Now())
	require.NotNil(t, r.CordonedAt)
	require.False(t, r.NodeDeletedAt.Before(&r.ObservedAt))
	require.False(t, r.PodsGoneAt.Before(r.PodsDeletedAt))
	require.False(t, r.MachineDeletedAt.Before(r.PodsGoneAt), "the Machine's DELETE stops the kubelet: pods first")
	require.False(t, r.AnnotationsClearedAt.Before(r.MachineDeletedAt))
	require.False(t, r.MachineGoneAt.Before(r.MachineDeletedAt))
	require.GreaterOrEqual(t, r.PodsGoneAt.Sub(r.PodsDeletedAt.Time), 1500*time.Millisecond, "a kubelet needs two seconds for what ignores SIGTERM")
}

func TestAnotherNodeMayNotAsk(t *testing.T) {
	l, _ := newLab(t)
	sm := lab.ScheduledMachine("ws-2", "10.0.0.2", "java")
	active(t, l, sm)
	require.Error(t, annotate(t, l, "ws-9", "ws-2", request...), "the API server must refuse")
	stays(t, l, sm)
}

func TestOnlyExactlyTrueIsARequest(t *testing.T) {
	l, _ := newLab(t)
	sm := lab.ScheduledMachine("ws-3", "10.0.0.3", "java")
	active(t, l, sm)
	require.NoError(t, annotate(t, l, "ws-3", "ws-3", "5spot.finos.org/reclaim-requested=True"))
	stays(t, l, sm)
}

func TestRequestWithoutOptInIsIgnoredOnceAndVisibly(t *testing.T) {
	l, _ := newLab(t)
	sm := lab.ScheduledMachine("ws-4", "10.0.0.4")
	active(t, l, sm)
	require.NoError(t, annotate(t, l, "ws-4", "ws-4", request...))
	require.Eventually(t, func() bool { return eventsOf(t, l, sm)["ReclaimIgnored"] == 1 }, patience, poll)
	stays(t, l, sm)
	require.Equal(t, 1, eventsOf(t, l, sm)["ReclaimIgnored"])
}

// stays asserts that for two seconds, in which a removal is long over, nothing of the machine goes.
func stays(t *testing.T, l *lab.Lab, sm *v1alpha1.ScheduledMachine) {
	t.Helper()
	uid := machineUID(t, l, sm.Name)
	require.Never(t, func() bool {
		return read(t, l, sm).Status.Reclaim != nil || !nodeExists(t, l, sm.Name) || machineUID(t, l, sm.Name) != uid
	}, stillness, poll)
	require.Len(t, podsOf(t, l, sm.Name), podsOn)
}

func TestOwnerEnablesTheScheduleAndTheMachineComesBackUnharmed(t *testing.T) {
	l, ctx := newLab(t)
	sm := lab.ScheduledMachine("ws-5", "10.0.0.5", "java")
	active(t, l, sm)
	first := machineUID(t, l, "ws-5")
	require.NoError(t, annotate(t, l, "ws-5", "ws-5", request...))
	awaitPhase(t, l, sm, v1alpha1.PhaseDisabled)

	enable(ctx, t, l, sm)
	awaitPhase(t, l, sm, v1alpha1.PhaseActive)
	require.NotEqual(t, first, machineUID(t, l, "ws-5"))
	got := read(t, l, sm)
	require.False(t, got.Status.Reclaim.Holds())
	require.True(t, meta.IsStatusConditionFalse(got.Status.Conditions, v1alpha1.ConditionReclaimed))
	require.Never(t, func() bool { return !nodeExists(t, l, "ws-5") }, stillness, poll, "the old request hit the new Node")

	require.NoError(t, annotate(t, l, "ws-5", "ws-5", request...), "and it can be taken back again")
	awaitPhase(t, l, sm, v1alpha1.PhaseDisabled)
	require.Equal(t, 2, eventsOf(t, l, sm)["EmergencyReclaim"])
}

func enable(ctx context.Context, t *testing.T, l *lab.Lab, sm *v1alpha1.ScheduledMachine) {
	t.Helper()
	require.NoError(t, l.Admin.Patch(ctx, read(t, l, sm), client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"schedule":{"enabled":true}}}`))))
}

func TestHoldLeavesTheSpecAloneUntilReleasedByName(t *testing.T) {
	l, ctx := newLab(t)
	sm := lab.ScheduledMachine("ws-6", "10.0.0.6", "java")
	sm.Spec.AfterReclaim = v1alpha1.Hold
	active(t, l, sm)
	require.NoError(t, annotate(t, l, "ws-6", "ws-6", request...))
	awaitPhase(t, l, sm, v1alpha1.PhaseDisabled)
	require.True(t, *read(t, l, sm).Spec.Schedule.Enabled)

	release(ctx, t, l, sm, "another-reclaim")
	require.Never(t, func() bool { return machineUID(t, l, "ws-6") != "" }, stillness, poll)
	release(ctx, t, l, sm, read(t, l, sm).Status.Reclaim.ID)
	awaitPhase(t, l, sm, v1alpha1.PhaseActive)
}

func release(ctx context.Context, t *testing.T, l *lab.Lab, sm *v1alpha1.ScheduledMachine, id string) {
	t.Helper()
	got := read(t, l, sm)
	patched := got.DeepCopy()
	patched.Annotations = map[string]string{v1alpha1.ReleaseAnnotation: id}
	require.NoError(t, l.Admin.Patch(ctx, patched, client.MergeFrom(got)))
}

func TestNodeThatComesBackWhileHeldIsRemovedOnSight(t *testing.T) {
	l, ctx := newLab(t)
	sm := lab.ScheduledMachine("ws-7", "10.0.0.7", "java")
	active(t, l, sm)
	require.NoError(t, annotate(t, l, "ws-7", "ws-7", request...))
	awaitPhase(t, l, sm, v1alpha1.PhaseDisabled)

	comesBack(ctx, t, l, "ws-7")
	require.Eventually(t, func() bool { return !nodeExists(t, l, "ws-7") }, patience, poll)
	require.Equal(t, 1, eventsOf(t, l, sm)["EmergencyReclaim"], "its request is absorbed")
}
