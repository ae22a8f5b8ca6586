package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"5spot.finos.org/node-reclaim/agent/connector"
	"5spot.finos.org/node-reclaim/test/bench/report"
	"5spot.finos.org/node-reclaim/test/execs"
)

const (
	execsPerSecond = 1000
	execBudget     = 45 * time.Microsecond
)

func cpuPerExec(ctx context.Context, scale float64) (report.Section, error) {
	s := report.Section{
		Title:   "Processor time per exec",
		How:     fmt.Sprintf("At %d execs a second of processes that live for %s, one watcher after the other.", execsPerSecond, execs.Life),
		Columns: []string{"per exec", "execs", "rate reached"},
	}
	self, err := os.Executable()
	if err != nil {
		return s, err
	}
	dir, err := os.MkdirTemp("", "bench-agent-")
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(dir)
	brief, err := execs.Program(dir)
	if err != nil {
		return s, err
	}
	for _, w := range []struct {
		what    string
		command []string
	}{
		{"agent, both lists", []string{self, "-" + asAgent}},
		{"forkstat -e exec", []string{"forkstat", "-e", "exec"}},
		{"extrace", []string{"extrace"}},
	} {
		r, per, err := watcherCost(ctx, w.command, brief, report.Scaled(10*execsPerSecond, scale))
		if err != nil {
			return s, fmt.Errorf("%s: %w", w.what, err)
		}
		r.What = w.what
		if len(s.Rows) == 0 {
			r.Budget, r.Missed = report.US(execBudget), per > execBudget
		}
		s.Rows = append(s.Rows, r)
	}
	return s, nil
}

// watcherCost runs a watcher while n processes are started, and divides its processor time by all the execs of the machine.
func watcherCost(ctx context.Context, command, brief []string, n int) (report.Row, time.Duration, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	if err := cmd.Start(); err != nil {
		return report.Row{}, 0, err
	}
	defer func() { cancel(); _ = cmd.Wait() }()
	if err := awaitListening(ctx, cmd.Process.Pid); err != nil {
		return report.Row{}, 0, err
	}
	counter, stop, err := countExecs(ctx)
	if err != nil {
		return report.Row{}, 0, err
	}
	defer stop()

	cpu, began, before := report.ProcessorTime(cmd.Process.Pid), time.Now(), counter.Load()
	if err := startFrom(ctx, asPacer, n, brief); err != nil {
		return report.Row{}, 0, err
	}
	took := time.Since(began)
	<-time.After(time.Second) // what is still in the watcher's queue is its cost, too
	counted := counter.Load() - before
	per := (report.ProcessorTime(cmd.Process.Pid) - cpu) / time.Duration(max(1, counted))
	return report.Row{Cells: []string{report.US(per), strconv.FormatInt(counted, 10), fmt.Sprintf("%.0f/s", float64(n)/took.Seconds())}}, per, nil
}

// awaitListening waits until a process has a socket in the connector's group: a line of /proc/net/netlink with protocol 11 and its id.
func awaitListening(ctx context.Context, pid int) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for {
		sockets, err := os.ReadFile("/proc/net/netlink")
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(sockets)) {
			if f := strings.Fields(line); len(f) > 3 && f[1] == "11" && f[2] == strconv.Itoa(pid) {
				return nil
			}
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("process %d does not listen for process events: %w", pid, ctx.Err())
		}
	}
}

// countExecs counts all execs of the machine.
func countExecs(ctx context.Context) (*atomic.Int64, func(), error) {
	feed, err := connector.Dial(ctx, connector.ReceiveBuffer)
	if err != nil {
		return nil, nil, err
	}
	var n atomic.Int64
	var reader sync.WaitGroup
	reader.Go(func() {
		for {
			if _, err := feed.Next(); err != nil {
				return
			}
			n.Add(1)
		}
	})
	return &n, func() { _ = feed.Close(); reader.Wait() }, nil
}
