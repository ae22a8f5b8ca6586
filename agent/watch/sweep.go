package watch

import (
	"context"
	"time"

	"5spot.finos.org/node-reclaim/agent/process"
)

// sweep is the loop's hold on the sweep in progress.
type sweep struct {
	// cancel ends it; nil when there is none.
	cancel context.CancelFunc
	// restart and again ask for another one after it: at once, or soon.
	restart, again bool
	ended          chan error
	endedAt        time.Time
}

// newSweep: the channel has room for one, so that a sweep can end after its loop.
func newSweep() sweep { return sweep{ended: make(chan error, 1)} }

func (s *sweep) stop() {
	if s.cancel != nil {
		s.cancel()
	}
	s.restart, s.again = false, false
}

// startSweep sweeps from the beginning, now. One that runs is of no more use: it may have passed what is looked for.
func (l *loop) startSweep() {
	a := l.target()
	if a == nil {
		return
	}
	if l.sweep.cancel != nil {
		l.sweep.cancel()
		l.sweep.restart = true
		return
	}
	l.nextSweep.Stop()
	ctx, cancel := context.WithCancel(l.ctx)
	l.sweep.cancel = cancel
	l.tasks.Go(func() { l.sweep.ended <- l.sweepOnce(ctx, a) })
}

// sweepAgain sweeps soon, and lets one that runs come to its end first.
func (l *loop) sweepAgain() {
	if l.sweep.cancel != nil {
		l.sweep.again = true
		return
	}
	l.nextSweep.Reset(max(0, lossGap-l.options.Clock.Since(l.sweep.endedAt)))
}

func (l *loop) sweepOnce(ctx context.Context, a *aim) error {
	w, err := l.fs.NewSweep(a.matcher, func(h process.Hit) { l.emit(a, h, SourceSweep) })
	if err != nil {
		return err
	}
	l.patrol(ctx, w.Step)
	return nil
}

// sweepEnded plans the next sweep. The interval counts from the end, so that sweeps that take long don't follow one another closely.
func (l *loop) sweepEnded(err error) {
	l.blind = err
	l.counters.sweeps.Add(1)
	l.sweep.cancel()
	restart, again := l.sweep.restart, l.sweep.again
	l.sweep.cancel, l.sweep.restart, l.sweep.again = nil, false, false
	l.sweep.endedAt = l.options.Clock.Now()
	a := l.target()
	switch {
	case a == nil:
	case restart:
		l.startSweep()
	case again:
		l.sweepAgain()
	case l.feed.up:
		l.nextSweep.Reset(SlowSweep)
	default:
		l.nextSweep.Reset(a.matcher.Config().PollInterval())
	}
}
