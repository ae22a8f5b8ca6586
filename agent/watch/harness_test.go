package watch

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clocktesting "k8s.io/utils/clock/testing"

	"5spot.finos.org/node-reclaim/agent/match"
	"5spot.finos.org/node-reclaim/agent/proctest"
	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/test/logbuffer"
)

// fakeFeed is a feed that the test speaks through.
type fakeFeed struct {
	next   chan any // an int is an exec, an error an error
	closed chan struct{}
	once   sync.Once
}

func newFakeFeed() *fakeFeed { return &fakeFeed{next: make(chan any), closed: make(chan struct{})} }

func (f *fakeFeed) Next() (int, error) {
	select {
	case v := <-f.next:
		if err, ok := v.(error); ok {
			return 0, err
		}
		return v.(int), nil
	case <-f.closed:
		return 0, os.ErrClosed
	}
}

func (f *fakeFeed) Close() error {
	f.once.Do(func() { close(f.closed) })
	return nil
}

// watched is a running Observer over a made-up /proc.
type watched struct {
	*Observer
	t     *testing.T
	tree  proctest.Tree
	clock *clocktesting.FakeClock
	log   *logbuffer.Buffer
	// feeds gives each feed that is opened; as long as refuse is set, none is.
	feeds  chan *fakeFeed
	mu     sync.Mutex
	refuse error
	beats  int
	stop   context.CancelFunc
	ended  chan error
}

// start runs an Observer. change may alter it and its options before.
func start(t *testing.T, change func(*watched, *Options)) *watched {
	t.Helper()
	w := &watched{
		t: t, tree: proctest.NewTree(t), clock: clocktesting.NewFakeClock(time.Unix(1e9, 0)), log: &logbuffer.Buffer{},
		feeds: make(chan *fakeFeed, 10), ended: make(chan error, 1),
	}
	o := Options{
		Root: w.tree.Root, Self: os.Getpid(), Clock: w.clock, Log: slog.New(slog.NewTextHandler(w.log, nil)),
		Dial: w.dial, Beat: w.beat,
	}
	if change != nil {
		change(w, &o)
	}
	w.Observer = New(o)
	ctx, cancel := context.WithCancel(context.Background())
	w.stop = cancel
	go func() { w.ended <- w.Run(ctx) }()
	t.Cleanup(w.end)
	return w
}

// end stops the Observer, which must not take long.
func (w *watched) end() {
	w.stop()
	select {
	case err := <-w.ended:
		require.NoError(w.t, err)
		w.ended <- nil
	case <-time.After(5 * time.Second):
		w.t.Fatal("Run does not end")
	}
}

func (w *watched) dial(context.Context) (Feed, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.refuse != nil {
		return nil, w.refuse
	}
	f := newFakeFeed()
	w.feeds <- f
	return f, nil
}

func (w *watched) refuseFeeds(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuse = err
}

func (w *watched) beat() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.beats++
}

func (w *watched) beaten() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.beats
}

func receive[T any](t *testing.T, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(10 * time.Second):
		require.FailNow(t, "nothing came")
		panic("unreachable")
	}
}

// within steps the clock, again and again, until something comes; it must do so within d of the fake clock's time.
func within[T any](w *watched, d time.Duration, from <-chan T) T {
	w.t.Helper()
	deadline := w.clock.Now().Add(d)
	var got T
	require.Eventually(w.t, func() bool {
		select {
		case got = <-from:
			return true
		default:
			if w.clock.Now().Before(deadline) {
				w.clock.Step(d / 50)
			}
			return false
		}
	}, 10*time.Second, 5*time.Millisecond)
	return got
}

// arm waits for the feed, arms, and waits for the end of the first sweep: what comes after that was not found by it.
func (w *watched) arm(m *match.Matcher) *fakeFeed {
	w.t.Helper()
	require.Equal(w.t, RungConnector, receive(w.t, w.Rungs()).Name)
	w.Arm(m)
	require.Eventually(w.t, func() bool { return w.Counters().Sweeps == 1 }, 10*time.Second, time.Millisecond)
	return receive(w.t, w.feeds)
}

func commands(entries ...string) *match.Matcher {
	return match.New(reclaim.Config{MatchCommands: entries, PollIntervalMS: 250})
}

func substrings(entries ...string) *match.Matcher {
	return match.New(reclaim.Config{MatchArgvSubstrings: entries, PollIntervalMS: 250})
}

var java = proctest.Process{Comm: "java", Argv: []string{"java", "-jar"}, StartTime: 4711}
