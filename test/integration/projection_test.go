package integration

import (
	"context"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/machine"
	"5spot.finos.org/node-reclaim/test/lab"
)

func TestAgentComesWithTheSpecFollowsItAndGoes(t *testing.T) {
	l, _ := newLab(t)
	sm := lent(t, l, "agent-1", "10.0.3.1", "java", "/opt/idea/")
	first, second := reclaim.Project([]string{"java", "/opt/idea/"}), reclaim.Project([]string{"steamwebhelper"})
	require.Contains(t, projectedText(t, l, "agent-1"), "ScheduledMachine team-a/agent-1")
	awaitAgentReady(t, l, sm, metav1.ConditionFalse, v1alpha1.ReasonInstalling)
	says(t, l, "agent-1", reclaim.StateArmed, first)
	message := awaitAgentReady(t, l, sm, metav1.ConditionTrue, v1alpha1.ReasonArmed)
	require.Contains(t, message, "v1.2.3, proc-connector")
	require.Contains(t, message, `["java"] also match`)

	want(t, l, sm, "steamwebhelper")
	awaitProjected(t, l, "agent-1", second)
	awaitAgentReady(t, l, sm, metav1.ConditionFalse, v1alpha1.ReasonConfigPending)
	says(t, l, "agent-1", reclaim.StateStandby, second)
	awaitAgentReady(t, l, sm, metav1.ConditionFalse, v1alpha1.ReasonStandby)
	require.NoError(t, annotate(t, l, "agent-1", "agent-1", "--overwrite", reclaim.AnnotationAgentState+"=all is well"))
	awaitAgentReady(t, l, sm, metav1.ConditionFalse, v1alpha1.ReasonStateUnreadable)
	says(t, l, "agent-1", reclaim.StateArmed, second)
	require.Equal(t, "Agent v1.2.3, proc-connector", awaitAgentReady(t, l, sm, metav1.ConditionTrue, v1alpha1.ReasonArmed))

	want(t, l, sm)
	awaitBare(t, l, "agent-1")
	require.Eventually(t, func() bool {
		return meta.FindStatusCondition(read(t, l, sm).Status.Conditions, v1alpha1.ConditionAgentReady) == nil
	}, patience, poll)
	require.True(t, nodeExists(t, l, "agent-1"))
}

func TestMachineThatIsGoneLeavesNothingBehindInEveryPhase(t *testing.T) {
	l, ctx := newLab(t)
	schedule := func(enabled string) func(*v1alpha1.ScheduledMachine) {
		return func(sm *v1alpha1.ScheduledMachine) {
			require.NoError(t, l.Admin.Patch(ctx, sm.DeepCopy(), mergePatch(`{"spec":{`+enabled+`}}`)))
		}
	}
	for name, tt := range map[string]struct {
		leave func(*v1alpha1.ScheduledMachine)
		phase v1alpha1.Phase
	}{
		"terminated": {schedule(`"killSwitch":true`), v1alpha1.PhaseTerminated},
		"disabled":   {schedule(`"schedule":{"enabled":false},"nodeDrainTimeout":"1s","gracefulShutdownTimeout":"1s"`), v1alpha1.PhaseDisabled},
		"inactive":   {schedule(`"schedule":{"cron":"0 0 29 2 *","daysOfWeek":null,"hoursOfDay":null},"nodeDrainTimeout":"1s","gracefulShutdownTimeout":"1s"`), v1alpha1.PhaseInactive},
		"reclaimed":  {func(sm *v1alpha1.ScheduledMachine) { require.NoError(t, annotate(t, l, sm.Name, sm.Name, request...)) }, v1alpha1.PhaseDisabled},
	} {
		t.Run(name, func(t *testing.T) {
			sm := lent(t, l, "agent-"+name, "10.0.3.2", "java")
			tt.leave(sm)
			awaitPhase(t, l, sm, tt.phase)
			awaitBare(t, l, sm.Name)
			awaitAgentReady(t, l, sm, metav1.ConditionFalse, v1alpha1.ReasonNoNode)
		})
	}
	t.Run("deleted", func(t *testing.T) {
		sm := lent(t, l, "agent-deleted", "10.0.3.3", "java")
		remove(t, l, sm)
		awaitBare(t, l, sm.Name)
	})
}

