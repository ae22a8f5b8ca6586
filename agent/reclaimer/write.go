package reclaimer

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"5spot.finos.org/node-reclaim/agent/node"
	"5spot.finos.org/node-reclaim/agent/watch"
	"5spot.finos.org/node-reclaim/api/reclaim"
)

// unhurried is the pause after a state annotation that was not accepted: nobody waits for it, and a policy may never allow it.
func unhurried() wait.Backoff {
	return wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.25, Steps: math.MaxInt, Cap: time.Minute}
}

// request writes the pending request as soon as there is a Node to write it to.
func (r *Reclaimer) request(ctx context.Context) {
	if r.current.State != Requesting || r.view.Node.UID == "" {
		return
	}
	annotations := r.pending.request.Annotations()
	annotations[reclaim.AnnotationAgentState] = r.stateText(Requested)
	read := r.view.Node
	r.requests.start(ctx, func(ctx context.Context) (node.Node, error) {
		return Store(ctx, r.opts.Node, read, annotations)
	})
}

func (r *Reclaimer) onRequested(o outcome) {
	r.requests.ended(o)
	if o.err != nil {
		r.trouble.report(r.opts.Log, r.opts.Clock.Now(), o.err)
		return
	}
	r.trouble = trouble{}
	r.adopt(o.node)
	r.opts.Log.Info("request stored", "node", o.node.Name, "reason", o.node.Annotations[reclaim.AnnotationReason],
		"requested-at", o.node.Annotations[reclaim.AnnotationRequestedAt])
}

// announce keeps the state annotation true. While requesting, the request brings it along.
func (r *Reclaimer) announce(ctx context.Context) {
	if r.view.Standing != node.Present || r.current.State == Requesting || !r.settled() {
		return
	}
	text := r.stateText(r.current.State)
	there := r.view.Node.Annotations[reclaim.AnnotationAgentState]
	if there == text || r.current.State == Standby && there == "" { // whoever opted this Node out has cleaned up after us
		return
	}
	read := r.view.Node
	r.states.start(ctx, func(ctx context.Context) (node.Node, error) {
		return r.opts.Node.Annotate(ctx, read, map[string]string{reclaim.AnnotationAgentState: text})
	})
}

// onStated: a conflict is the everyday case of a Node that changed, and the watch is about to bring the change.
func (r *Reclaimer) onStated(o outcome) {
	r.states.ended(o)
	switch {
	case o.err == nil:
		r.adopt(o.node)
	case !errors.Is(o.err, node.ErrConflict):
		r.opts.Log.Debug("state annotation not written", "error", o.err)
	}
}

// farewellTimeout: neither systemd nor the owner waits for a cluster that is away.
const farewellTimeout = 75 * time.Millisecond

// farewell says on the Node that nobody watches here any more. Otherwise the last word would be "armed" for ever.
func (r *Reclaimer) farewell(ctx context.Context) {
	if r.view.Standing != node.Present || r.current.State == Standby || r.view.Node.Annotations[reclaim.AnnotationAgentState] == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewellTimeout)
	defer cancel()
	r.rung = watch.Rung{Name: "none", Why: "stopped"}
	_, err := r.opts.Node.Annotate(ctx, r.view.Node, map[string]string{reclaim.AnnotationAgentState: r.stateText(Standby)})
	if err != nil {
		r.opts.Log.Debug("state annotation not written", "error", err)
	}
}

func (r *Reclaimer) stateText(s State) string {
	state := reclaim.AgentState{State: string(s), Rung: r.rungText(), Version: r.opts.Version}
	if r.config.Present {
		state.ConfigHash = r.hash
	}
	text, _ := json.Marshal(state) // four strings always encode
	return string(text)
}

func (r *Reclaimer) rungText() string {
	if r.rung.Why == "" {
		return r.rung.Name
	}
	return r.rung.Name + " (" + r.rung.Why + ")"
}
