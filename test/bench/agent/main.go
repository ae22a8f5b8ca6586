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
	flag.Parse()
	switch {
	case *watchOnly:
		watchExecs(ctx)
		return nil
	case *typed:
		return keepNode(ctx, flag.Arg(0), flag.Arg(1))
	}
	ctrl.SetLogger(logr.Discard())
	return run(ctx, *out, *accepted, *scale)
}

// measurements are what the tables are made of, in their order.
func measurements() []measurement {
	return []measurement{execToSeen, execToAnnotated, lostByLifetime, cpuPerExec, sweepCost, idleCost}
}

func run(ctx context.Context, out, accepted string, scale float64) error {
	excuses, err := readExcuses(accepted)
	if err != nil {
		return err
	}
	r := report{machine: describeMachine()}
	for _, measure := range measurements() {
		section, err := measure(ctx, scale)
		if err != nil {
			return fmt.Errorf("measuring %s: %w", section.title, err)
		}
		r.sections = append(r.sections, section)
		fmt.Println(section.markdown())
	}
	if err := os.WriteFile(out, []byte(r.markdown()), 0o600); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return r.missed(excuses)
}