// While its pods keep the Node in the cluster, its owner can still take it back at once.
func TestAgentStaysWhileTheMachineIsBeingDrained(t *testing.T) {
	l, ctx := newLab(t)
	sm := lent(t, l, "agent-drained", "10.0.3.4", "java")
	require.NoError(t, l.Admin.Patch(ctx, sm.DeepCopy(), mergePatch(`{"spec":{"schedule":{"enabled":false}}}`)))
	awaitPhase(t, l, sm, v1alpha1.PhaseShuttingDown)
	require.Never(t, func() bool {
		return projectedText(t, l, sm.Name) == "" || labels(t, l, sm.Name)[reclaim.LabelAgent] == ""
	}, stillness, poll)
	require.NoError(t, annotate(t, l, sm.Name, sm.Name, request...))
	awaitPhase(t, l, sm, v1alpha1.PhaseDisabled)
	awaitBare(t, l, sm.Name)
}

func TestReplacedNodeIsLabelledAgain(t *testing.T) {
	l, ctx := newLab(t)
	sm := lent(t, l, "agent-replaced", "10.0.3.5", "java")
	old := childNode(t, l, sm.Name)
	require.NoError(t, l.ChildAdmin.Delete(ctx, old))
	fresh := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: sm.Name}, Spec: corev1.NodeSpec{ProviderID: old.Spec.ProviderID}}
	require.NoError(t, l.ChildAdmin.Create(ctx, fresh))
	require.NotEqual(t, old.UID, fresh.UID)
	awaitProjected(t, l, sm.Name, reclaim.Project([]string{"java"}))
}

func TestDriftIsRepaired(t *testing.T) {
	l, ctx := newLab(t)
	sm := lent(t, l, "agent-drift", "10.0.3.6", "java")
	repaired := func() { awaitProjected(t, l, sm.Name, reclaim.Project([]string{"java"})) }

	require.NoError(t, l.ChildAdmin.Patch(ctx, configMap(sm.Name), mergePatch(`{"data":{"reclaim.toml":"match_commands = []"}}`)))
	repaired()
	require.NoError(t, l.ChildAdmin.Patch(ctx, configMap(sm.Name), mergePatch(`{"metadata":{"labels":null}}`)))
	require.Eventually(t, func() bool {
		there := configMap(sm.Name)
		require.NoError(t, l.ChildAdmin.Get(ctx, client.ObjectKeyFromObject(there), there))
		return there.Labels[reclaim.LabelProjectedBy] != ""
	}, patience, poll)
	require.NoError(t, l.ChildAdmin.Delete(ctx, configMap(sm.Name)))
	repaired()
	require.NoError(t, l.ChildAdmin.Patch(ctx, configMap(sm.Name), mergePatch(`{"immutable":true,"data":{"reclaim.toml":"match_commands = []"}}`)))
	repaired()
	require.NoError(t, l.ChildAdmin.Patch(ctx, childNode(t, l, sm.Name), mergePatch(`{"metadata":{"labels":{"5spot.finos.org/reclaim-agent":null}}}`)))
	repaired()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: reclaim.Namespace}}
	level := func() string {
		require.NoError(t, l.ChildAdmin.Get(ctx, client.ObjectKeyFromObject(namespace), namespace))
		return namespace.Labels[reclaim.PodSecurityLabel]
	}
	require.NoError(t, l.ChildAdmin.Patch(ctx, namespace, mergePatch(`{"metadata":{"labels":{"pod-security.kubernetes.io/enforce":null}}}`)))
	require.Eventually(t, func() bool { return level() == reclaim.PodSecurityLevel }, patience, poll)
}

