package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/test/controlplane"
	"5spot.finos.org/node-reclaim/test/lab"
)

// tainted is a ScheduledMachine with these taints, key=value:effect.
func tainted(name, address string, taints ...string) *v1alpha1.ScheduledMachine {
	sm := lab.ScheduledMachine(name, address)
	sm.Spec.NodeTaints = nodeTaints(taints...)
	return sm
}

func nodeTaints(texts ...string) []v1alpha1.NodeTaint {
	taints := []v1alpha1.NodeTaint{}
	for _, text := range texts {
		name, effect, _ := strings.Cut(text, ":")
		key, value, _ := strings.Cut(name, "=")
		taints = append(taints, v1alpha1.NodeTaint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
	}
	return taints
}

// taintsOn are a Node's taints, key=value:effect, without Kubernetes' own.
func taintsOn(t *testing.T, l *lab.Lab, name string) []string {
	t.Helper()
	node := &corev1.Node{}
	require.NoError(t, l.ChildAdmin.Get(context.Background(), types.NamespacedName{Name: name}, node))
	var texts []string
	for _, taint := range node.Spec.Taints {
		if !strings.HasPrefix(taint.Key, "node.kubernetes.io/") {
			texts = append(texts, taint.ToString())
		}
	}
	slices.Sort(texts)
	return texts
}

func awaitTaints(t *testing.T, l *lab.Lab, node string, want ...string) {
	t.Helper()
	require.Eventuallyf(t, func() bool { return slices.Equal(want, taintsOn(t, l, node)) }, patience, poll, "no taints %s", want)
}

// taintNode does what an admin does with kubectl taint: the whole list is written.
func taintNode(t *testing.T, l *lab.Lab, name string, change func([]corev1.Taint) []corev1.Taint) {
	t.Helper()
	require.Eventually(t, func() bool {
		node := &corev1.Node{}
		require.NoError(t, l.ChildAdmin.Get(context.Background(), types.NamespacedName{Name: name}, node))
		node.Spec.Taints = change(node.Spec.Taints)
		return l.ChildAdmin.Update(context.Background(), node) == nil
	}, patience, poll, "every write is a conflict")
}

// put is an admin's taint, in place of any other of its key and effect.
func put(text string) func([]corev1.Taint) []corev1.Taint {
	taint := nodeTaints(text)[0]
	return func(taints []corev1.Taint) []corev1.Taint {
		return append(without(taint.Key)(taints), corev1.Taint{Key: taint.Key, Value: taint.Value, Effect: taint.Effect})
	}
}

func without(key string) func([]corev1.Taint) []corev1.Taint {
	return func(taints []corev1.Taint) []corev1.Taint {
		return slices.DeleteFunc(taints, func(t corev1.Taint) bool { return t.Key == key })
	}
}

func setTaints(t *testing.T, l *lab.Lab, sm *v1alpha1.ScheduledMachine, taints ...string) {
	t.Helper()
	spec, err := json.Marshal(nodeTaints(taints...))
	require.NoError(t, err)
	require.NoError(t, l.Admin.Patch(context.Background(), read(t, l, sm), mergePatch(`{"spec":{"nodeTaints":`+string(spec)+`}}`)))
}

func awaitCondition(t *testing.T, l *lab.Lab, sm *v1alpha1.ScheduledMachine, kind string, status metav1.ConditionStatus, reason string) {
	t.Helper()
	require.Eventuallyf(t, func() bool {
		c := meta.FindStatusCondition(read(t, l, sm).Status.Conditions, kind)
		return c != nil && c.Status == status && c.Reason == reason
	}, patience, poll, "no condition %s %s %s", kind, status, reason)
}

func TestTaintsOfTheSpecAreKeptOnTheNode(t *testing.T) {
	l, _ := newLab(t)
	sm := tainted("ws-40", "10.0.0.40", "dedicated=lent:NoSchedule", "example.org/lent:PreferNoSchedule")
	active(t, l, sm)
	awaitTaints(t, l, "ws-40", "dedicated=lent:NoSchedule", "example.org/lent:PreferNoSchedule")
	awaitCondition(t, l, sm, v1alpha1.ConditionNodeTainted, metav1.ConditionTrue, v1alpha1.ReasonTaintsApplied)
	awaitCondition(t, l, sm, v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonNodeReady)
	require.Equal(t, sm.Spec.NodeTaints, read(t, l, sm).Status.AppliedNodeTaints)

	taintNode(t, l, "ws-40", without("dedicated"))
	awaitTaints(t, l, "ws-40", "dedicated=lent:NoSchedule", "example.org/lent:PreferNoSchedule")
	taintNode(t, l, "ws-40", put("dedicated=mine:NoSchedule"))
	awaitTaints(t, l, "ws-40", "dedicated=lent:NoSchedule", "example.org/lent:PreferNoSchedule")

	taintNode(t, l, "ws-40", put("admin=1:NoSchedule"))
	setTaints(t, l, sm, "dedicated=other:NoSchedule", "third:NoExecute")
	awaitTaints(t, l, "ws-40", "admin=1:NoSchedule", "dedicated=other:NoSchedule", "third:NoExecute")
	setTaints(t, l, sm)
	awaitTaints(t, l, "ws-40", "admin=1:NoSchedule")
	awaitCondition(t, l, sm, v1alpha1.ConditionNodeTainted, metav1.ConditionTrue, v1alpha1.ReasonNoTaints)

	node := &corev1.Node{}
	require.NoError(t, l.ChildAdmin.Get(t.Context(), types.NamespacedName{Name: "ws-40"}, node))
	require.True(t, slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady }),
		"the taint that admission put on the Node was lost")
}

