// Command controller measures what the controller costs while nothing happens and how quick it is when something does, each figure beside its
// budget or its peer's from the same run, and writes the tables into docs/benchmarks/controller.md. It fails when a budget is missed, unless
// that is listed in accepted.tsv with its reason. It needs a machine that does nothing else.
//
// The controller is the real one, in a process of its own, and both API servers with their etcd are real. Ten child control planes would leave
// nothing of a small machine: the ten child clusters are one, seen through ten proxies that show each the Nodes that belong to it. Cluster
// API and the kubelets are played by this program.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"5spot.finos.org/node-reclaim/test/bench/report"
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

func command(ctx context.Context) (err error) {
	out := flag.String("out", "docs/benchmarks/controller.md", "file to write")
	accepted := flag.String("accepted", "test/bench/controller/accepted.tsv", "budgets that may be missed, with the reason")
	scale := flag.Float64("scale", 1, "how much to measure, and on how many machines; below 1 is a rehearsal")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	f, err := newFleet(ctx, report.Scaled(perCluster, *scale))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.stop()) }()
	return report.Report{
		Title: "What the controller costs, and how quick it is", Target: "bench-controller",
		Measurements: []report.Measurement{f.atRest, f.storm, f.strike},
	}.Write(ctx, *out, *accepted, *scale)
}
