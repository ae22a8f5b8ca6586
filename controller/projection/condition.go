package projection

import (
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// verdict is a condition in the making.
type verdict struct {
	status          metav1.ConditionStatus
	reason, message string
}

func no(reason, format string, args ...any) *verdict {
	return &verdict{metav1.ConditionFalse, reason, fmt.Sprintf(format, args...)}
}

func unknown(reason, format string, args ...any) *verdict {
	return &verdict{metav1.ConditionUnknown, reason, fmt.Sprintf(format, args...)}
}

// agentReady is the condition of one ScheduledMachine; nil when it is not to have one. unreachable is why o is nil.
func (w wish) agentReady(o *observed, unreachable error, before *metav1.Condition) *metav1.Condition {
	var v *verdict
	if w.list == nil {
		v = w.leftover(o, unreachable, before)
	} else {
		v = w.judge(o, unreachable)
		v.message = sentences(v.message, broad(w.list.config))
	}
	if v == nil {
		return nil
	}
	return &metav1.Condition{
		Type: v1alpha1.ConditionAgentReady, Status: v.status, Reason: v.reason, Message: v.message, ObservedGeneration: w.sm.Generation,
	}
}

// leftover is about a machine that asks for nothing: what was projected may still be there.
func (w wish) leftover(o *observed, unreachable error, before *metav1.Condition) *verdict {
	if unreachable != nil {
		if before == nil {
			return nil
		}
		return unknown(v1alpha1.ReasonUnreachable, "What was projected is taken off when the child cluster answers: %s", reclaim.CleanReason(unreachable.Error()))
	}
	for name, configMap := range o.configs {
		if o.ours(configMap) && configMap.Labels[v1alpha1.ScheduledMachineLabel] == w.sm.Name {
			return no(v1alpha1.ReasonRemoving, "spec.killIfCommands is empty, ConfigMap %s/%s is still there", reclaim.Namespace, name)
		}
	}
	return nil
}

// judge goes from what keeps the agent away to what the agent says itself.
func (w wish) judge(o *observed, unreachable error) *verdict {
	switch {
	case len(w.list.faults) > 0:
		return no(v1alpha1.ReasonInvalidEntry, "%s. All other entries are in force", strings.Join(w.list.faults, "; "))
	case unreachable != nil:
		return unknown(v1alpha1.ReasonUnreachable, "%s", reclaim.CleanReason(unreachable.Error()))
	case w.doubtful != "":
		return no(v1alpha1.ReasonNoNode, "Node %s may be somebody else's; see condition %s", w.doubtful, v1alpha1.ConditionNodeIdentityMismatch)
	case w.node == nil:
		return no(v1alpha1.ReasonNoNode, "The machine is not in its cluster")
	case o.foreign(w.node):
		return no(v1alpha1.ReasonNotOurs, "Another controller has marked Node %s, or ConfigMap %s/%s, as its own (%s); remove that mark if it no longer lends this machine",
			w.node.Name, reclaim.Namespace, reclaim.ConfigMapName(w.node.Name), reclaim.LabelProjectedBy)
	}
	if err := errors.Join(o.failed[""], o.failed[w.node.Name]); err != nil {
		return no(v1alpha1.ReasonNotProjected, "%s", reclaim.CleanReason(err.Error()))
	}
	if v := w.labelled(); v != nil {
		return v
	}
	return w.mirror(o)
}

func (w wish) labelled() *verdict {
	label, labelled := w.node.Labels[reclaim.LabelAgent]
	if labelled && label != reclaim.LabelAgentEnabled {
		return no(v1alpha1.ReasonLabelRefused, "Somebody set label %s of Node %s to %q; to have the agent, remove that label",
			reclaim.LabelAgent, w.node.Name, reclaim.CleanReason(label))
	}
	if !labelled {
		return no(v1alpha1.ReasonInstalling, "Node %s is about to be labelled", w.node.Name)
	}
	return nil
}

// mirror reads what the agent says of itself, which is a node's text.
func (w wish) mirror(o *observed) *verdict {
	text := w.node.Annotations[reclaim.AnnotationAgentState]
	if text == "" {
		return no(v1alpha1.ReasonInstalling, "%s", sentences(fmt.Sprintf("Node %s is labelled, and no agent has reported yet", w.node.Name), o.forbidden()))
	}
	state, err := reclaim.ParseAgentState(text)
	if err != nil {
		return no(v1alpha1.ReasonStateUnreadable, "Annotation %s of Node %s: %s", reclaim.AnnotationAgentState, w.node.Name, err)
	}
	switch {
	case !reports(w.node):
		return unknown(v1alpha1.ReasonStale, "Node %s is not Ready; the agent's last word was %q", w.node.Name, state.State)
	case state.State == reclaim.StateStandby:
		return no(v1alpha1.ReasonStandby, "The agent stands by; `5spot-reclaim-agent status` on the machine says why")
	case state.ConfigHash != w.list.hash:
		return no(v1alpha1.ReasonConfigPending, "The agent's configuration is %q, the projected one %q", state.ConfigHash, w.list.hash)
	case state.State == reclaim.StateInert:
		return no(v1alpha1.ReasonInert, "The agent has nothing to match")
	}
	return &verdict{metav1.ConditionTrue, working(state.State), fmt.Sprintf("Agent %s, %s", state.Version, state.Rung)}
}

func working(state string) string {
	switch state {
	case reclaim.StateRequesting:
		return v1alpha1.ReasonRequesting
	case reclaim.StateRequested:
		return v1alpha1.ReasonRequested
	}
	return v1alpha1.ReasonArmed
}

func reports(node *corev1.Node) bool {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// forbidden says that the Namespace's pod security level keeps the installer out.
func (o *observed) forbidden() string {
	if o.namespace == nil {
		return ""
	}
	if level := o.namespace.Labels[reclaim.PodSecurityLabel]; level != "" && level != reclaim.PodSecurityLevel {
		return fmt.Sprintf("Namespace %s is labelled %s=%s, which does not admit the installer", reclaim.Namespace, reclaim.PodSecurityLabel, level)
	}
	return ""
}

// shown is how many broad entries are named.
const shown = 5

// broad names entries that match more than programs of that name.
func broad(config reclaim.Config) string {
	entries := config.BroadSubstrings()
	if len(entries) == 0 {
		return ""
	}
	more := ""
	if len(entries) > shown {
		entries, more = entries[:shown], fmt.Sprintf(" and %d more", len(entries)-shown)
	}
	return fmt.Sprintf("%q%s also match whatever has them in its arguments, as in \"man %s\"", entries, more, entries[0])
}

func sentences(all ...string) string {
	var said []string
	for _, s := range all {
		if s != "" {
			said = append(said, s)
		}
	}
	return strings.Join(said, ". ")
}
