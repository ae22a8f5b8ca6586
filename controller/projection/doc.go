// Package projection puts onto a child cluster what spec.killIfCommands of its ScheduledMachines asks for, and takes it off again: for each
// machine that is in the cluster, a ConfigMap with reclaim.toml, and on its Node the label that brings the agent there.
//
// One reconcile sees one child cluster whole: what all its ScheduledMachines want, what is there, and the difference. So it makes no
// difference whether the controller was there when a machine vanished. Wanted is decided by the Node, not by the phase: as long as the
// Node is in the cluster, also while it is being drained, its owner can still take it back by starting a program.
//
// Everything is written by server-side apply under a field manager of its own, and marked with reclaim.LabelProjectedBy; what carries no such
// mark, or another's, is never removed. A label that somebody else put on the Node, too, stays when ours goes; one with another value is
// that person's no, and stays as it is. The Namespace is created with the pod security level that the installer needs; a level that somebody
// else chose stays, and is named in the condition.
//
// On the way in the ConfigMap comes first, because an agent without one is inert; on the way out the label goes first, because that is what
// uninstalls the agent. What is placed is not secret: every pod of a node may be able to read it.
//
// The package must not know how an agent is installed, nor what a request leads to.
package projection
