package watch

import (
	"context"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"5spot.finos.org/node-reclaim/agent/connector"
	"5spot.finos.org/node-reclaim/agent/match"
	"5spot.finos.org/node-reclaim/agent/process"
)

// Match is a process that makes the node leave.
type Match struct {
	PID int
	// StartTime, in clock ticks since boot, names the process for good together with PID.
	StartTime uint64
	Comm      string
	Rule      match.Rule
	SeenAt    time.Time
	// Source is SourceExec or SourceSweep.
	Source string
}

// How a process was noticed.
const (
	SourceExec  = "exec"
	SourceSweep = "sweep"
)

// LogValue writes the command name, which may hold any bytes, escaped.
func (m Match) LogValue() slog.Value {
	return slog.GroupValue(
		slog.Int("pid", m.PID), slog.String("comm", strings.Trim(strconv.QuoteToASCII(m.Comm), `"`)),
		slog.String("list", m.Rule.List), slog.String("entry", m.Rule.Entry), slog.String("source", m.Source))
}

// Rung is how processes are noticed at the moment.
type Rung struct {
	// Name is RungConnector, RungSweep or RungBlind.
	Name string
	// Why says, of the latter two, what is in the way.
	Why string
}

// The rungs. On RungBlind no process can be seen at all, and the agent must not be called armed.
const (
	RungConnector = "proc-connector"
	RungSweep     = "sweep"
	RungBlind     = "blind"
)

// Feed is a source of execs, as connector.Conn is one.
type Feed interface {
	// Next gives the id of a process that has called exec. After connector.ErrOverflow it goes on, after any other error not.
	Next() (int, error)
	// Close ends a Next that waits.
	Close() error
}

// Connector opens the kernel's feed.
func Connector(ctx context.Context) (Feed, error) {
	conn, err := connector.Dial(ctx, connector.ReceiveBuffer)
	if err != nil {
		return nil, err
	}
	return conn, nil
}

// Options is what an Observer is made of. All fields but Poll are needed.
type Options struct {
	// Root is where /proc is mounted, and Self the agent's own process id there.
	Root  string
	Self  int
	Clock clock.WithTicker
	Log   *slog.Logger
	// Poll keeps to sweeping.
	Poll bool
	// Dial opens the feed; Connector is the real one.
	Dial func(context.Context) (Feed, error)
	// Beat is called by the loop itself, every two seconds: as long as it is, the loop is alive.
	Beat func()
}

// Observer watches processes while it runs and is armed.
type Observer struct {
	options  Options
	counters counters
	matches  chan Match
	rungs    chan Rung

	mu    sync.Mutex
	aim   *aim
	aimed chan struct{}
}

// aim is one call of Arm. A match found under an earlier one is worth nothing.
type aim struct{ matcher *match.Matcher }

// New makes an Observer, which does nothing before Run.
func New(o Options) *Observer {
	return &Observer{options: o, matches: make(chan Match, 1), rungs: make(chan Rung, 1), aimed: make(chan struct{}, 1)}
}

// Arm makes the Observer look for what m matches, beginning with a sweep over all that runs. It can be called at any time, and never blocks.
func (o *Observer) Arm(m *match.Matcher) { o.aimAt(&aim{matcher: m}) }

// Disarm makes the Observer idle: no sweeps, no reads, no feed.
func (o *Observer) Disarm() { o.aimAt(nil) }

// Matches gives what was found since the last Arm. Until one is read, further ones are dropped.
func (o *Observer) Matches() <-chan Match { return o.matches }

// Rungs gives the rung when it becomes known and whenever it changes. A slow reader gets the latest.
func (o *Observer) Rungs() <-chan Rung { return o.rungs }

func (o *Observer) aimAt(a *aim) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.aim = a
	select {
	case <-o.matches:
	default:
	}
	poke(o.aimed)
}

func (o *Observer) target() *aim {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.aim
}

// emit hands a match on, unless the Observer has been armed anew or disarmed while it was found.
func (o *Observer) emit(a *aim, hit process.Hit, source string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.aim != a {
		return
	}
	select {
	case o.matches <- Match{
		PID: hit.Process.PID, StartTime: hit.Process.StartTime, Comm: hit.Process.Comm, Rule: hit.Rule,
		SeenAt: o.options.Clock.Now(), Source: source,
	}:
	default:
	}
}

// poke sets a flag that a loop waits for.
func poke(flag chan<- struct{}) {
	select {
	case flag <- struct{}{}:
	default:
	}
}
