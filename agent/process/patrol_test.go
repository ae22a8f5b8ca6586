package process

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	"5spot.finos.org/node-reclaim/agent/match"
	"5spot.finos.org/node-reclaim/agent/proctest"
	"5spot.finos.org/node-reclaim/api/reclaim"
)

// patrolled is the same on a Patrol, with the processes that it had to give up.
func patrolled(t testing.TB, fs *FS, m *match.Matcher) (found, blocked []int) {
	t.Helper()
	w, err := fs.NewSweep(m, func(h Hit) { found = append(found, h.Process.PID) })
	require.NoError(t, err)
	Patrol{
		FS: fs, Clock: clock.RealClock{}, Every: 20 * time.Millisecond, Step: w.Step,
		Blocked: func(pid int) { blocked = append(blocked, pid) },
	}.Run(t.Context())
	return found, blocked
}

func TestCase19_AReadThatBlocks(t *testing.T) {
	tree := proctest.NewTree(t)
	tree.Add(9, proctest.Process{Comm: "tool"})
	tree.Block(9, "cmdline")
	tree.Add(10, proctest.Process{Comm: "java", Argv: []string{"java", "com.example.Main"}})
	fs := open(t, tree.Root)

	found, blocked := patrolled(t, fs, match.New(reclaim.Config{MatchCommands: []string{"java"}, MatchArgvSubstrings: []string{"x"}}))
	require.Equal(t, []int{10}, found)
	require.Empty(t, blocked, "names come before arguments")

	found, blocked = patrolled(t, fs, substrings("no such thing"))
	require.Empty(t, found)
	require.Equal(t, []int{9}, blocked)

	found, blocked = patrolled(t, fs, substrings("com.example.Main"))
	require.Equal(t, []int{10}, found)
	require.Empty(t, blocked, "said once")
}

func TestCase19_TheNameOfAProcessWhoseArgumentsBlockIsEnough(t *testing.T) {
	tree := proctest.NewTree(t)
	tree.Add(9, proctest.Process{Comm: "java"})
	tree.Block(9, "cmdline")
	require.True(t, look(t, open(t, tree.Root), 9, match.New(reclaim.Config{
		MatchCommands: []string{"java"}, MatchArgvSubstrings: []string{"x"},
	})))
}

func TestCase19_ABlockedReadDoesNotHoldUpTheEnd(t *testing.T) {
	tree := proctest.NewTree(t)
	tree.Add(9, proctest.Process{Comm: "tool"})
	tree.Block(9, "cmdline")
	fs := open(t, tree.Root)
	w, err := fs.NewSweep(substrings("x"), func(Hit) {})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		Patrol{FS: fs, Clock: clock.RealClock{}, Every: time.Hour, Step: w.Step, Blocked: func(int) {}}.Run(ctx)
	}()
	cancel()
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Fatal("the patrol waits for the read")
	}
}

func TestAProcessWhoseReadCameBackIsReadAgain(t *testing.T) {
	tree := proctest.NewTree(t)
	tree.Add(9, proctest.Process{Comm: "tool"})
	tree.Block(9, "cmdline")
	fs := open(t, tree.Root)
	_, blocked := patrolled(t, fs, substrings("x"))
	require.Equal(t, []int{9}, blocked)

	w, err := os.OpenFile(filepath.Join(tree.Root, "9", "cmdline"), os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = w.WriteString("x")
	require.NoError(t, err)
	require.NoError(t, w.Close())
	require.Eventually(t, func() bool { return !fs.isBlocked(9) }, 10*time.Second, time.Millisecond)
}

func TestTooManyBlockedReadsLeaveTheNames(t *testing.T) {
	tree := proctest.NewTree(t)
	tree.Add(10, proctest.Process{Comm: "java", Argv: []string{"java"}})
	fs := open(t, tree.Root)
	for pid := range maxBlocked {
		fs.setBlocked(1000+pid, true)
	}
	require.Empty(t, sweep(t, fs, substrings("java")))
	require.Equal(t, []int{10}, sweep(t, fs, commands("java")))
}

// Once nothing is read there is no more to wake up for, and a read that hangs after that is given up all the same.
func TestCase19_AReadThatBlocksAfterALongRest(t *testing.T) {
	tree := proctest.NewTree(t)
	tree.Add(9, proctest.Process{Comm: "tool"})
	tree.Block(9, "cmdline")
	fs := open(t, tree.Root)
	ticks := testclock.NewFakeClock(time.Now())
	var scout atomic.Pointer[Scout]
	next := make(chan int)
	blocked := make(chan int)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go Patrol{
		FS: fs, Clock: ticks, Every: time.Second,
		Step: func(s *Scout) bool {
			scout.Store(s)
			pid, more := <-next
			if more {
				_, _ = s.Look(pid, substrings("x"))
			}
			return more
		},
		Blocked: func(pid int) { blocked <- pid },
	}.Run(ctx)
	next <- 8 // which does not exist
	tick := func() {
		require.Eventually(t, ticks.HasWaiters, 10*time.Second, time.Millisecond)
		ticks.Step(time.Second)
	}
	tick()
	tick()
	require.Eventually(t, func() bool { return !ticks.HasWaiters() && scout.Load().resting.Load() }, 10*time.Second, time.Millisecond)

	next <- 9
	tick()
	tick()
	tick()
	require.Equal(t, 9, <-blocked)
	close(next)
}
