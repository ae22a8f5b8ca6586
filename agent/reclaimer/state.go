package reclaimer

import (
	"time"

	"5spot.finos.org/node-reclaim/agent/config"
	"5spot.finos.org/node-reclaim/agent/node"
	"5spot.finos.org/node-reclaim/agent/watch"
	"5spot.finos.org/node-reclaim/api/reclaim"
)

// State is what the agent is doing.
type State string

const (
	// Inert means that there is nothing to match.
	Inert State = reclaim.StateInert
	// Armed means that a match makes a request.
	Armed State = reclaim.StateArmed
	// Requesting means that there was a match, and the Node does not say so yet.
	Requesting State = reclaim.StateRequesting
	// Requested means that the Node carries a request, whoever made it.
	Requested State = reclaim.StateRequested
	// Standby means that there is no Node that this machine could or should give back, or no process can be seen.
	Standby State = reclaim.StateStandby
)

// facts are all that the state depends on.
type facts struct {
	config config.Snapshot
	view   node.View
	// optedOut: the Node's label is gone, and it was the installer that relied on it.
	optedOut bool
	pending  bool
	rung     watch.Rung
	now      time.Time
}

// verdict is a state, and in words why.
type verdict struct {
	State State
	Why   string
	// Watch says that a match would make a request.
	Watch bool
}

// decide is the whole state machine: the state follows from the facts alone, never from the way there. An API server that has not
// been heard of, or is away, leaves the agent armed: a match is kept until it can be written.
func decide(f facts) verdict {
	request, requested := reclaim.RequestFrom(f.view.Node.Annotations, f.now)
	switch {
	case off(f.view.Standing):
		return verdict{State: Standby, Why: f.view.Detail}
	case f.optedOut:
		return verdict{State: Standby, Why: "the Node's label " + reclaim.LabelAgent + " is gone"}
	case requested:
		return verdict{State: Requested, Why: request.Reason}
	case f.pending:
		return verdict{State: Requesting}
	case f.config.Config.Inert():
		return verdict{State: Inert, Why: whyInert(f.config)}
	case f.rung.Name == watch.RungBlind: // an observer that sees nothing is not to be called armed; should it see again, it counts
		return verdict{Standby, f.rung.Why, true}
	}
	return verdict{State: Armed, Watch: true}
}

func off(s node.Standing) bool {
	return s == node.Gone || s == node.Foreign || s == node.NoCredential
}

func whyInert(c config.Snapshot) string {
	switch {
	case !c.Present && c.Fault != nil:
		return "there has been no good configuration yet"
	case !c.Present:
		return "there is no configuration file"
	}
	return "both lists of the configuration are empty"
}
