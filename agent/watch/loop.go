package watch

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"5spot.finos.org/node-reclaim/agent/process"
)

const (
	// SlowSweep is the time between two sweeps behind the connector.
	SlowSweep = 20 * time.Second
	// beat is the time between two signs of life, of which the watchdog wants one in ten seconds. Each costs a wake-up.
	beat = 2 * time.Second
	// redial is the least time between two attempts to open the feed.
	redial = 30 * time.Second
	// lossGap is the least time between the end of a sweep and one that is due because events were lost: under a storm of execs
	// they are lost all the time.
	lossGap = 250 * time.Millisecond
	// hung is the period at which reads are checked: they are given up after two to three.
	hung = 200 * time.Millisecond
)

// loop is an Observer that runs. Its fields belong to the goroutine of Run.
type loop struct {
	*Observer
	ctx   context.Context
	fs    *process.FS
	tasks sync.WaitGroup

	feed      feed
	sweep     sweep
	nextSweep clock.Timer
	nextDial  clock.Timer

	blind error
	said  Rung
	// saidGone is how many the log knows of, and when it was last told.
	saidGone   uint64
	saidGoneAt time.Time
}

// Run watches until the context ends, and then returns within 100 ms. It fails only when there is no /proc to watch.
func (o *Observer) Run(ctx context.Context) error {
	fs, err := process.Open(o.options.Root, o.options.Self)
	if err != nil {
		return fmt.Errorf("watching processes: %w", err)
	}
	defer fs.Close()
	ctx, cancel := context.WithCancel(ctx)
	l := &loop{Observer: o, ctx: ctx, fs: fs, feed: newFeed(), sweep: newSweep(), blind: fs.CheckVisible()}
	l.nextSweep, l.nextDial = o.idleTimer(), o.idleTimer()
	defer l.tasks.Wait()
	defer cancel()
	l.openFeed()
	l.run()
	return nil
}

// idleTimer is one that does not run yet.
func (o *Observer) idleTimer() clock.Timer {
	t := o.options.Clock.NewTimer(time.Hour)
	t.Stop()
	return t
}

func (l *loop) run() {
	ticker := l.options.Clock.NewTicker(beat)
	defer ticker.Stop()
	for {
		l.options.Beat()
		l.report()
		l.reportGone()
		select {
		case <-l.ctx.Done():
			return
		case <-ticker.C():
		case <-l.aimed:
			l.retarget()
		case r := <-l.feed.opened:
			l.feedOpened(r)
		case r := <-l.feed.ended:
			l.feedEnded(r)
		case <-l.nextDial.C():
			l.openFeed()
		case <-l.feed.lost:
			l.eventsLost()
		case <-l.nextSweep.C():
			l.startSweep()
		case err := <-l.sweep.ended:
			l.sweepEnded(err)
		}
	}
}

// retarget follows a call of Arm or Disarm.
func (l *loop) retarget() {
	if l.target() == nil {
		l.nextSweep.Stop()
		l.sweep.stop()
		l.closeFeed()
		return
	}
	l.openFeed()
	l.startSweep()
}

// goneGap is the least time between two lines about processes that could not be read.
const goneGap = time.Hour

// reportGone keeps it from being silent that some processes had ended before they could be read: one of them may have been the owner's.
func (l *loop) reportGone() {
	gone, now := l.counters.gone.Load(), l.options.Clock.Now()
	if gone == l.saidGone || now.Sub(l.saidGoneAt) < goneGap {
		return
	}
	l.saidGone, l.saidGoneAt = gone, now
	l.options.Log.Info("some processes had ended before they could be read", "gone", gone, "execs", l.counters.execs.Load())
}

// report tells of a change of rung.
func (l *loop) report() {
	rung := l.rung()
	if rung == l.said || rung.Name == "" {
		return
	}
	l.said = rung
	l.options.Log.Info("watching processes", "rung", rung.Name, "why", rung.Why)
	for {
		select {
		case l.rungs <- rung:
			return
		default:
		}
		select {
		case <-l.rungs: // nobody has read the last one
		default:
		}
	}
}

// rung is empty as long as it is not known.
func (l *loop) rung() Rung {
	switch {
	case l.blind != nil:
		return Rung{RungBlind, l.blind.Error()}
	case l.options.Poll:
		return Rung{RungSweep, "asked for"}
	case l.feed.up:
		return Rung{RungConnector, ""}
	case l.feed.fault != nil:
		return Rung{RungSweep, l.feed.fault.Error()}
	}
	return Rung{}
}
