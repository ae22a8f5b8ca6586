package process

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// Patrol does one step after the other on a goroutine of its own, each reading one process at most. When a read does not come back the
// goroutine is left behind with it, and another goes on with the next step.
type Patrol struct {
	FS    *FS
	Clock clock.WithTicker
	// Every is how often it is looked, while processes are read, whether a read hangs. One that is found still going on twice is given up.
	Every time.Duration
	// Step says whether there is more to do. It returns soon after the context has ended.
	Step func(*Scout) bool
	// Blocked is told of each process that a read does not come back from.
	Blocked func(pid int)
}

// Run returns when a step says that there is no more to do, or the context ends. It does not wait for reads that hang.
func (p Patrol) Run(ctx context.Context) {
	for {
		scout := newScout(p.FS)
		done := p.send(ctx, scout)
		pid := p.supervise(ctx, scout, done)
		if pid == 0 {
			return
		}
		p.Blocked(pid)
	}
}

func (p Patrol) send(ctx context.Context, scout *Scout) <-chan struct{} {
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil && p.Step(scout) && scout.at.Load() != dismissed {
		}
	}()
	return done
}

// supervise waits for a scout's end. It gives the process that the scout hangs in, when it does. There are no ticks while nothing is read:
// on a machine at rest they would be most of what the agent does.
func (p Patrol) supervise(ctx context.Context, scout *Scout, done <-chan struct{}) (pid int) {
	tick := p.Clock.NewTimer(p.Every)
	defer tick.Stop()
	var seen int64
	times := 0
	for {
		select {
		case <-done:
			return 0
		case <-ctx.Done():
			if pidOf(scout.at.Swap(dismissed)) == 0 { // not reading, so the step returns soon
				<-done
			}
			return 0
		case <-scout.stirred:
			tick.Reset(p.Every)
		case <-tick.C():
			at := scout.at.Load()
			switch {
			case at != seen:
				seen, times = at, 0
			case pidOf(at) == 0 && scout.rest(at):
				continue
			case pidOf(at) != 0:
				// Twice, since after the whole agent was stopped the first tick comes at once.
				if times++; times >= 2 && scout.giveUp(at) {
					return pidOf(at)
				}
			}
			tick.Reset(p.Every)
		}
	}
}

// rest has the scout stir the supervisor at its next read, unless it has begun one since it was seen.
func (s *Scout) rest(at int64) bool {
	s.resting.Store(true)
	if s.at.Load() == at {
		return true
	}
	s.resting.Store(false)
	return false
}

// stir is called at the beginning of a read, after at has been set: either rest sees that, or this sees that there is rest.
func (s *Scout) stir() {
	if !s.resting.Load() || !s.resting.CompareAndSwap(true, false) {
		return
	}
	select {
	case s.stirred <- struct{}{}:
	default:
	}
}

// giveUp leaves the scout behind in the read that it was seen in, unless it has come back in the meantime.
func (s *Scout) giveUp(at int64) bool {
	pid := pidOf(at)
	s.fs.setBlocked(pid, true) // first: the scout takes it back when it finds itself dismissed
	if s.at.CompareAndSwap(at, dismissed) {
		return true
	}
	s.fs.setBlocked(pid, false)
	return false
}

// pidOf is the process that a scout reads, by the value of at.
func pidOf(at int64) int { return int(at & 0xffffffff) }

func (fs *FS) isBlocked(pid int) bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return fs.blocked[pid]
}

func (fs *FS) tooManyBlocked() bool {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	return len(fs.blocked) >= maxBlocked
}

func (fs *FS) setBlocked(pid int, blocked bool) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if blocked {
		fs.blocked[pid] = true
	} else {
		delete(fs.blocked, pid)
	}
}
