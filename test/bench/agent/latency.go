package main

import (
	"context"
	"fmt"
	"os/exec"
	"time"

	"5spot.finos.org/node-reclaim/agent/watch"
	"5spot.finos.org/node-reclaim/test/bench/report"
)

func execToSeen(ctx context.Context, scale float64) (report.Section, error) {
	s := report.Section{
		Title:   "From exec to seen",
		How:     "From the call that starts a process, fork included, to the match.",
		Columns: []string{"p50", "p99", "max", "n"},
	}
	for _, rung := range []struct {
		what string
		poll bool
		n    int
	}{{"proc connector", false, 1000}, {"sweep every 250 ms", true, 100}} {
		latencies, err := latencies(ctx, rung.poll, report.Scaled(rung.n, scale))
		if err != nil {
			return s, err
		}
		r := report.LatencyRow(rung.what, latencies)
		if !rung.poll { // the budget is for exec to annotated: seeing must leave room in it
			r.Budget, r.Missed = budgetOfAnnotated, overBudget(latencies)
		}
		s.Rows = append(s.Rows, r)
	}
	return s, nil
}

func latencies(ctx context.Context, poll bool, n int) ([]time.Duration, error) {
	program, remove, err := copySleep(needle)
	if err != nil {
		return nil, err
	}
	defer remove()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	o := observe(ctx, poll)
	select {
	case <-o.Rungs():
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	var all []time.Duration
	for range n {
		d, err := latency(ctx, o, program)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

func latency(ctx context.Context, o *watch.Observer, program string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	select {
	case <-o.Matches(): // one process can be seen twice, and while that lies there no other match is kept
	default:
	}
	cmd := exec.CommandContext(ctx, program, "60")
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	for {
		select {
		case m := <-o.Matches():
			if m.PID == cmd.Process.Pid {
				return m.SeenAt.Sub(began), nil
			}
		case <-ctx.Done():
			return 0, fmt.Errorf("process %d was not seen", cmd.Process.Pid)
		}
	}
}
