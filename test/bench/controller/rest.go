package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"5spot.finos.org/node-reclaim/test/bench/report"
	"5spot.finos.org/node-reclaim/test/workstation"
)

const (
	restShare = 0.02
	restRSS   = 150 << 10 // KiB
	// settle is how long the controller gets to finish what the fleet's making began.
	settle = 30 * time.Second
)

// atRest makes the fleet, and measures it while nothing happens to it but heartbeats.
func (f *fleet) atRest(ctx context.Context, scale float64) (report.Section, error) {
	if err := f.start(ctx); err != nil {
		return report.Section{Title: "At rest"}, err
	}
	s := report.Section{
		Title: "At rest",
		How: fmt.Sprintf("%d ScheduledMachines with their Machines and Nodes in %d child clusters, all in schedule, after the controller has made them. "+
			"The child clusters are one real control plane behind %d proxies that each show their own Nodes; every kubelet's lease is renewed every 10 s.",
			len(f.machines), clusters, clusters),
		Columns: []string{"of one processor", "RSS", "watched for"},
	}
	for i, habit := range []struct {
		what string
		nth  int
	}{
		{"controller at rest; kubelets report every 5 min, as they do while nothing changes", 30},
		{"controller at rest; kubelets report every 10 s", 1},
	} {
		row, missed, err := f.restRow(ctx, kubelets{f, habit.nth}, time.Duration(float64(2*time.Minute)*scale))
		if err != nil {
			return s, err
		}
		row.What = habit.what
		if i == 0 {
			row.Budget, row.Missed = "< 2 %, ≤ 150 MiB", missed
		}
		s.Rows = append(s.Rows, row)
	}
	return s, nil
}

func (f *fleet) restRow(ctx context.Context, k kubelets, watched time.Duration) (_ report.Row, missed bool, err error) {
	stop := k.run(ctx)
	defer func() { err = errors.Join(err, stop()) }()
	if err := report.Wait(ctx, min(settle, watched)); err != nil {
		return report.Row{}, false, err
	}
	before, began := report.ProcessorTime(f.controller.pid()), time.Now()
	if err := report.Wait(ctx, watched); err != nil {
		return report.Row{}, false, err
	}
	share := float64(report.ProcessorTime(f.controller.pid())-before) / float64(time.Since(began))
	rss, err := workstation.RSS(f.controller.pid())
	return report.Row{Cells: []string{
		fmt.Sprintf("%.2f %%", 100*share), fmt.Sprintf("%.1f MiB", float64(rss)/1024), watched.String(),
	}}, share >= restShare || rss > restRSS, err
}
