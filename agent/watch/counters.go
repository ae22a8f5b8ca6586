package watch

import "sync/atomic"

// Counters is what has happened since the start.
type Counters struct {
	// Execs were reported by the feed; Gone are those of them that could not be read: they had ended already.
	Execs, Gone uint64
	// Overflows is how often the feed lost events, Died how often it ended by itself.
	Overflows, Died uint64
	// Sweeps is how many have ended, Blocked how many reads did not come back in time.
	Sweeps, Blocked uint64
}

type counters struct{ execs, gone, overflows, died, sweeps, blocked atomic.Uint64 }

// Counters gives the present values.
func (o *Observer) Counters() Counters {
	c := &o.counters
	return Counters{
		Execs: c.execs.Load(), Gone: c.gone.Load(), Overflows: c.overflows.Load(), Died: c.died.Load(),
		Sweeps: c.sweeps.Load(), Blocked: c.blocked.Load(),
	}
}
