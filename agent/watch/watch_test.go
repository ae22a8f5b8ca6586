package watch

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"5spot.finos.org/node-reclaim/agent/connector"
	"5spot.finos.org/node-reclaim/agent/match"
	"5spot.finos.org/node-reclaim/agent/proctest"
)

func TestCasesOfTheRung(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*watched, *Options)
		want   Rung
	}{
		"the connector where it works": {nil, Rung{RungConnector, ""}},
		"Case 22 no ACK":               {func(w *watched, _ *Options) { w.refuse = connector.ErrNoAck }, Rung{RungSweep, "no ACK within 1s"}},
		"sweeping when asked for":      {func(_ *watched, o *Options) { o.Poll = true }, Rung{RungSweep, "asked for"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, tt.change)
			require.Equal(t, tt.want, receive(t, w.Rungs()))
			w.tree.Add(10, java)
			w.Arm(commands("java"))
			require.Equal(t, 10, receive(t, w.Matches()).PID)
		})
	}
}

func TestAnExecIsSeen(t *testing.T) {
	w := start(t, nil)
	feed := w.arm(commands("java"))
	w.tree.Add(10, proctest.Process{Comm: "bash"})
	feed.next <- 10
	feed.next <- 4711 // has ended already
	w.tree.Add(11, java)
	feed.next <- 11
	require.Equal(t, Match{
		PID: 11, StartTime: 4711, Comm: "java", Rule: match.Rule{List: match.ListCommands, Entry: "java"},
		SeenAt: w.clock.Now(), Source: SourceExec,
	}, receive(t, w.Matches()))
	require.EqualValues(t, 3, w.Counters().Execs)
	require.EqualValues(t, 1, w.Counters().Gone)
	w.clock.Step(beat)
	require.Eventually(t, func() bool {
		return strings.Contains(w.log.String(), `had ended before they could be read" gone=1 execs=3`)
	}, 10*time.Second, time.Millisecond)
}

func TestCase30_WhatRunsAlreadyIsFoundByTheFirstSweep(t *testing.T) {
	w := start(t, nil)
	w.tree.Add(10, java) // its children, forked without exec, are called the same and cause no event
	w.Arm(commands("java"))
	m := receive(t, w.Matches())
	require.Equal(t, 10, m.PID)
	require.Equal(t, SourceSweep, m.Source)
}

func TestCase9_ARenamedProgramIsFoundByTheSlowSweep(t *testing.T) {
	w := start(t, nil)
	w.tree.Add(10, proctest.Process{Comm: "sleeper"})
	w.arm(commands("java"))
	w.tree.Add(10, java)
	require.Equal(t, 10, within(w, SlowSweep+time.Second, w.Matches()).PID)
}

func TestTheSweepComesAtTheIntervalOfTheConfiguration(t *testing.T) {
	w := start(t, func(_ *watched, o *Options) { o.Poll = true })
	w.Arm(commands("java"))
	require.Eventually(t, func() bool { return w.Counters().Sweeps > 0 }, 10*time.Second, time.Millisecond)
	w.tree.Add(10, java)
	require.Equal(t, 10, within(w, 300*time.Millisecond, w.Matches()).PID)
}

func TestArmingAnewSweepsAgain(t *testing.T) {
	w := start(t, nil)
	w.tree.Add(10, java)
	for range 3 { // the owner's program still runs, on purpose it counts again
		w.Arm(commands("java"))
		require.Equal(t, 10, receive(t, w.Matches()).PID)
		w.Disarm()
	}
}

func TestAMatchOfAnEarlierArmIsDropped(t *testing.T) {
	w := start(t, nil)
	w.tree.Add(10, java)
	w.Arm(commands("java"))
	require.Eventually(t, func() bool { return len(w.matches) == 1 }, 10*time.Second, time.Millisecond)
	w.Arm(commands("idea"))
	w.tree.Add(11, proctest.Process{Comm: "idea"})
	receive(t, w.feeds).next <- 11
	require.Equal(t, 11, receive(t, w.Matches()).PID)
}

func TestDisarmedThereIsNoFeedAndNoSweep(t *testing.T) {
	w := start(t, nil)
	first := w.arm(commands("java"))
	w.Disarm()
	receive(t, first.closed)
	w.tree.Add(10, java)
	minute := w.beaten() + 60
	require.Eventually(t, func() bool {
		w.clock.Step(beat)
		return w.beaten() > minute
	}, 10*time.Second, time.Millisecond)
	require.EqualValues(t, 1, w.Counters().Sweeps)
	require.Empty(t, w.matches)

	w.Arm(commands("java"))
	require.Equal(t, 10, receive(t, w.Matches()).PID)
	receive(t, w.feeds)
}

