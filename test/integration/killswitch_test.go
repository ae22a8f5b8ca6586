package integration

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/child"
	"5spot.finos.org/node-reclaim/test/lab"
)

func TestKillSwitchRemovesAtOnceAndLetsBackWhenFalse(t *testing.T) {
	l, ctx := newLab(t)
	sm := lab.ScheduledMachine("kill-1", "10.0.3.1") // nobody opted in, and nobody has to
	active(t, l, sm)
	first := machineUID(t, l, "kill-1")
	earlier, err := l.Child.PodRemovals()
	require.NoError(t, err)
	require.NoError(t, l.Admin.Patch(ctx, read(t, l, sm), mergePatch(`{"spec":{"killSwitch":true}}`)))
	awaitPhase(t, l, sm, v1alpha1.PhaseTerminated)

	got := read(t, l, sm)
	require.Nil(t, got.Status.Reclaim, "nobody asked, so nothing holds it out")
	require.True(t, *got.Spec.Schedule.Enabled)
	require.Zero(t, eventsOf(t, l, sm)["EmergencyReclaim"])
	removal := got.Status.Termination
	require.Equal(t, first, removal.MachineUID)
	require.EqualValues(t, podsOn, removal.PodsDeleted)
	require.NotNil(t, removal.CordonedAt)
	require.Less(t, removal.NodeDeletedAt.Sub(removal.ObservedAt.Time), 5*time.Second)
	require.False(t, removal.MachineDeletedAt.Before(removal.PodsGoneAt), "the Machine's DELETE stops the kubelet: pods first")
	require.False(t, nodeExists(t, l, "kill-1"))
	require.Empty(t, podsOf(t, l, "kill-1"))
	after, err := l.Child.PodRemovals()
	require.NoError(t, err)
	require.Equal(t, earlier.Evictions, after.Evictions)

	comesBack(ctx, t, l, "kill-1")
	require.Eventually(t, func() bool { return !nodeExists(t, l, "kill-1") }, patience, poll, "a host that was off comes back in vain")

	require.NoError(t, l.Admin.Patch(ctx, got, mergePatch(`{"spec":{"killSwitch":false}}`)))
	awaitPhase(t, l, sm, v1alpha1.PhaseActive)
	require.NotEqual(t, first, machineUID(t, l, "kill-1"))
}

// The graceful end waits for a PodDisruptionBudget that allows nothing; the kill switch does not.
func TestKillSwitchEndsAGracefulShutdown(t *testing.T) {
	l, ctx := newLab(t)
	sm := lab.ScheduledMachine("kill-2", "10.0.3.2")
	sm.Spec.GracefulShutdownTimeout = "0s"
	active(t, l, sm)
	require.NoError(t, l.Admin.Patch(ctx, read(t, l, sm), mergePatch(`{"spec":{"schedule":{"enabled":false}}}`)))
	awaitPhase(t, l, sm, v1alpha1.PhaseShuttingDown)
	require.True(t, nodeExists(t, l, "kill-2"))
	require.NoError(t, l.Admin.Patch(ctx, read(t, l, sm), mergePatch(`{"spec":{"killSwitch":true}}`)))
	awaitPhase(t, l, sm, v1alpha1.PhaseTerminated)
	require.False(t, nodeExists(t, l, "kill-2"))
	for _, pod := range podsOf(t, l, "kill-2") { // where the kubelet was stopped before it could say that they are dead
		require.NotNil(t, pod.DeletionTimestamp)
	}
}

// Nothing is waited for; what a provider may keep for that reason is said.
func TestKillSwitchBeforeTheBootstrapDataExists(t *testing.T) {
	newLab(t)
	cluster := createCluster(t, "kill-early")
	pause(t, cluster, "true")
	l := begin(t, "kill-5", address(187, true), "1h", "1h", lentTo("kill-early"))
	require.Eventually(t, func() bool {
		machine := machineOf(t, l.Lab, l.name)
		return machine != nil && len(machine.GetFinalizers()) > 0 // Cluster API puts its own on a paused one, too
	}, patience, poll)
	l.patch(`{"spec":{"killSwitch":true}}`)
	require.Eventually(t, func() bool { return machineOf(t, l.Lab, l.name).GetDeletionTimestamp() != nil }, patience, poll)
	require.Eventually(t, func() bool { return eventsOf(t, l.Lab, l.sm)[v1alpha1.ReasonDeletedBeforeBootstrap] == 1 }, patience, poll)
	l.says(v1alpha1.ReasonPaused, "")
	pause(t, cluster, "false")
	l.awaits(v1alpha1.PhaseTerminated)
}

func TestKillSwitchDeletesTheMachineOfAnUnreachableChildAfterTheWait(t *testing.T) {
	l, ctx := newLab(t, "--pod-kill-wait=1s")
	sm := lab.ScheduledMachine("kill-3", "10.0.3.3")
	active(t, l, sm)
	away(t, l, sm)
	require.NoError(t, l.Admin.Patch(ctx, read(t, l, sm), mergePatch(`{"spec":{"killSwitch":true}}`)))
	require.Eventually(t, func() bool {
		removal := read(t, l, sm).Status.Termination
		return removal != nil && removal.MachineDeletedAt != nil && removal.NodeDeletedAt == nil
	}, patience, poll)
	removal := read(t, l, sm).Status.Termination
	require.GreaterOrEqual(t, removal.MachineDeletedAt.Sub(removal.ObservedAt.Time), time.Second)
}

// away takes the child cluster from the controller until the test ends, and from nobody else: it refuses a kubeconfig that impersonates.
func away(t *testing.T, l *lab.Lab, sm *v1alpha1.ScheduledMachine) {
	t.Helper()
	ctx := context.Background()
	secret := &corev1.Secret{}
	require.NoError(t, l.Admin.Get(ctx, types.NamespacedName{Namespace: lab.Namespace, Name: lab.Cluster + "-kubeconfig"}, secret))
	before := secret.Data[child.SecretKey]
	config, err := clientcmd.Load(before)
	require.NoError(t, err)
	for _, user := range config.AuthInfos {
		user.Impersonate, user.ImpersonateGroups = "admin", []string{"system:masters"}
	}
	secret.Data[child.SecretKey], err = clientcmd.Write(*config)
	require.NoError(t, err)
	require.NoError(t, l.Admin.Update(ctx, secret))
	t.Cleanup(func() {
		secret.Data[child.SecretKey] = before
		require.NoError(t, l.Admin.Update(ctx, secret))
	})
	require.Eventually(t, func() bool {
		return meta.IsStatusConditionFalse(read(t, l, sm).Status.Conditions, v1alpha1.ConditionChildClusterReachable)
	}, patience, poll)
}
