package projection

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/child"
)

const mark = "0123456789abcdef"

func nodeNamed(name string, edit ...func(*corev1.Node)) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-of-" + name), Labels: map[string]string{}, Annotations: map[string]string{}},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	for _, e := range edit {
		e(node)
	}
	return node
}

func label(value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[reclaim.LabelAgent] = value }
}

func annotated(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Annotations[key] = value }
}

func markedBy(by string) func(*corev1.Node) { return annotated(reclaim.LabelProjectedBy, by) }

// labelled is a Node as we label it.
func labelled(name string, edit ...func(*corev1.Node)) *corev1.Node {
	return nodeNamed(name, append([]func(*corev1.Node){label("enabled"), markedBy(mark)}, edit...)...)
}

func configFor(node, by, text string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: reclaim.ConfigMapName(node), UID: types.UID("uid-of-config-" + node),
			Labels: map[string]string{reclaim.LabelProjectedBy: by, v1alpha1.ScheduledMachineLabel: node},
		},
		Data: map[string]string{reclaim.ConfigKey: child.HashText(text)}, // as it is remembered
	}
}

func see(objects ...any) *observed {
	o := &observed{mark: mark, nodes: map[string]*corev1.Node{}, configs: map[string]*corev1.ConfigMap{}, failed: map[string]error{}}
	o.namespace = &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{UID: "uid-of-namespace", Labels: map[string]string{reclaim.PodSecurityLabel: "privileged"}}}
	for _, object := range objects {
		switch object := object.(type) {
		case *corev1.Node:
			o.nodes[object.Name] = object
		case *corev1.ConfigMap:
			o.configs[object.Name] = object
		}
	}
	return o
}

func machineNamed(name string, killIfCommands ...string) *v1alpha1.ScheduledMachine {
	return &v1alpha1.ScheduledMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: name, Generation: 7},
		Spec:       v1alpha1.ScheduledMachineSpec{KillIfCommands: killIfCommands},
	}
}

// wants is the wish of a machine whose Node has its name.
func wants(t *testing.T, o *observed, name string, killIfCommands ...string) wish {
	t.Helper()
	w := wish{sm: machineNamed(name, killIfCommands...), node: o.nodes[name]}
	if len(killIfCommands) > 0 {
		l, err := project(w.sm)
		require.NoError(t, err)
		w.list = &l
	}
	return w
}

func textOf(t *testing.T, name string, killIfCommands ...string) string {
	t.Helper()
	l, err := project(machineNamed(name, killIfCommands...))
	require.NoError(t, err)
	return l.text
}

// told is a plan in words, one line a sequence.
func told(plan [][]action) []string {
	lines := []string{}
	for _, sequence := range plan {
		line := ""
		for _, a := range sequence {
			line += fmt.Sprintf("%s %s (%s). ", a.verb, a.node, a.uid)
		}
		lines = append(lines, line[:len(line)-1])
	}
	return lines
}

func TestPlanForAMachineThatAsks(t *testing.T) {
	java := textOf(t, "ws-1", "java")
	for name, tt := range map[string]struct {
		seen *observed
		want []string
	}{
		"nothing is there": {see(nodeNamed("ws-1")), []string{"applying the ConfigMap ws-1 (). labelling the Node ws-1 (uid-of-ws-1)."}},
		"all is there":     {see(labelled("ws-1"), configFor("ws-1", mark, java)), []string{}},
		"another list":     {see(labelled("ws-1"), configFor("ws-1", mark, "")), []string{"applying the ConfigMap ws-1 (uid-of-config-ws-1)."}},
		"no ConfigMap":     {see(labelled("ws-1")), []string{"applying the ConfigMap ws-1 ()."}},
		"no label": {see(nodeNamed("ws-1", markedBy(mark)), configFor("ws-1", mark, java)),
			[]string{"labelling the Node ws-1 (uid-of-ws-1)."}},
		"an administrator's label": {see(nodeNamed("ws-1", label("enabled")), configFor("ws-1", mark, java)),
			[]string{"labelling the Node ws-1 (uid-of-ws-1)."}},
		"an administrator's no": {see(nodeNamed("ws-1", label("never")), configFor("ws-1", mark, java)), []string{}},
		"another's ConfigMap":   {see(nodeNamed("ws-1"), configFor("ws-1", "another", java)), []string{}},
		"another's Node":        {see(nodeNamed("ws-1", markedBy("another"))), []string{}},
		"no Node":               {see(), []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.want, told(tt.seen.plan([]wish{wants(t, tt.seen, "ws-1", "java")})))
		})
	}
}

