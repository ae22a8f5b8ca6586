package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
	"k8s.io/utils/clock"

	"5spot.finos.org/node-reclaim/agent/process"
	"5spot.finos.org/node-reclaim/test/bench/report"
)

const (
	sweepBudget = 10 * time.Millisecond
	// sweepRounds is how many sweeps one figure is the mean of.
	sweepRounds = 20
)

func sweepCost(ctx context.Context, scale float64) (report.Section, error) {
	s := report.Section{
		Title:   "Processor time of a sweep",
		How:     "Both lists, nothing matches; mean of " + strconv.Itoa(sweepRounds) + ".",
		Columns: []string{"agent", "procfs used plainly", "two pgreps"},
	}
	for _, n := range []int{300, 1000, 5000} {
		costs, err := sweepCosts(ctx, report.Scaled(n, scale))
		if err != nil {
			return s, err
		}
		r := report.Row{What: strconv.Itoa(report.Scaled(n, scale)) + " processes"}
		for _, c := range costs {
			r.Cells = append(r.Cells, report.MS(c))
		}
		if n == 1000 {
			r.Budget, r.Missed = report.MS(sweepBudget), costs[0] > sweepBudget
		}
		s.Rows = append(s.Rows, r)
	}
	return s, nil
}

// sweepCosts measures each way of sweeping on a machine with n processes.
func sweepCosts(ctx context.Context, n int) ([]time.Duration, error) {
	stop, err := fill(ctx, n)
	if err != nil {
		return nil, err
	}
	defer stop()
	fs, err := process.Open("/proc", os.Getpid())
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	var costs []time.Duration
	for _, sweep := range []func(context.Context) error{
		func(ctx context.Context) error { return agentSweep(ctx, fs) }, procfsSweep, pgrepSweep,
	} {
		before := usage()
		for range sweepRounds {
			if err := sweep(ctx); err != nil {
				return nil, err
			}
		}
		costs = append(costs, (usage()-before)/sweepRounds)
	}
	return costs, nil
}

// fill starts sleepers until there are n processes.
func fill(ctx context.Context, n int) (stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	var sleepers []*exec.Cmd
	stop = func() {
		cancel()
		for _, cmd := range sleepers {
			_ = cmd.Wait()
		}
	}
	all, err := procfs.AllProcs()
	for i := len(all); i < n && err == nil; i++ {
		cmd := exec.CommandContext(ctx, "/bin/sleep", "3600", "0", "0", "0") // arguments of an ordinary number
		if err = cmd.Start(); err == nil {
			sleepers = append(sleepers, cmd)
		}
	}
	if err != nil {
		stop()
	}
	return stop, err
}

func agentSweep(ctx context.Context, fs *process.FS) error {
	sweep, err := fs.NewSweep(bothLists(), func(process.Hit) {})
	if err != nil {
		return err
	}
	process.Patrol{FS: fs, Clock: clock.RealClock{}, Every: time.Second, Blocked: func(int) {}, Step: sweep.Step}.Run(ctx)
	return nil
}

// procfsSweep is what one writes first.
func procfsSweep(context.Context) error {
	config := bothLists().Config()
	all, err := procfs.AllProcs()
	if err != nil {
		return err
	}
	for _, p := range all {
		comm, err := p.Comm()
		if err != nil {
			continue
		}
		args, err := p.CmdLine()
		if err != nil {
			continue
		}
		for _, c := range config.MatchCommands {
			if comm == c {
				return fmt.Errorf("%s runs", c)
			}
		}
		for _, s := range config.MatchArgvSubstrings {
			if strings.Contains(strings.Join(args, " "), s) {
				return fmt.Errorf("%s runs", s)
			}
		}
	}
	return nil
}

// pgrepSweep asks as the shell tool does: once for names, once for arguments.
func pgrepSweep(ctx context.Context) error {
	config := bothLists().Config()
	for _, ask := range [][]string{
		{"-x", "--", strings.Join(shown(config.MatchCommands), "|")},
		{"-f", "--", strings.Join(config.MatchArgvSubstrings, "|")},
	} {
		out, _ := exec.CommandContext(ctx, "pgrep", ask...).Output() // 1 says that nothing matches
		if len(bytes.TrimSpace(out)) > 0 {
			return fmt.Errorf("pgrep found %s", out)
		}
	}
	return nil
}

// shown are names as the kernel keeps them.
func shown(names []string) []string {
	var cut []string
	for _, n := range names {
		cut = append(cut, n[:min(15, len(n))])
	}
	return cut
}

// usage is the processor time of this process and of its children that have ended.
func usage() time.Duration {
	var total time.Duration
	for _, who := range []int{unix.RUSAGE_SELF, unix.RUSAGE_CHILDREN} {
		var u unix.Rusage
		_ = unix.Getrusage(who, &u)
		total += time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	return total
}