func TestAdminsTaintIsNeitherOverwrittenNorClaimed(t *testing.T) {
	l, _ := newLab(t)
	sm := lab.ScheduledMachine("ws-41", "10.0.0.41")
	active(t, l, sm)
	taintNode(t, l, "ws-41", put("dedicated=admin:NoSchedule"))
	taintNode(t, l, "ws-41", put("equal=1:NoSchedule"))
	setTaints(t, l, sm, "dedicated=lent:NoSchedule", "equal=1:NoSchedule", "free=1:NoSchedule")
	awaitCondition(t, l, sm, v1alpha1.ConditionTaintOwnershipConflict, metav1.ConditionTrue, v1alpha1.ReasonValueDiffers)
	awaitTaints(t, l, "ws-41", "dedicated=admin:NoSchedule", "equal=1:NoSchedule", "free=1:NoSchedule")
	awaitCondition(t, l, sm, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonTaintOwnershipConflict)
	require.Contains(t, meta.FindStatusCondition(read(t, l, sm).Status.Conditions, v1alpha1.ConditionTaintOwnershipConflict).Message,
		`dedicated:NoSchedule is "admin" on the Node and "lent" in spec.nodeTaints`)
	require.Equal(t, nodeTaints("free=1:NoSchedule"), read(t, l, sm).Status.AppliedNodeTaints)

	taintNode(t, l, "ws-41", put("another=1:NoSchedule"))
	require.Never(t, func() bool { return eventsOf(t, l, sm)[v1alpha1.ConditionTaintOwnershipConflict] > 1 }, stillness, poll)
	require.Equal(t, 1, eventsOf(t, l, sm)[v1alpha1.ConditionTaintOwnershipConflict], "one event for a conflict that stays")

	taintNode(t, l, "ws-41", without("dedicated"))
	awaitTaints(t, l, "ws-41", "another=1:NoSchedule", "dedicated=lent:NoSchedule", "equal=1:NoSchedule", "free=1:NoSchedule")
	awaitCondition(t, l, sm, v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonNodeReady)
	require.Nil(t, meta.FindStatusCondition(read(t, l, sm).Status.Conditions, v1alpha1.ConditionTaintOwnershipConflict))

	setTaints(t, l, sm)
	awaitTaints(t, l, "ws-41", "another=1:NoSchedule", "equal=1:NoSchedule")
}

