package projection

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/child"
)

func childKey(name string) child.ClusterKey { return child.ClusterKey{Namespace: "team-a", Name: name} }

func stateText(t *testing.T, state string, config reclaim.Config) func(*corev1.Node) {
	t.Helper()
	text, err := json.Marshal(reclaim.AgentState{State: state, Rung: "sweep (no ACK within 1s)", ConfigHash: config.Hash(), Version: "v1"})
	require.NoError(t, err)
	return annotated(reclaim.AnnotationAgentState, string(text))
}

func asleep(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown }

func TestAgentReady(t *testing.T) {
	config := reclaim.Project([]string{"steamwebhelper"})
	says := func(state string) func(*corev1.Node) { return stateText(t, state, config) }
	for name, tt := range map[string]struct {
		seen   *observed
		status metav1.ConditionStatus
		reason string
		says   string
	}{
		"no Node":            {see(), metav1.ConditionFalse, v1alpha1.ReasonNoNode, "not in its cluster"},
		"not labelled yet":   {see(nodeNamed("ws-1")), metav1.ConditionFalse, v1alpha1.ReasonInstalling, "about to be labelled"},
		"no agent yet":       {see(labelled("ws-1")), metav1.ConditionFalse, v1alpha1.ReasonInstalling, "no agent has reported"},
		"a label by hand":    {see(nodeNamed("ws-1", label("never"))), metav1.ConditionFalse, v1alpha1.ReasonLabelRefused, `"never"`},
		"another's mark":     {see(nodeNamed("ws-1", markedBy("another"))), metav1.ConditionFalse, v1alpha1.ReasonNotOurs, reclaim.LabelProjectedBy},
		"armed":              {see(labelled("ws-1", says("armed"))), metav1.ConditionTrue, v1alpha1.ReasonArmed, "Agent v1, sweep (no ACK within 1s)"},
		"requesting":         {see(labelled("ws-1", says("requesting"))), metav1.ConditionTrue, v1alpha1.ReasonRequesting, "Agent v1"},
		"requested":          {see(labelled("ws-1", says("requested"))), metav1.ConditionTrue, v1alpha1.ReasonRequested, "Agent v1"},
		"standby":            {see(labelled("ws-1", says("standby"))), metav1.ConditionFalse, v1alpha1.ReasonStandby, "5spot-reclaim-agent status"},
		"inert":              {see(labelled("ws-1", says("inert"))), metav1.ConditionFalse, v1alpha1.ReasonInert, "nothing to match"},
		"another list":       {see(labelled("ws-1", stateText(t, "armed", reclaim.Config{}))), metav1.ConditionFalse, v1alpha1.ReasonConfigPending, config.Hash()},
		"the Node is silent": {see(labelled("ws-1", says("armed"), asleep)), metav1.ConditionUnknown, v1alpha1.ReasonStale, `last word was "armed"`},
		"no JSON":            {see(labelled("ws-1", annotated(reclaim.AnnotationAgentState, "fine"))), metav1.ConditionFalse, v1alpha1.ReasonStateUnreadable, "not JSON"},
	} {
		t.Run(name, func(t *testing.T) {
			got := wants(t, tt.seen, "ws-1", "steamwebhelper").agentReady(tt.seen, nil, nil)
			require.Equal(t, []any{tt.status, tt.reason, int64(7)}, []any{got.Status, got.Reason, got.ObservedGeneration})
			require.Contains(t, got.Message, tt.says)
			require.NotContains(t, got.Message, "in its arguments")
		})
	}
}

func TestAgentReadyIsAbsentWhereNothingIsAskedForAndNothingLeft(t *testing.T) {
	seen := see(labelled("ws-1"))
	require.Nil(t, wants(t, seen, "ws-1").agentReady(seen, nil, &metav1.Condition{}))
	seen = see(configFor("ws-1", mark, ""))
	require.Equal(t, v1alpha1.ReasonRemoving, wants(t, seen, "ws-1").agentReady(seen, nil, nil).Reason)
}

func TestUnreachableChildIsUnknown(t *testing.T) {
	away := errors.New("connection refused")
	got := wants(t, see(), "ws-1", "java").agentReady(nil, away, nil)
	require.Equal(t, metav1.ConditionUnknown, got.Status)
	require.Contains(t, got.Message, "connection refused")
	require.Nil(t, wants(t, see(), "ws-1").agentReady(nil, away, nil), "it never had any")
	require.Equal(t, metav1.ConditionUnknown, wants(t, see(), "ws-1").agentReady(nil, away, &metav1.Condition{}).Status)
}

func TestRefusalOfTheChildIsSaid(t *testing.T) {
	seen := see(nodeNamed("ws-1"))
	seen.failed["ws-1"] = errors.New("quota exceeded")
	got := wants(t, seen, "ws-1", "java").agentReady(seen, nil, nil)
	require.Equal(t, v1alpha1.ReasonNotProjected, got.Reason)
	require.Contains(t, got.Message, "quota exceeded")
}

func TestPodSecurityThatKeepsTheInstallerOutIsSaid(t *testing.T) {
	seen := see(labelled("ws-1"))
	seen.namespace.Labels[reclaim.PodSecurityLabel] = "restricted"
	require.Contains(t, wants(t, seen, "ws-1", "java").agentReady(seen, nil, nil).Message, "enforce=restricted, which does not admit the installer")
}

func TestEntryThatCannotBeProjectedIsNamedAndTheOthersAreInForce(t *testing.T) {
	w := wants(t, see(), "ws-1", "steamwebhelper", "two\nlines", "", " ", "go")
	got := w.agentReady(see(), nil, nil)
	require.Equal(t, v1alpha1.ReasonInvalidEntry, got.Reason)
	for _, field := range []string{"spec.killIfCommands[1]", "spec.killIfCommands[2]", "spec.killIfCommands[3]"} {
		require.Contains(t, got.Message, field)
	}
	require.NotContains(t, got.Message, "\n")
	require.Equal(t, reclaim.Project([]string{"steamwebhelper", "go"}), w.list.config)
}

func TestBroadEntriesAreNamedOnceAndShortly(t *testing.T) {
	require.Empty(t, broad(reclaim.Project([]string{"go", "/opt/idea/", "com.intellij.idea.Main", "steamwebhelper"})))
	require.Equal(t, `["java" "idea"] also match whatever has them in its arguments, as in "man java"`,
		broad(reclaim.Project([]string{"java", "idea"})))
	require.Contains(t, broad(reclaim.Project(strings.Fields("one two three four five six seven"))), `"five"] and 2 more also`)
}

func TestWhatIsProjectedParses(t *testing.T) {
	for _, entry := range []string{"java", `back\slash "quoted"`, "tab\there", "\x1b[31m", "ünïcode", strings.Repeat("x", 256), "# no comment", "/opt/a b/"} {
		l, err := project(machineNamed("ws-1", entry))
		require.NoError(t, err)
		require.Empty(t, l.faults)
		got, err := reclaim.Parse(reclaim.ConfigKey, []byte(l.text))
		require.NoError(t, err, l.text)
		require.Equal(t, l.config, got)
	}
}
