package watch

import (
	"context"
	"errors"
	"time"

	"5spot.finos.org/node-reclaim/agent/connector"
	"5spot.finos.org/node-reclaim/agent/process"
)

// feed is the loop's hold on the connector.
type feed struct {
	// stop ends the goroutine that opens or reads the feed; nil when there is none.
	stop context.CancelFunc
	// up says that the last attempt to open it succeeded, fault why not, or why it ended.
	up    bool
	fault error
	// died is when the feed last ended by itself, complained when lost events were last logged.
	died, complained time.Time

	opened, ended chan feedResult
	lost          chan struct{}
}

// feedResult is what came of opening a feed, or of reading it. It counts unless ctx has ended: then the loop has let go of that feed.
type feedResult struct {
	ctx  context.Context
	feed Feed
	err  error
}

func newFeed() feed {
	return feed{opened: make(chan feedResult), ended: make(chan feedResult), lost: make(chan struct{}, 1)}
}

// openFeed begins to open the feed, unless that has been done.
func (l *loop) openFeed() {
	if l.options.Poll || l.feed.stop != nil {
		return
	}
	l.nextDial.Stop()
	ctx, cancel := context.WithCancel(l.ctx)
	l.feed.stop = cancel
	l.tasks.Go(func() {
		f, err := l.options.Dial(ctx)
		if err == nil {
			context.AfterFunc(ctx, func() { _ = f.Close() })
		}
		send(l.feed.opened, feedResult{ctx, f, err})
	})
}

// send tells the loop, as long as it cares.
func send(to chan<- feedResult, r feedResult) {
	select {
	case to <- r:
	case <-r.ctx.Done():
	}
}

// feedOpened starts to read the feed. What was started before that is for a sweep to find.
func (l *loop) feedOpened(r feedResult) {
	switch {
	case r.ctx.Err() != nil:
		return
	case r.err != nil:
		l.closeFeed()
		l.feedFailed(r.err)
		return
	}
	l.feed.up = true
	l.tasks.Go(func() { send(l.feed.ended, feedResult{ctx: r.ctx, err: l.read(r.ctx, r.feed)}) })
	l.startSweep()
}

// feedEnded opens a feed that has died anew: at once, unless the one before died only just.
func (l *loop) feedEnded(r feedResult) {
	if r.ctx.Err() != nil {
		return
	}
	l.counters.died.Add(1)
	l.options.Log.Warn("the process event feed has died", "error", r.err)
	l.closeFeed()
	before := l.feed.died
	l.feed.died = l.options.Clock.Now()
	if l.feed.died.Sub(before) < redial {
		l.feedFailed(r.err)
		return
	}
	l.openFeed()
}

// feedFailed falls back to sweeping.
func (l *loop) feedFailed(err error) {
	l.feed.up, l.feed.fault = false, err
	l.nextDial.Reset(redial)
	l.startSweep()
}

func (l *loop) closeFeed() {
	l.nextDial.Stop()
	if l.feed.stop != nil {
		l.feed.stop()
		l.feed.stop = nil
	}
}

// read looks at every process that the feed names, until the feed ends.
func (l *loop) read(ctx context.Context, f Feed) error {
	var failure error
	l.patrol(ctx, func(s *process.Scout) bool {
		pid, err := f.Next()
		switch {
		case errors.Is(err, connector.ErrOverflow):
			l.counters.overflows.Add(1)
			poke(l.feed.lost)
		case err != nil:
			failure = err
			return false
		default:
			l.look(s, pid)
		}
		return true
	})
	return failure
}

// look is what an exec costs.
func (o *Observer) look(s *process.Scout, pid int) {
	o.counters.execs.Add(1)
	a := o.target()
	if a == nil {
		return
	}
	hit, err := s.Look(pid, a.matcher)
	if err != nil {
		o.counters.gone.Add(1)
	}
	if hit != nil {
		o.emit(a, *hit, SourceExec)
	}
}

// eventsLost sweeps for what the lost events may have told.
func (l *loop) eventsLost() {
	now := l.options.Clock.Now()
	if now.Sub(l.feed.complained) >= time.Minute {
		l.feed.complained = now
		l.options.Log.Warn("process events were lost, sweeping", "overflows", l.counters.overflows.Load())
	}
	l.sweepAgain()
}

// patrol runs steps that read processes.
func (l *loop) patrol(ctx context.Context, step func(*process.Scout) bool) {
	process.Patrol{FS: l.fs, Clock: l.options.Clock, Every: hung, Step: step, Blocked: func(pid int) {
		l.counters.blocked.Add(1)
		l.options.Log.Warn("reading a process does not come back; it is passed over until it does", "pid", pid)
	}}.Run(ctx)
}