// Nobody is left who knows what was asked for, and the cluster is about to be disconnected, because nobody names it any more.
func TestWhatTheLastMachineOfAClusterLeftIsTakenOff(t *testing.T) {
	l, _ := newLab(t)
	sm := lent(t, l, "agent-vanished", "10.0.3.7", "java")
	t.Cleanup(func() { removeMachine(t, l, sm.Name) })
	theirs := configMap("elsewhere")
	theirs.Labels = map[string]string{reclaim.LabelProjectedBy: "another-management-cluster"}
	require.NoError(t, l.ChildAdmin.Create(t.Context(), theirs))
	t.Cleanup(func() { require.NoError(t, l.ChildAdmin.Delete(context.Background(), theirs)) })

	vanish(t, l, sm)
	awaitBare(t, l, sm.Name)
	require.True(t, nodeExists(t, l, sm.Name))
	require.NoError(t, l.ChildAdmin.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs))
}

func TestWhatAMachineLeftThatVanishedDuringAnOutageIsTakenOff(t *testing.T) {
	controller, l := controllerOf(t)
	sm := lent(t, l, "agent-outage", "10.0.3.8", "java")
	t.Cleanup(func() { removeMachine(t, l, sm.Name) })
	keeper := lab.ScheduledMachine("agent-keeper", "10.0.3.9")
	active(t, l, keeper)
	controller.signal(syscall.SIGKILL)
	vanish(t, l, sm)
	startController(t, l.Management.Kubeconfig)
	awaitBare(t, l, sm.Name)
	require.True(t, nodeExists(t, l, sm.Name))
	remove(t, l, keeper) // while its controller runs
}

// vanish takes a ScheduledMachine away under the controller: nothing of it is finalized.
func vanish(t *testing.T, l *lab.Lab, sm *v1alpha1.ScheduledMachine) {
	t.Helper()
	ctx := context.Background()
	require.NoError(t, l.Admin.Delete(ctx, sm))
	require.NoError(t, client.IgnoreNotFound(l.Admin.Patch(ctx, sm.DeepCopy(), mergePatch(`{"metadata":{"finalizers":null}}`))))
}

// removeMachine takes away what vanish left, without the drain that its pods forbid.
func removeMachine(t *testing.T, l *lab.Lab, name string) {
	t.Helper()
	left := machine.Empty(capi.V1Beta2)
	left.SetNamespace(lab.Namespace)
	left.SetName(name)
	exclude := mergePatch(`{"metadata":{"annotations":{"machine.cluster.x-k8s.io/exclude-node-draining":"true"}}}`)
	require.NoError(t, client.IgnoreNotFound(l.Admin.Patch(context.Background(), left.DeepCopy(), exclude)))
	require.NoError(t, client.IgnoreNotFound(l.Admin.Delete(context.Background(), left)))
	require.Eventually(t, func() bool { return !nodeExists(t, l, name) }, patience, poll)
}

func TestUnreachableChildIsUnknownAndHoldsNothingUp(t *testing.T) {
	l, _ := newLab(t)
	t.Run("from the start", func(t *testing.T) {
		secret(t, l, "nowhere", func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.Server = "https://127.0.0.1:1" })
		sm := lab.ScheduledMachine("agent-nowhere", "10.0.3.10", "java")
		sm.Spec.ClusterName = "nowhere"
		require.NoError(t, l.Admin.Create(t.Context(), sm))
		require.Contains(t, awaitAgentReady(t, l, sm, metav1.ConditionUnknown, v1alpha1.ReasonUnreachable), "connection refused")
		remove(t, l, sm)
	})
	t.Run("while the list is cleared", func(t *testing.T) {
		sm := lent(t, l, "agent-away", "10.0.3.11", "java")
		require.NoError(t, l.Child.StopAPIServer())
		want(t, l, sm)
		awaitAgentReady(t, l, sm, metav1.ConditionUnknown, v1alpha1.ReasonUnreachable)
		require.NoError(t, l.Child.StartAPIServer())
		awaitBare(t, l, sm.Name)
	})
}

