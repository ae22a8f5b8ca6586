package projection

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// wish is what one ScheduledMachine wants of its child cluster.
type wish struct {
	sm *v1alpha1.ScheduledMachine
	// list is nil when nothing is asked for.
	list *list
	// node is surely the machine's, and in the cluster; otherwise nil.
	node *corev1.Node
	// doubtful is the name of a Node that is mapped to the machine and may be somebody else's: nothing is done to it, for or against.
	doubtful string
}

// there says that the machine's Node is to have the agent.
func (w wish) there() bool { return w.list != nil && w.node != nil }

// observed is what is in a child cluster.
type observed struct {
	// mark is the value of reclaim.LabelProjectedBy on what is ours.
	mark      string
	namespace *corev1.Namespace
	nodes     map[string]*corev1.Node
	// configs are the ConfigMaps that carry a mark, ours or another's, by name.
	configs map[string]*corev1.ConfigMap
	// failed says, by Node, what the child cluster refused; under "" what concerns all.
	failed map[string]error
}

// foreign says that another controller, or another tenant's ScheduledMachine, has its mark on this Node.
func (o *observed) foreign(node *corev1.Node) bool {
	configMap := o.configs[reclaim.ConfigMapName(node.Name)]
	theirs, marked := node.Annotations[reclaim.LabelProjectedBy]
	return configMap != nil && !o.ours(configMap) || marked && theirs != o.mark
}

func (o *observed) ours(configMap *corev1.ConfigMap) bool {
	return configMap.Labels[reclaim.LabelProjectedBy] == o.mark
}

// verb is a kind of action.
type verb string

const (
	ensureNamespace verb = "ensuring the Namespace"
	applyConfig     verb = "applying the ConfigMap"
	applyLabel      verb = "labelling the Node"
	releaseLabel    verb = "taking the label off the Node"
	clearState      verb = "clearing the agent's state on the Node"
	releaseNode     verb = "taking our mark off the Node"
	deleteConfig    verb = "deleting the ConfigMap"
)

// action is one write to a child cluster.
type action struct {
	verb verb
	// node is the Node's name; uid is that of the object that is written to, empty for one that is not there.
	node string
	uid  types.UID
	// machine and text are what a ConfigMap gets.
	machine, text string
}

// plan is what has to be done: sequences of which each ends at its first failure, the others going on.
func (o *observed) plan(wishes []wish) [][]action {
	var all [][]action
	wanted, doubtful := map[string]bool{}, map[string]bool{}
	for _, w := range wishes {
		doubtful[w.doubtful] = true
		if w.there() {
			wanted[w.node.Name] = true
			all = append(all, o.projected(w))
		}
	}
	if len(wanted) > 0 {
		all = slices.Insert(all, 0, o.housed())
	}
	for _, name := range o.marked() {
		if !wanted[name] && !doubtful[name] {
			all = append(all, o.withdrawn(name))
		}
	}
	return slices.DeleteFunc(all, func(sequence []action) bool { return len(sequence) == 0 })
}

func (o *observed) housed() []action {
	if o.namespace == nil {
		return []action{{verb: ensureNamespace}}
	}
	if _, chosen := o.namespace.Labels[reclaim.PodSecurityLabel]; chosen {
		return nil
	}
	return []action{{verb: ensureNamespace, uid: o.namespace.UID}}
}

// projected leads to a Node with ConfigMap and label, in this order.
func (o *observed) projected(w wish) []action {
	if o.foreign(w.node) {
		return nil
	}
	var actions []action
	there := o.configs[reclaim.ConfigMapName(w.node.Name)]
	if there == nil || there.Data[reclaim.ConfigKey] != w.list.textHash || there.Labels[v1alpha1.ScheduledMachineLabel] != w.sm.Name {
		actions = append(actions, action{verb: applyConfig, node: w.node.Name, uid: uidOf(there), machine: w.sm.Name, text: w.list.text})
	}
	label, labelled := w.node.Labels[reclaim.LabelAgent]
	if !labelled || label == reclaim.LabelAgentEnabled && w.node.Annotations[reclaim.LabelProjectedBy] == "" {
		actions = append(actions, action{verb: applyLabel, node: w.node.Name, uid: w.node.UID})
	}
	return actions
}

// marked are the names of the Nodes of which something is ours: their label, or a ConfigMap that outlived them.
func (o *observed) marked() []string {
	names := map[string]bool{}
	for name, node := range o.nodes {
		configMap := o.configs[reclaim.ConfigMapName(name)]
		if node.Annotations[reclaim.LabelProjectedBy] == o.mark || configMap != nil && o.ours(configMap) {
			names[name] = true
		}
	}
	prefix := reclaim.ConfigMapName("")
	for name, configMap := range o.configs {
		if o.ours(configMap) && len(name) > len(prefix) && name[:len(prefix)] == prefix {
			names[name[len(prefix):]] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// withdrawn leads to a Node without a trace of ours. The mark goes when nothing else of it is left on the Node, so that an interrupted
// withdrawal is taken up again. The agent's state goes after the label: an agent that sees the label first would write it once more.
func (o *observed) withdrawn(name string) []action {
	var actions []action
	there := o.configs[reclaim.ConfigMapName(name)]
	if node := o.nodes[name]; node != nil {
		for _, v := range o.released(node, there) {
			actions = append(actions, action{verb: v, node: name, uid: node.UID})
		}
	}
	if there != nil && o.ours(there) {
		actions = append(actions, action{verb: deleteConfig, node: name, uid: there.UID})
	}
	return actions
}

// released is what takes off a Node what may be ours. When somebody has taken the mark off, or put another in its place, the ConfigMap still says
// so, and of the label the API server knows whose it is: another's stays.
func (o *observed) released(node *corev1.Node, configMap *corev1.ConfigMap) []verb {
	labelled, stated := node.Labels[reclaim.LabelAgent] != "", node.Annotations[reclaim.AnnotationAgentState] != ""
	var verbs []verb
	switch mark, marked := node.Annotations[reclaim.LabelProjectedBy]; {
	case marked && mark == o.mark && labelled:
		verbs = []verb{releaseLabel, clearState, releaseNode}
	case marked && mark == o.mark:
		verbs = []verb{clearState, releaseNode}
	case configMap != nil && o.ours(configMap) && labelled:
		verbs = []verb{releaseNode, clearState}
	}
	return slices.DeleteFunc(verbs, func(v verb) bool { return v == clearState && !stated })
}

func uidOf(configMap *corev1.ConfigMap) types.UID {
	if configMap == nil {
		return ""
	}
	return configMap.UID
}
