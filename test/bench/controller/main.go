// Command controller measures what the controller costs while nothing happens and how quick it is when something does, each figure beside its
// budget or its peer's from the same run, and writes the tables into docs/benchmarks/controller.md. It fails when a budget is missed, unless
// that is listed in accepted.tsv with its reason. It needs a machine that does nothing else.
//
// The controller is the real one, in a process of its own, and all API servers with their etcd are real. One workstation's leaving is measured
// on the clusters of package lab. For the thousand machines of the rest ten child control planes and Cluster API would leave nothing of a small
// machine: the ten child clusters are one, seen through ten proxies that show each the Nodes that belong to it, and Cluster API and the
// kubelets are played by this program.
//
// On a machine that is too busy the controller cannot renew its Lease in time, ends, and this program with it. A rehearsal gets through there with
// FIVESPOT_LEADER_ELECT=false in its environment, which the controller inherits.
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
	"k8s.io/klog/v2"
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

func command(parent context.Context) (err error) {
	ctx, lost := context.WithCancelCause(parent)
	defer lost(nil)
	out := flag.String("out", "docs/benchmarks/controller.md", "file to write")
	accepted := flag.String("accepted", "test/bench/controller/accepted.tsv", "budgets that may be missed, with the reason")
	scale := flag.Float64("scale", 1, "how much to measure, and on how many machines; below 1 is a rehearsal")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard()) // requests that are given up when a section ends
	f := &fleet{perCluster: report.Scaled(perCluster, *scale), lost: lost}
	defer func() { err = errors.Join(err, context.Cause(ctx), f.stop()) }()
	return report.Report{
		Title: "What the controller costs, and how quick it is", Target: "bench-controller",
		Measurements: []report.Measurement{
			func(ctx context.Context, scale float64) (report.Section, error) { return departure(ctx, scale, lost) }, f.atRest, f.storm, f.strike,
		},
	}.Write(ctx, *out, *accepted, *scale)
}
