package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/test/lab"
)

// lent creates a ScheduledMachine and waits until its Node has the agent's label and its ConfigMap.
func lent(t *testing.T, l *lab.Lab, name, address string, killIfCommands ...string) *v1alpha1.ScheduledMachine {
	t.Helper()
	sm := lab.ScheduledMachine(name, address, killIfCommands...)
	active(t, l, sm)
	awaitProjected(t, l, name, reclaim.Project(killIfCommands))
	return sm
}

func awaitProjected(t *testing.T, l *lab.Lab, node string, want reclaim.Config) {
	t.Helper()
	require.Eventually(t, func() bool {
		got, err := reclaim.Parse(reclaim.ConfigKey, []byte(projectedText(t, l, node)))
		return err == nil && got.Hash() == want.Hash() && labels(t, l, node)[reclaim.LabelAgent] == reclaim.LabelAgentEnabled
	}, patience, poll, "Node %s has no label, or another ConfigMap:\n%s", node, projectedText(t, l, node))
}

// awaitBare waits until nothing of ours is left of a Node, whether it is still there or not.
func awaitBare(t *testing.T, l *lab.Lab, node string) {
	t.Helper()
	require.Eventually(t, func() bool {
		there := childNode(t, l, node)
		return projectedText(t, l, node) == "" && there.Labels[reclaim.LabelAgent] == "" &&
			there.Annotations[reclaim.LabelProjectedBy] == "" && there.Annotations[reclaim.AnnotationAgentState] == ""
	}, patience, poll, "something is left of Node %s", node)
}

// childNode is empty when there is no such Node.
func childNode(t *testing.T, l *lab.Lab, name string) *corev1.Node {
	t.Helper()
	node := &corev1.Node{}
	require.NoError(t, client.IgnoreNotFound(l.ChildAdmin.Get(context.Background(), types.NamespacedName{Name: name}, node)))
	return node
}

func labels(t *testing.T, l *lab.Lab, node string) map[string]string {
	t.Helper()
	return childNode(t, l, node).Labels
}

func configMap(node string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: reclaim.Namespace, Name: reclaim.ConfigMapName(node)}}
}

// projectedText is empty when there is no ConfigMap.
func projectedText(t *testing.T, l *lab.Lab, node string) string {
	t.Helper()
	there := configMap(node)
	require.NoError(t, client.IgnoreNotFound(l.ChildAdmin.Get(context.Background(), client.ObjectKeyFromObject(there), there)))
	return there.Data[reclaim.ConfigKey]
}

// awaitAgentReady waits for a status and reason of the condition, and returns its message.
func awaitAgentReady(t *testing.T, l *lab.Lab, sm *v1alpha1.ScheduledMachine, status metav1.ConditionStatus, reason string) string {
	t.Helper()
	var got *metav1.Condition
	require.Eventually(t, func() bool {
		got = meta.FindStatusCondition(read(t, l, sm).Status.Conditions, v1alpha1.ConditionAgentReady)
		return got != nil && got.Status == status && got.Reason == reason
	}, patience, poll, "no condition AgentReady that is %s, %s", status, reason)
	return got.Message
}

// says has the Node's agent report, under the kubelet's credential.
func says(t *testing.T, l *lab.Lab, node, state string, config reclaim.Config) {
	t.Helper()
	text, err := json.Marshal(reclaim.AgentState{State: state, Rung: "proc-connector", ConfigHash: config.Hash(), Version: "v1.2.3"})
	require.NoError(t, err)
	require.NoError(t, annotate(t, l, node, node, "--overwrite", reclaim.AnnotationAgentState+"="+string(text)))
}

// want changes spec.killIfCommands.
func want(t *testing.T, l *lab.Lab, sm *v1alpha1.ScheduledMachine, killIfCommands ...string) {
	t.Helper()
	list, err := json.Marshal(append([]string{}, killIfCommands...))
	require.NoError(t, err)
	require.NoError(t, l.Admin.Patch(t.Context(), sm.DeepCopy(), mergePatch(fmt.Sprintf(`{"spec":{"killIfCommands":%s}}`, list))))
}
