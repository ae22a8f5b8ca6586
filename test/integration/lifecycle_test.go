package integration

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/test/controlplane"
	"5spot.finos.org/node-reclaim/test/lab"
)

// life is one ScheduledMachine on its way, on a host of its own.
type life struct {
	*lab.Lab
	t    *testing.T
	sm   *v1alpha1.ScheduledMachine
	name string
}

// begin creates a ScheduledMachine with these timeouts. It is deleted with the test, whatever holds it then.
func begin(t *testing.T, name, address string, grace, drain v1alpha1.Timeout, change ...func(*v1alpha1.ScheduledMachine)) *life {
	t.Helper()
	l := &life{Lab: shared, t: t, sm: lab.ScheduledMachine(name, address, "java"), name: name}
	l.sm.Spec.GracefulShutdownTimeout, l.sm.Spec.NodeDrainTimeout = grace, drain
	for _, apply := range change {
		apply(l.sm)
	}
	require.NoError(t, l.Admin.Create(t.Context(), l.sm))
	t.Cleanup(l.delete)
	return l
}

// delete leaves a drain one second, and waits until the ScheduledMachine is gone.
func (l *life) delete() {
	l.t.Helper()
	ctx := context.Background()
	patch := mergePatch(`{"spec":{"gracefulShutdownTimeout":"0s","nodeDrainTimeout":"1s"}}`)
	require.NoError(l.t, client.IgnoreNotFound(l.Admin.Patch(ctx, l.sm.DeepCopy(), patch)))
	require.NoError(l.t, client.IgnoreNotFound(l.Admin.Delete(ctx, l.sm)))
	require.Eventually(l.t, func() bool {
		return apierrors.IsNotFound(l.Admin.Get(ctx, client.ObjectKeyFromObject(l.sm), &v1alpha1.ScheduledMachine{}))
	}, patience, poll, "the ScheduledMachine does not go")
}

func (l *life) active() *life {
	l.t.Helper()
	awaitPhase(l.t, l.Lab, l.sm, v1alpha1.PhaseActive)
	require.Eventually(l.t, func() bool { return len(podsOf(l.t, l.Lab, l.name)) == podsOn }, patience, poll)
	return l
}

// The schedule ends: the 30th of February does not come. And begins again.
func (l *life) scheduleEnds() {
	l.patch(`{"spec":{"schedule":{"daysOfWeek":null,"hoursOfDay":null,"cron":"0 0 30 2 *"}}}`)
}

func (l *life) scheduleBegins() { l.patch(`{"spec":{"schedule":{"cron":"* * * * *"}}}`) }

func (l *life) patch(patch string) {
	l.t.Helper()
	require.NoError(l.t, l.Admin.Patch(l.t.Context(), l.sm.DeepCopy(), mergePatch(patch)))
}

func (l *life) awaits(phase v1alpha1.Phase) {
	l.t.Helper()
	awaitPhase(l.t, l.Lab, l.sm, phase)
}

// says waits until the condition ShuttingDown has the reason and its message contains the text.
func (l *life) says(reason, text string) {
	l.t.Helper()
	var condition *metav1.Condition
	require.Eventually(l.t, func() bool {
		condition = meta.FindStatusCondition(read(l.t, l.Lab, l.sm).Status.Conditions, v1alpha1.ConditionShuttingDown)
		return condition != nil && condition.Reason == reason && strings.Contains(condition.Message, text)
	}, patience, poll, "no %s that says %q", reason, text)
}

// stays asserts that a machine is in its cluster as if no shutdown had ever begun.
func (l *life) stays(machine types.UID, unschedulable bool) {
	l.t.Helper()
	l.awaits(v1alpha1.PhaseActive)
	require.Eventually(l.t, func() bool { return read(l.t, l.Lab, l.sm).Status.Shutdown == nil }, patience, poll)
	require.Nil(l.t, meta.FindStatusCondition(read(l.t, l.Lab, l.sm).Status.Conditions, v1alpha1.ConditionShuttingDown))
	require.Equal(l.t, unschedulable, l.node().Spec.Unschedulable)
	require.Equal(l.t, machine, machineUID(l.t, l.Lab, l.name))
}

func (l *life) node() *corev1.Node {
	l.t.Helper()
	node := &corev1.Node{}
	require.NoError(l.t, l.ChildAdmin.Get(l.t.Context(), types.NamespacedName{Name: l.name}, node))
	return node
}

