// Command agent measures what noticing a process costs and how long it takes, each figure beside its peer's from the same run, and writes
// the tables into docs/benchmarks/agent.md. It fails when a budget is missed, unless that is listed in accepted.tsv with its reason. It
// needs root, forkstat, extrace and pgrep, and a machine that does nothing else.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"5spot.finos.org/node-reclaim/test/bench/report"
	"5spot.finos.org/node-reclaim/test/execs"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func command(ctx context.Context) error {
	out := flag.String("out", "docs/benchmarks/agent.md", "file to write")
	accepted := flag.String("accepted", "test/bench/agent/accepted.tsv", "budgets that may be missed, with the reason")
	scale := flag.Float64("scale", 1, "how much to measure; below 1 is a rehearsal")
	watchOnly := flag.Bool(asAgent, false, "be the agent that is measured")
	typed := flag.Bool(asTyped, false, "be the peer at rest; the arguments are a kubeconfig and a Node")
	starter := flag.Int(asStarter, 0, "start so many processes, one after the other; the arguments are the program and its arguments")
	pacer := flag.Int(asPacer, 0, "start so many processes evenly")
	flag.Parse()
	switch {
	case *starter > 0:
		return beStarter(ctx, *starter, flag.Args())
	case *pacer > 0:
		_, err := execs.Pace(ctx, execsPerSecond, *pacer, flag.Args())
		return err
	case *watchOnly:
		watchExecs(ctx)
		return nil
	case *typed:
		return keepNode(ctx, flag.Arg(0), flag.Arg(1))
	}
	ctrl.SetLogger(logr.Discard())
	return report.Report{
		Title: "What the agent costs, and how quick it is", Target: "bench-agent",
		Measurements: []report.Measurement{execToSeen, execToAnnotated, lostByLifetime, cpuPerExec, sweepCost, idleCost},
	}.Write(ctx, *out, *accepted, *scale)
}