const kata = "katacontainers.io/kata-runtime"

// kata-deploy labels the same Nodes, by server-side apply under its own field manager.
func TestLabelsOfAnotherManagerAreItsOwn(t *testing.T) {
	l, ctx := newLab(t)
	sm := lent(t, l, "agent-kata", "10.0.3.12", "java")
	theirs := func(labels string) {
		body := `{"apiVersion":"v1","kind":"Node","metadata":{"name":"agent-kata","labels":{` + labels + `}}}`
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: sm.Name}}
		require.NoError(t, l.ChildAdmin.Patch(ctx, node, client.RawPatch(types.ApplyPatchType, []byte(body)), client.FieldOwner("kata-deploy")))
	}
	see := func(ours, kataValue string) {
		t.Helper()
		require.Eventually(t, func() bool {
			got := labels(t, l, sm.Name)
			return got[reclaim.LabelAgent] == ours && got[kata] == kataValue
		}, patience, poll)
	}
	see(reclaim.LabelAgentEnabled, "")
	theirs(`"` + kata + `":"true"`)
	see(reclaim.LabelAgentEnabled, "true")
	want(t, l, sm)
	see("", "true")
	theirs("")
	see("", "")
	theirs(`"` + kata + `":"true"`)
	want(t, l, sm, "java")
	see(reclaim.LabelAgentEnabled, "true")
	theirs("")
	see(reclaim.LabelAgentEnabled, "")
}

func TestLabelOfAnAdministratorStaysAsItIs(t *testing.T) {
	l, ctx := newLab(t)
	byHand := func(node, value string) {
		t.Helper()
		require.NoError(t, l.ChildAdmin.Patch(ctx, childNode(t, l, node),
			mergePatch(`{"metadata":{"labels":{"5spot.finos.org/reclaim-agent":`+value+`}}}`), client.FieldOwner("kubectl-label")))
	}
	sm := lab.ScheduledMachine("agent-admin", "10.0.3.13")
	active(t, l, sm)

	t.Run("of the same value", func(t *testing.T) {
		byHand(sm.Name, `"enabled"`)
		want(t, l, sm, "java")
		awaitAgentReady(t, l, sm, metav1.ConditionFalse, v1alpha1.ReasonInstalling)
		want(t, l, sm)
		require.Eventually(t, func() bool {
			return childNode(t, l, sm.Name).Annotations[reclaim.LabelProjectedBy] == "" && projectedText(t, l, sm.Name) == ""
		},
			patience, poll)
		require.Equal(t, reclaim.LabelAgentEnabled, labels(t, l, sm.Name)[reclaim.LabelAgent])
	})
	t.Run("of another value", func(t *testing.T) {
		byHand(sm.Name, `"never"`)
		want(t, l, sm, "java")
		require.Contains(t, awaitAgentReady(t, l, sm, metav1.ConditionFalse, v1alpha1.ReasonLabelRefused), `"never"`)
		require.Never(t, func() bool { return labels(t, l, sm.Name)[reclaim.LabelAgent] != "never" }, stillness, poll)
		byHand(sm.Name, "null")
		awaitProjected(t, l, sm.Name, reclaim.Project([]string{"java"}))
		byHand(sm.Name, `"never"`)
		awaitAgentReady(t, l, sm, metav1.ConditionFalse, v1alpha1.ReasonLabelRefused)
		want(t, l, sm)
		require.Eventually(t, func() bool { return projectedText(t, l, sm.Name) == "" }, patience, poll)
		require.Equal(t, "never", labels(t, l, sm.Name)[reclaim.LabelAgent])
	})
}
