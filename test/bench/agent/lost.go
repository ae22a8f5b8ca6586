package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"5spot.finos.org/node-reclaim/agent/connector"
	"5spot.finos.org/node-reclaim/agent/process"
	"5spot.finos.org/node-reclaim/test/bench/report"
)

// lostByLifetime counts matching processes that were gone before they could be read. The Observer itself drops all matches but the first, so
// its parts are used here.
func lostByLifetime(ctx context.Context, scale float64) (report.Section, error) {
	s := report.Section{
		Title: "Lost, by lifetime",
		How: "Matching processes that were reported by the kernel or should have been, and not recognised. The lifetime is what sleep is told; starting and ending add to it. " +
			fmt.Sprintf("%d at a time, on a machine that is otherwise idle.", starterLanes),
		Columns: []string{"lost", "of", "share"},
	}
	for _, l := range []struct {
		seconds string
		n       int
	}{{"0", 5000}, {"0.001", 5000}, {"0.002", 5000}, {"0.005", 100_000}} {
		n := report.Scaled(l.n, scale)
		lost, err := countLost(ctx, l.seconds, n)
		if err != nil {
			return s, err
		}
		r := report.Row{What: "sleep " + l.seconds, Cells: []string{fmt.Sprint(lost), fmt.Sprint(n), fmt.Sprintf("%.3f %%", 100*float64(lost)/float64(n))}}
		if l.seconds == "0.005" {
			r.Budget, r.Missed = "0", lost > 0
		}
		s.Rows = append(s.Rows, r)
	}
	return s, nil
}

func countLost(ctx context.Context, seconds string, n int) (int, error) {
	program, remove, err := copySleep(needle)
	if err != nil {
		return 0, err
	}
	defer remove()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	feed, err := connector.Dial(ctx, connector.ReceiveBuffer)
	if err != nil {
		return 0, err
	}
	context.AfterFunc(ctx, func() { _ = feed.Close() })
	fs, err := process.Open("/proc", os.Getpid())
	if err != nil {
		return 0, err
	}
	seen := &hits{}
	var reader sync.WaitGroup
	reader.Go(func() { seen.read(ctx, fs, feed) })
	defer reader.Wait()
	defer cancel()
	if err := startFrom(ctx, asStarter, n, []string{program, seconds}); err != nil {
		return 0, err
	}
	found, err := seen.upTo(ctx, program)
	return n - found, err
}

// hits counts recognised processes.
type hits struct {
	mu      sync.Mutex
	n, last int
}

func (h *hits) read(ctx context.Context, fs *process.FS, feed *connector.Conn) {
	m := bothLists()
	process.Patrol{FS: fs, Clock: clock.RealClock{}, Every: time.Second, Blocked: func(int) {}, Step: func(s *process.Scout) bool {
		pid, err := feed.Next()
		if err != nil {
			return errors.Is(err, connector.ErrOverflow)
		}
		if hit, _ := s.Look(pid, m); hit != nil {
			h.mu.Lock()
			h.n, h.last = h.n+1, pid
			h.mu.Unlock()
		}
		return true
	}}.Run(ctx)
}

func (h *hits) now() (n, last int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.n, h.last
}

// upTo gives the count once the feed has been read to the end: once a process started now has been recognised, which does not count.
func (h *hits) upTo(ctx context.Context, program string) (int, error) {
	cmd := exec.CommandContext(ctx, program, "60")
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	for ctx.Err() == nil {
		if n, last := h.now(); last == cmd.Process.Pid {
			return n - 1, nil
		}
		<-time.After(time.Millisecond)
	}
	return 0, ctx.Err()
}
