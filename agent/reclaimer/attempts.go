package reclaimer

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"

	"5spot.finos.org/node-reclaim/agent/node"
)

// outcome of one attempt to write.
type outcome struct {
	node node.Node
	err  error
}

// attempts is one write that is repeated until it succeeds: never two at a time, and a growing pause after a failure. Only the loop
// calls it; the write itself runs beside the loop, which has a watchdog to feed.
type attempts struct {
	clock   clock.Clock
	fresh   func() wait.Backoff
	backoff wait.Backoff
	running bool
	timer   clock.Timer
	done    chan outcome
}

func newAttempts(c clock.Clock, fresh func() wait.Backoff) *attempts {
	return &attempts{clock: c, fresh: fresh, backoff: fresh(), done: make(chan outcome, 1)}
}

// start begins an attempt unless one is running or the pause is not over.
func (a *attempts) start(ctx context.Context, write func(context.Context) (node.Node, error)) {
	if a.running || a.timer != nil {
		return
	}
	a.running = true
	go func() {
		n, err := write(ctx)
		a.done <- outcome{n, err}
	}()
}

// ended is called with what came out of done.
func (a *attempts) ended(o outcome) {
	a.running = false
	if o.err == nil {
		a.reset()
		return
	}
	a.timer = a.clock.NewTimer(a.backoff.Step())
}

// pause delivers once the pause after a failure is over; call resume then. Nil, which never delivers, without a pause.
func (a *attempts) pause() <-chan time.Time {
	if a.timer == nil {
		return nil
	}
	return a.timer.C()
}

// resume allows the next attempt now.
func (a *attempts) resume() {
	if a.timer != nil {
		a.timer.Stop()
	}
	a.timer = nil
}

// reset is resume with short pauses again, for when there is reason to hope.
func (a *attempts) reset() {
	a.resume()
	a.backoff = a.fresh()
}

// wait returns when no attempt is running.
func (a *attempts) wait() {
	if a.running {
		<-a.done
		a.running = false
	}
}