// Hosts at 10.0.6.x have pods that may be evicted; on all others a PodDisruptionBudget forbids it.
func address(last int, evictable bool) string {
	if evictable {
		return fmt.Sprintf("10.0.6.%d", last)
	}
	return fmt.Sprintf("10.0.5.%d", last)
}

func TestLifecycle(t *testing.T) {
	newLab(t)
	for i, tt := range []struct {
		name         string
		evictable    bool
		grace, drain v1alpha1.Timeout
		then         func(*life)
	}{
		{"Pending, Active, ShuttingDown, Inactive, and again", true, "1s", "1h", func(l *life) {
			first := machineUID(l.t, l.Lab, l.name)
			l.scheduleEnds()
			l.awaits(v1alpha1.PhaseInactive)
			require.Empty(l.t, podsOf(l.t, l.Lab, l.name))
			require.False(l.t, nodeExists(l.t, l.Lab, l.name))
			require.Nil(l.t, read(l.t, l.Lab, l.sm).Status.Shutdown)
			for _, phase := range []v1alpha1.Phase{v1alpha1.PhasePending, v1alpha1.PhaseActive, v1alpha1.PhaseShuttingDown, v1alpha1.PhaseInactive} {
				require.Eventually(l.t, func() bool { return eventsOf(l.t, l.Lab, l.sm)[string(phase)] == 1 }, patience, poll, phase)
			}
			l.scheduleBegins()
			l.awaits(v1alpha1.PhaseActive)
			require.NotEqual(l.t, first, machineUID(l.t, l.Lab, l.name))
		}},
		{"disabled", true, "0s", "1h", func(l *life) {
			l.patch(`{"spec":{"schedule":{"enabled":false}}}`)
			l.awaits(v1alpha1.PhaseShuttingDown)
			l.awaits(v1alpha1.PhaseDisabled)
			require.Empty(l.t, machineUID(l.t, l.Lab, l.name))
		}},
		{"back to Active while the grace period runs", true, "1h", "1h", func(l *life) {
			machine := machineUID(l.t, l.Lab, l.name)
			l.scheduleEnds()
			l.says(v1alpha1.ReasonGracePeriod, "is drained from")
			require.False(l.t, l.node().Spec.Unschedulable)
			l.scheduleBegins()
			l.stays(machine, false)
			require.Len(l.t, podsOf(l.t, l.Lab, l.name), podsOn)
		}},
		{"back to Active during the drain", false, "0s", "1h", func(l *life) {
			machine := machineUID(l.t, l.Lab, l.name)
			l.scheduleEnds()
			l.says(v1alpha1.ReasonDraining, "pods left: 10")
			require.True(l.t, l.node().Spec.Unschedulable)
			l.scheduleBegins()
			l.stays(machine, false)
		}},
		{"an admin's own cordon stays", false, "0s", "1h", func(l *life) {
			machine := machineUID(l.t, l.Lab, l.name)
			require.NoError(l.t, l.ChildAdmin.Patch(l.t.Context(), l.node(), mergePatch(`{"spec":{"unschedulable":true}}`)))
			l.scheduleEnds()
			l.says(v1alpha1.ReasonDraining, "pods left: 10")
			l.scheduleBegins()
			l.stays(machine, true)
		}},
		{"a PodDisruptionBudget holds the drain until its time is over", false, "0s", "4s", func(l *life) {
			l.scheduleEnds()
			l.says(v1alpha1.ReasonDraining, fmt.Sprintf("The disruption budget %s needs 10 healthy pods and has 10 currently: default/", budgetOf(l.sm)))
			started := read(l.t, l.Lab, l.sm).Status.Shutdown.DrainStartedAt
			l.awaits(v1alpha1.PhaseInactive)
			require.Greater(l.t, time.Since(started.Time), 4*time.Second)
			require.Empty(l.t, machineUID(l.t, l.Lab, l.name))
			require.Eventually(l.t, func() bool { return eventsOf(l.t, l.Lab, l.sm)[v1alpha1.ReasonDrainTimedOut] == 1 }, patience, poll)
		}},
		{"an emergency during the grace period", false, "1h", "1h", func(l *life) {
			l.scheduleEnds()
			l.says(v1alpha1.ReasonGracePeriod, "")
			l.emergency()
		}},
		{"an emergency during the drain", false, "0s", "1h", func(l *life) {
			l.scheduleEnds()
			l.says(v1alpha1.ReasonDraining, "pods left")
			l.emergency()
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := begin(t, fmt.Sprintf("life-%d", i), address(150+i, tt.evictable), tt.grace, tt.drain)
			tt.then(l.active())
		})
	}
}

