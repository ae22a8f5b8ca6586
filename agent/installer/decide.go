package installer

import (
	"fmt"
	"time"

	"5spot.finos.org/node-reclaim/agent/installer/cluster"
	"5spot.finos.org/node-reclaim/api/reclaim"
)

const (
	// askAgain is the time between two answers that there is no such Node, before that is believed: a control plane that is restored
	// from a backup may forget a Node for a moment.
	askAgain = 5 * time.Second
	// stale is the age from which on what was last known of an object is not acted on any more.
	stale = 60 * time.Second
)

// Answer is what is to become of the agent on this host.
type Answer string

const (
	// Keep means that it belongs here: what is missing is put there.
	Keep Answer = "keep"
	// Uninstall means that it has to go.
	Uninstall Answer = "uninstall"
	// Wait means that not enough is known: the host stays as it is.
	Wait Answer = "wait"
	// HandsOff means that what is on this host belongs to another Node or machine: it stays, and somebody has to be told.
	HandsOff Answer = "hands off"
)

// Verdict is an answer, and in words why.
type Verdict struct {
	Answer Answer
	Why    string
	// Again is when to ask again, where waiting for that settles it.
	Again time.Duration
}

// Facts are all that the verdict depends on.
type Facts struct {
	Now       time.Time
	Node      cluster.Node
	DaemonSet cluster.DaemonSet
	// MachineID is the host's.
	MachineID string
	// Record of what is installed; nil when nothing is.
	Record *Record
}

// Decide says what is to become of the agent. A Node that is not the one in the record has no say over what is installed, unless it wants
// the agent, too: then it takes it over, which is how a machine comes back that had left its cluster without notice.
func Decide(f Facts) Verdict {
	node := f.Node
	switch {
	case !f.known(node.Sight, node.At):
		return Verdict{Answer: Wait, Why: "nothing is known of the Node at the moment"}
	case node.Sight == cluster.Absent && node.At.Sub(node.AbsentSince) < askAgain:
		return Verdict{Answer: Wait, Why: "there is no such Node, which is asked again",
			Again: askAgain - node.At.Sub(node.AbsentSince)}
	case node.Sight == cluster.Absent:
		return Verdict{Answer: Uninstall, Why: "there is no such Node"}
	}
	if stranger := f.stranger(); stranger != "" {
		return Verdict{Answer: HandsOff, Why: stranger}
	}
	v := f.wanted()
	if v.Answer == Uninstall && f.replaced() {
		return Verdict{Answer: HandsOff, Why: fmt.Sprintf("the agent was installed for a Node of UID %s, and this one is %s (%s): "+
			"remove it by hand, with `5spot-reclaim-agent uninstall`, or give the Node the label", f.Record.NodeUID, node.UID, v.Why)}
	}
	return v
}

// wanted is what the Node's label and the DaemonSet say.
func (f Facts) wanted() Verdict {
	label, set := f.Node.Labels[reclaim.LabelAgent], f.DaemonSet
	switch {
	case label != reclaim.LabelAgentEnabled:
		return Verdict{Answer: Uninstall, Why: fmt.Sprintf("the Node's label %s is %q, not %q", reclaim.LabelAgent, label, reclaim.LabelAgentEnabled)}
	case !f.known(set.Sight, set.At):
		return Verdict{Answer: Wait, Why: "nothing is known of the DaemonSet at the moment"}
	case set.Sight == cluster.Absent:
		return Verdict{Answer: Uninstall, Why: "there is no DaemonSet of the name in DAEMONSET_NAME in the pod's namespace"}
	case set.Deleting:
		return Verdict{Answer: Uninstall, Why: "the DaemonSet is being deleted"}
	case !set.Selects(f.Node.Labels):
		return Verdict{Answer: Uninstall, Why: "the DaemonSet does not select this Node any more"}
	}
	return Verdict{Answer: Keep}
}

func (f Facts) known(s cluster.Sight, at time.Time) bool {
	return s != cluster.Unknown && f.Now.Sub(at) < stale
}

// uninitialized is what an image's /etc/machine-id says until its first boot, on every host alike.
const uninitialized = "uninitialized"

// stranger says that Node, host and record are not one machine, or nothing.
func (f Facts) stranger() string {
	switch {
	case f.MachineID == "" || f.MachineID == uninitialized:
		return "this host has no /etc/machine-id that could tell it from another: run systemd-machine-id-setup on it and restart the kubelet"
	case f.Node.MachineID != f.MachineID:
		return fmt.Sprintf("the Node has machine id %q and this host has %q: wait until the kubelet has reported its own, or give each host "+
			"its own /etc/machine-id (systemd-machine-id-setup) and restart the kubelet", f.Node.MachineID, f.MachineID)
	case f.Record != nil && f.Record.MachineID != f.MachineID:
		return fmt.Sprintf("%s was written on a host with machine id %q and this one has %q (a copied disk?): "+
			"run `5spot-reclaim-agent uninstall` on this host", RecordPath, f.Record.MachineID, f.MachineID)
	}
	return ""
}

// replaced says that the record is another Node's.
func (f Facts) replaced() bool { return f.Record != nil && f.Record.NodeUID != f.Node.UID }