// A controller that is killed when the API server has stored its status, and before it gets the answer, neither leaves a taint for ever nor
// forgets one.
func TestControllerKilledWhileItTaints(t *testing.T) {
	for i, moment := range []struct{ name, says string }{
		{"right after it claimed the taint", v1alpha1.ReasonApplyingTaints},
		{"right after it said that the taint is on the Node", v1alpha1.ReasonTaintsApplied},
	} {
		t.Run(moment.name, func(t *testing.T) {
			controlplane.Require(t)
			l, name := shared, fmt.Sprintf("taint-crash-%d", i)
			fuse := newFuse(t, l.Management.Config, func(r *http.Request, body string) bool {
				return strings.HasSuffix(r.URL.Path, name+"/status") && strings.Contains(body, `"appliedNodeTaints":[`) && strings.Contains(body, moment.says)
			})
			doomed := startController(t, fuse.kubeconfig(t))
			fuse.arm(func() { _ = doomed.cmd.Process.Signal(syscall.SIGKILL) })
			sm := tainted(name, fmt.Sprintf("10.0.0.%d", 42+i), "dedicated=lent:NoSchedule")
			require.NoError(t, l.Admin.Create(t.Context(), sm))
			require.Eventually(t, func() bool { return !doomed.running() }, patience, poll, "the moment never came")

			startController(t, l.Management.Kubeconfig)
			awaitTaints(t, l, name, "dedicated=lent:NoSchedule")
			awaitCondition(t, l, sm, v1alpha1.ConditionNodeTainted, metav1.ConditionTrue, v1alpha1.ReasonTaintsApplied)
			setTaints(t, l, sm)
			awaitTaints(t, l, name)
			remove(t, l, sm) // while its controller runs
		})
	}
}

// Taints of a Node that is gone say nothing about the next one of its name, on which an admin may have put the same.
func TestReplacedNodeIsTaintedAnew(t *testing.T) {
	l, ctx := newLab(t)
	sm := tainted("ws-44", "10.0.0.44", "dedicated=lent:NoSchedule", "free:NoSchedule")
	active(t, l, sm)
	awaitTaints(t, l, "ws-44", "dedicated=lent:NoSchedule", "free:NoSchedule")
	old := &corev1.Node{}
	require.NoError(t, l.ChildAdmin.Get(ctx, types.NamespacedName{Name: "ws-44"}, old))
	again := old.DeepCopy()
	again.ObjectMeta = metav1.ObjectMeta{Name: old.Name, Labels: old.Labels}
	again.Spec.Taints = put("dedicated=admin:NoSchedule")(nil)
	require.NoError(t, l.ChildAdmin.Delete(ctx, old))
	require.NoError(t, l.ChildAdmin.Create(ctx, again))

	awaitTaints(t, l, "ws-44", "dedicated=admin:NoSchedule", "free:NoSchedule")
	awaitCondition(t, l, sm, v1alpha1.ConditionTaintOwnershipConflict, metav1.ConditionTrue, v1alpha1.ReasonValueDiffers)
	require.Equal(t, again.UID, read(t, l, sm).Status.NodeRef.UID)
}

// A tenant claims in his status that he put an admin's taint on another's Node, and that this Node is his.
func TestForgedClaimDoesNotReachAnothersNode(t *testing.T) {
	l, ctx := newLab(t)
	victim := tainted("ws-45", "10.0.0.45", "dedicated=lent:NoSchedule")
	active(t, l, victim)
	thief := lab.ScheduledMachine("taint-thief", "10.0.0.46")
	active(t, l, thief)
	awaitTaints(t, l, "ws-45", "dedicated=lent:NoSchedule")
	taintNode(t, l, "ws-45", put("quarantine=1:NoSchedule"))

	forge(ctx, t, l, thief, func(status *v1alpha1.ScheduledMachineStatus) {
		status.AppliedNodeTaints = nodeTaints("quarantine=1:NoSchedule", "dedicated=lent:NoSchedule")
		status.NodeRef = read(t, l, victim).Status.NodeRef
	})
	require.Eventually(t, func() bool {
		status := read(t, l, thief).Status
		return status.NodeRef != nil && status.NodeRef.Name == thief.Name && status.AppliedNodeTaints == nil
	}, patience, poll, "the forged status stays")
	require.Never(t, func() bool {
		return !slices.Equal([]string{"dedicated=lent:NoSchedule", "quarantine=1:NoSchedule"}, taintsOn(t, l, "ws-45"))
	}, stillness, poll)
	require.Empty(t, taintsOn(t, l, thief.Name))
}