// budgetOf is the PodDisruptionBudget over the pods of a machine's host.
func budgetOf(sm *v1alpha1.ScheduledMachine) string {
	_, last, _ := strings.Cut(string(sm.Spec.InfrastructureSpec.Spec.Raw), `"address":"10.0.5.`)
	last, _, _ = strings.Cut(last, `"`)
	return "app-" + last
}

// emergency has the machine taken back, and the Node gone long before any of its timeouts.
func (l *life) emergency() {
	l.t.Helper()
	require.NoError(l.t, annotate(l.t, l.Lab, l.name, l.name, request...))
	l.awaits(v1alpha1.PhaseDisabled)
	require.False(l.t, nodeExists(l.t, l.Lab, l.name))
	require.True(l.t, read(l.t, l.Lab, l.sm).Status.Reclaim.Complete())
}

// What a ScheduledMachine leaves behind when it is deleted, in any phase: nothing.
func TestDeletionInEveryPhase(t *testing.T) {
	newLab(t)
	outOfSchedule := func(sm *v1alpha1.ScheduledMachine) {
		sm.Spec.Schedule = v1alpha1.Schedule{Cron: "0 0 30 2 *"}
	}
	for i, tt := range []struct {
		phase  v1alpha1.Phase
		change func(*v1alpha1.ScheduledMachine)
		then   func(*life)
	}{
		{v1alpha1.PhasePending, func(sm *v1alpha1.ScheduledMachine) { sm.Spec.ClusterName = "not-there-yet" }, nil},
		{v1alpha1.PhaseActive, nil, nil},
		{v1alpha1.PhaseShuttingDown, nil, func(l *life) { l.active().scheduleEnds() }},
		{v1alpha1.PhaseInactive, outOfSchedule, nil},
		{v1alpha1.PhaseDisabled, func(sm *v1alpha1.ScheduledMachine) { sm.Spec.Schedule.Enabled = new(bool) }, nil},
		{v1alpha1.PhaseTerminated, func(sm *v1alpha1.ScheduledMachine) { sm.Spec.KillSwitch = true }, nil},
		{v1alpha1.PhaseError, func(sm *v1alpha1.ScheduledMachine) { sm.Spec.Schedule.Timezone = "Nowhere/Town" }, nil},
	} {
		t.Run(string(tt.phase), func(t *testing.T) {
			t.Parallel()
			change := tt.change
			if change == nil {
				change = func(*v1alpha1.ScheduledMachine) {}
			}
			l := begin(t, fmt.Sprintf("delete-%d", i), address(160+i, true), "1h", "1h", change)
			if tt.then != nil {
				tt.then(l)
			}
			l.awaits(tt.phase)
			require.Contains(t, read(t, l.Lab, l.sm).Finalizers, v1alpha1.Finalizer)
			l.delete()
			require.Empty(t, machineUID(t, l.Lab, l.name))
			require.False(t, nodeExists(t, l.Lab, l.name))
		})
	}
}

// A controller that dies in the middle of a drain: the next one knows since when it runs, and whose the cordon is.
func TestControllerKilledDuringADrain(t *testing.T) {
	controlplane.Require(t)
	doomed := startController(t, shared.Management.Kubeconfig)
	l := begin(t, "life-killed", address(170, false), "0s", "1h").active()
	machine := machineUID(t, l.Lab, l.name)
	l.scheduleEnds()
	l.says(v1alpha1.ReasonDraining, "pods left: 10")
	before := read(t, l.Lab, l.sm).Status.Shutdown
	doomed.signal(syscall.SIGKILL)

	startController(t, shared.Management.Kubeconfig)
	require.Equal(t, before, read(t, l.Lab, l.sm).Status.Shutdown)
	require.Equal(t, l.node().UID, before.CordonedNodeUID)
	l.scheduleBegins()
	l.stays(machine, false)
	l.delete() // while its controller runs
}