func TestLostEventsAreSweptFor(t *testing.T) {
	w := start(t, nil)
	feed := w.arm(commands("java"))
	w.tree.Add(10, java)
	feed.next <- connector.ErrOverflow
	require.Equal(t, SourceSweep, within(w, time.Second, w.Matches()).Source)
	require.EqualValues(t, 1, w.Counters().Overflows)
	require.Contains(t, w.log.String(), "process events were lost")

	w.tree.Add(11, proctest.Process{Comm: "idea"})
	w.Arm(commands("idea"))
	receive(t, w.Matches())
	feed.next <- 11
	require.Equal(t, SourceExec, receive(t, w.Matches()).Source, "the feed goes on")
}

func TestCase29_AFeedThatDiesIsReopened(t *testing.T) {
	w := start(t, nil)
	first := w.arm(commands("java"))
	w.tree.Add(10, java) // the dead feed says nothing of it
	first.next <- connector.ErrNoAck
	receive(t, w.feeds)
	receive(t, first.closed)
	require.Equal(t, SourceSweep, receive(t, w.Matches()).Source)
	require.EqualValues(t, 1, w.Counters().Died)
	require.Empty(t, w.rungs, "the rung has not changed")
}

func TestAFeedThatCannotBeReopenedIsTriedAgain(t *testing.T) {
	w := start(t, nil)
	feed := w.arm(commands("java"))
	w.refuseFeeds(errors.New("no memory"))
	feed.next <- connector.ErrNoAck
	require.Equal(t, Rung{RungSweep, "no memory"}, receive(t, w.Rungs()))
	w.refuseFeeds(nil)
	require.Equal(t, Rung{RungConnector, ""}, within(w, 2*redial, w.Rungs()))
}

func TestAFeedThatKeepsDyingIsLeftAloneForAWhile(t *testing.T) {
	w := start(t, nil)
	w.arm(commands("java")).next <- connector.ErrNoAck
	receive(t, w.feeds).next <- connector.ErrNoAck
	require.Equal(t, Rung{RungSweep, "no ACK within 1s"}, receive(t, w.Rungs()))
	require.Empty(t, w.feeds)
	w.tree.Add(10, java)
	require.Equal(t, 10, within(w, time.Second, w.Matches()).PID, "sweeping in the meantime")
}

func TestCase20_BlindIsNotASweep(t *testing.T) {
	w := start(t, func(w *watched, _ *Options) { w.tree.Remove(1) })
	rung := receive(t, w.Rungs())
	require.Equal(t, RungBlind, rung.Name)
	require.Contains(t, rung.Why, "cannot see other processes, not even PID 1")

	w.Arm(commands("java"))
	w.tree.Add(1, proctest.Process{Comm: "systemd"})
	require.Equal(t, RungConnector, within(w, SlowSweep+time.Second, w.Rungs()).Name)
}

func TestCase19_ABlockedReadAfterAnExec(t *testing.T) {
	w := start(t, nil)
	feed := w.arm(substrings("-jar"))
	w.tree.Add(9, proctest.Process{Comm: "tool"})
	w.tree.Block(9, "cmdline")
	w.tree.Add(10, java)
	feed.next <- 9
	execs := make(chan struct{})
	go func() {
		defer close(execs)
		feed.next <- 9 // said once
		feed.next <- 10
	}()
	require.Equal(t, 10, within(w, 5*time.Second, w.Matches()).PID)
	receive(t, execs)
	require.EqualValues(t, 1, w.Counters().Blocked)
	w.end()
}

func TestTheEndDoesNotWaitForABlockedRead(t *testing.T) {
	w := start(t, nil)
	feed := w.arm(substrings("-jar"))
	w.tree.Add(9, proctest.Process{Comm: "tool"})
	w.tree.Block(9, "cmdline")
	feed.next <- 9
	w.end()
}

func TestTheLoopBeats(t *testing.T) {
	w := start(t, nil)
	require.Eventually(t, func() bool {
		w.clock.Step(beat)
		return w.beaten() > 100
	}, 10*time.Second, time.Millisecond)
}

func TestWithoutAProcThereIsNothingToWatch(t *testing.T) {
	o := New(Options{Root: "/no/such/proc", Clock: clock.RealClock{}})
	require.ErrorContains(t, o.Run(t.Context()), "watching processes: open /no/such/proc")
}

func TestCase4_NamesAreLoggedEscaped(t *testing.T) {
	var log bytes.Buffer
	m := Match{PID: 7, Comm: "\xff\xfe a\nb", Rule: match.Rule{List: match.ListSubstrings, Entry: "blender"}, Source: SourceExec}
	slog.New(slog.NewTextHandler(&log, nil)).Info("match", "process", m)
	require.Contains(t, log.String(), `process.comm="\\xff\\xfe a\\nb"`)
}
