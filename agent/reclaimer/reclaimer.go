// Package reclaimer is what the agent decides: it stands between the configuration, the processes that were seen, and the own Node, and
// turns the first match into a request on that Node. It must not know how any of the three is come by; each is handed in.
package reclaimer

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/utils/clock"

	"5spot.finos.org/node-reclaim/agent/config"
	"5spot.finos.org/node-reclaim/agent/match"
	"5spot.finos.org/node-reclaim/agent/node"
	"5spot.finos.org/node-reclaim/agent/watch"
	"5spot.finos.org/node-reclaim/api/reclaim"
)

// Observer watches processes.
type Observer interface {
	// Arm starts with a full sweep, and again with each call. It never blocks.
	Arm(m *match.Matcher)
	Disarm()
	Matches() <-chan watch.Match
	Rungs() <-chan watch.Rung
}

// Config delivers the configuration in force.
type Config interface{ Updates() <-chan config.Snapshot }

// Node is the link to the own Node.
type Node interface {
	API
	Views() <-chan node.View
}

// Notifier is the service manager.
type Notifier interface {
	// Ready says that the start is over. Once.
	Ready()
	// Status is one line for people.
	Status(line string)
	// Alive feeds the watchdog.
	Alive()
}

// Options of a Reclaimer. All are needed.
type Options struct {
	Observer Observer
	// Beats come from the observer's own loop while it turns, at least one in two seconds.
	Beats    <-chan struct{}
	Config   Config
	Node     Node
	Notifier Notifier
	Clock    clock.Clock
	Log      *slog.Logger
	Version  string
	// Installed says whether the installer put this agent here: only then does a missing label mean that it is not wanted.
	Installed func() bool
}

// Reclaimer is the agent's one loop. Nothing in it is shared.
type Reclaimer struct {
	opts Options

	config  config.Snapshot
	hash    string // of the configuration
	rung    watch.Rung
	view    node.View
	pending *pending

	// known: the configuration, whatever it is, has been read.
	known   bool
	ready   bool
	current verdict
	// armedWith and armedAt: the configuration the observer matches with, and since when.
	armedWith string
	armedAt   time.Time
	status    string

	requests *attempts
	states   *attempts
	trouble  trouble
}

// New makes a Reclaimer; Run brings it to life.
func New(o Options) *Reclaimer {
	return &Reclaimer{
		opts:     o,
		requests: newAttempts(o.Clock, node.Backoff),
		states:   newAttempts(o.Clock, unhurried),
	}
}

// Run decides until ctx ends. It never ends by itself: a request that was made is not the end of the agent.
func (r *Reclaimer) Run(ctx context.Context) {
	for r.next(ctx) {
		r.settle(ctx)
	}
	r.requests.wait()
	r.states.wait()
	r.farewell(ctx)
}

// next takes one thing that happened. It reports false when it was the end of ctx.
func (r *Reclaimer) next(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case c := <-r.opts.Config.Updates():
		r.config, r.hash, r.known = c, c.Config.Hash(), true
	case v := <-r.opts.Node.Views():
		r.onView(v)
	case m := <-r.opts.Observer.Matches():
		r.onMatch(m)
	case g := <-r.opts.Observer.Rungs():
		r.rung = g
	case <-r.opts.Beats:
		// Fed only from here, the watchdog vouches for both loops: the observer's that beat, and this one.
		r.opts.Notifier.Alive()
	case o := <-r.requests.done:
		r.onRequested(o)
	case o := <-r.states.done:
		r.onStated(o)
	case <-r.requests.pause():
		r.requests.resume()
	case <-r.states.pause():
		r.states.resume()
	}
	return true
}

// settle draws the consequences. It runs after everything that happens, and changes nothing when nothing follows.
func (r *Reclaimer) settle(ctx context.Context) {
	if !r.known {
		return
	}
	r.settlePending()
	r.enter(decide(r.facts()))
	r.request(ctx)
	r.announce(ctx)
	r.notify()
}

func (r *Reclaimer) facts() facts {
	return facts{
		config:   r.config,
		view:     r.view,
		optedOut: r.optedOut(),
		pending:  r.pending != nil,
		rung:     r.rung,
		now:      r.opts.Clock.Now(),
	}
}

// optedOut: without the installer nobody promised that the label is there.
func (r *Reclaimer) optedOut() bool {
	return r.view.Node.UID != "" && r.view.Node.Labels[reclaim.LabelAgent] != reclaim.LabelAgentEnabled && r.opts.Installed()
}

// enter arms or disarms the observer on the way into a state.
func (r *Reclaimer) enter(next verdict) {
	if next != r.current {
		r.opts.Log.Info("state", "state", next.State, "why", next.Why, "was", r.current.State)
	}
	r.current = next
	switch {
	case !next.Watch && r.armedWith != "":
		r.armedWith = ""
		r.opts.Observer.Disarm()
	case next.Watch && r.armedWith != r.hash:
		r.armedWith, r.armedAt = r.hash, r.opts.Clock.Now()
		r.opts.Observer.Arm(match.New(r.config.Config))
	}
}

// onMatch makes the request. What was seen before the observer was armed this time belongs to a request that is over.
func (r *Reclaimer) onMatch(m watch.Match) {
	if !r.current.Watch || m.SeenAt.Before(r.armedAt) {
		return
	}
	r.opts.Log.Info("a process matches", "match", m)
	r.pending = &pending{request: reclaim.Request{Reason: reclaim.ProcessMatch(m.Rule.Entry), At: m.SeenAt}}
	r.requests.reset()
}

// onView takes what the watch said, unless a write of our own has already told us better.
func (r *Reclaimer) onView(v node.View) {
	if v.Standing != r.view.Standing {
		r.reportStanding(v)
		r.requests.reset()
	}
	if v.Node.Older(r.view.Node) {
		v.Node = r.view.Node
	}
	r.view = v
}

func (r *Reclaimer) reportStanding(v node.View) {
	switch v.Standing {
	case node.Away:
		r.opts.Log.Warn("API server does not answer", "error", v.Detail)
	case node.Present:
		r.opts.Log.Info("Node found", "node", v.Node.Name, "uid", v.Node.UID)
	}
}

// adopt takes the Node as a write of our own left it: the watch will say the same in a moment.
func (r *Reclaimer) adopt(n node.Node) {
	if r.view.Node.UID == n.UID && !n.Older(r.view.Node) {
		r.view.Node = n
	}
}