func TestPlanForTheNamespace(t *testing.T) {
	for name, tt := range map[string]struct {
		namespace *corev1.Namespace
		want      []string
	}{
		"missing":      {nil, []string{"ensuring the Namespace  ()."}},
		"unlabelled":   {&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{UID: "u"}}, []string{"ensuring the Namespace  (u)."}},
		"another's no": {&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{reclaim.PodSecurityLabel: "restricted"}}}, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			seen := see(labelled("ws-1"), configFor("ws-1", mark, textOf(t, "ws-1", "java")))
			seen.namespace = tt.namespace
			require.Equal(t, tt.want, told(seen.plan([]wish{wants(t, seen, "ws-1", "java")})))
			require.Empty(t, seen.plan([]wish{wants(t, seen, "ws-2", "java")})[1:], "nobody there needs it")
		})
	}
}

func TestPlanForWhatNobodyAsksFor(t *testing.T) {
	whole := "taking the label off the Node ws-1 (uid-of-ws-1). clearing the agent's state on the Node ws-1 (uid-of-ws-1). " +
		"taking our mark off the Node ws-1 (uid-of-ws-1). deleting the ConfigMap ws-1 (uid-of-config-ws-1)."
	for name, tt := range map[string]struct {
		seen *observed
		want []string
	}{
		"all of it":        {see(labelled("ws-1", annotated(reclaim.AnnotationAgentState, "{}")), configFor("ws-1", mark, "")), []string{whole}},
		"the Node is gone": {see(configFor("ws-1", mark, "")), []string{"deleting the ConfigMap ws-1 (uid-of-config-ws-1)."}},
		"only a mark":      {see(nodeNamed("ws-1", markedBy(mark))), []string{"taking our mark off the Node ws-1 (uid-of-ws-1)."}},
		"an unmarked Node": {see(nodeNamed("ws-1", label("enabled"), annotated(reclaim.AnnotationAgentState, "{}"))), []string{}},
		"the mark was taken off": {see(nodeNamed("ws-1", label("enabled")), configFor("ws-1", mark, "")),
			[]string{"taking our mark off the Node ws-1 (uid-of-ws-1). deleting the ConfigMap ws-1 (uid-of-config-ws-1)."}},
		"another's mark over our ConfigMap": {see(nodeNamed("ws-1", label("enabled"), markedBy("another"), annotated(reclaim.AnnotationAgentState, "{}")),
			configFor("ws-1", mark, "")), []string{"taking our mark off the Node ws-1 (uid-of-ws-1). clearing the agent's state on the Node ws-1 (uid-of-ws-1). " +
			"deleting the ConfigMap ws-1 (uid-of-config-ws-1)."}},
		"another's Node":      {see(nodeNamed("ws-1", label("enabled"), markedBy("another"))), []string{}},
		"another's ConfigMap": {see(configFor("ws-1", "another", "")), []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.want, told(tt.seen.plan([]wish{wants(t, tt.seen, "ws-1"), wants(t, tt.seen, "ws-2", "java")})))
			require.Equal(t, tt.want, told(tt.seen.plan(nil)), "its ScheduledMachine is gone, too")
		})
	}
}

// A node that forges its way into another's mapping must not get the agent of that one removed.
func TestNothingIsDoneToANodeInDoubt(t *testing.T) {
	seen := see(labelled("host-1"), configFor("host-1", mark, ""))
	w := wants(t, seen, "ws-1", "java")
	w.doubtful = "host-1"
	require.Empty(t, seen.plan([]wish{w}))
}

func TestMarksDifferByManagementClusterAndChild(t *testing.T) {
	marks := map[string]bool{}
	for _, r := range []*Reconciler{{Management: "one"}, {Management: "other"}} {
		for _, name := range []string{"a", "b", "a"} {
			marks[r.mark(childKey(name))] = true
		}
	}
	require.Len(t, marks, 4)
}
