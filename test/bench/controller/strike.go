package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/test/bench/report"
)

const (
	strikes   = 50
	strikeP50 = 250 * time.Millisecond
	strikeP99 = 500 * time.Millisecond
	// strikeCluster is a child cluster of its own, reached without a proxy.
	strikeCluster = "strike"
)

// strike measures how quick one full Node is emptied and deleted.
func (f *fleet) strike(ctx context.Context, scale float64) (report.Section, error) {
	s := report.Section{
		Title: "A full Node",
		How: fmt.Sprintf("%d pods on the Node. The controller: from the answer to the annotating PATCH until watches have brought the last pod's deletion "+
			"timestamp and that the Node is gone. Beside it, on Nodes and pods of the same kind: one list and %d DELETEs at once by nobody but a loop, "+
			"and kubectl from its start to its end, which does not delete the Node.", podsPerNode, parallelDeletes),
		Columns: []string{"p50", "p99", "max", "n"},
	}
	ours, err := f.strikeAll(ctx, report.Scaled(strikes, scale))
	if err != nil {
		return s, err
	}
	bare, err := f.repeat(ctx, "bare", report.Scaled(strikes, scale), f.bareDeletes)
	if err != nil {
		return s, err
	}
	kubectl, err := f.repeat(ctx, "drain", 1, f.drain)
	if err != nil {
		return s, err
	}
	row := report.LatencyRow("controller, a full Node", ours)
	row.Budget = fmt.Sprintf("p50 ≤ %s, p99 ≤ %s", strikeP50, strikeP99)
	row.Missed = report.Quantile(ours, 0.5) > strikeP50 || report.Quantile(ours, 0.99) > strikeP99
	s.Rows = []report.Row{row, report.LatencyRow("bare parallel deletes", bare),
		report.LatencyRow("`kubectl drain --disable-eviction --force --grace-period=0`", kubectl)}
	s.Plot = report.Percentiles{{Name: "controller", All: ours}, {Name: "bare parallel deletes", All: bare}}.Markdown()
	return s, nil
}

// strikeAll lends n machines, fills them, and takes one after the other back.
func (f *fleet) strikeAll(ctx context.Context, n int) ([]time.Duration, error) {
	if err := f.addCluster(ctx, strikeCluster, f.child.Kubeconfig); err != nil {
		return nil, err
	}
	var machines []lent
	for i := range n {
		machines = append(machines, lent{strikeCluster, fmt.Sprintf("strike-%d", i)})
	}
	if err := f.lend(ctx, machines); err != nil {
		return nil, err
	}
	var all []time.Duration
	for _, l := range machines {
		took, err := f.strikeOne(ctx, l)
		if err != nil {
			return nil, err
		}
		all = append(all, took)
	}
	return all, nil
}

func (f *fleet) strikeOne(ctx context.Context, l lent) (time.Duration, error) {
	if err := fill(ctx, f.childAdmin, l.name); err != nil {
		return 0, err
	}
	pods, stopPods, err := follow(ctx, f.childAdmin, &corev1.PodList{}, client.MatchingFields{"spec.nodeName": l.name})
	if err != nil {
		return 0, err
	}
	defer stopPods()
	nodes, stopNodes, err := follow(ctx, f.childAdmin, &corev1.NodeList{}, client.MatchingFields{"metadata.name": l.name})
	if err != nil {
		return 0, err
	}
	defer stopNodes()
	if err := f.ask(ctx, l); err != nil {
		return 0, err
	}
	began := time.Now()
	podsDeleted, err := awaitDeleting(ctx, pods, began, podsPerNode)
	if err != nil {
		return 0, err
	}
	nodeGone, err := awaitGone(ctx, nodes, began, 1)
	if err != nil {
		return 0, err
	}
	return max(podsDeleted, nodeGone[0]), clearNode(ctx, f.childAdmin, l.name)
}

// repeat times a peer on n full Nodes.
func (f *fleet) repeat(ctx context.Context, name string, n int, once func(context.Context, string) error) ([]time.Duration, error) {
	var all []time.Duration
	for i := range n {
		l := lent{"", fmt.Sprintf("%s-%d", name, i)}
		if err := f.childAdmin.Create(ctx, readyNode(l)); err != nil {
			return nil, err
		}
		if err := fill(ctx, f.childAdmin, l.name); err != nil {
			return nil, err
		}
		began := time.Now()
		if err := once(ctx, l.name); err != nil {
			return nil, err
		}
		all = append(all, time.Since(began))
		if err := clearNode(ctx, f.childAdmin, l.name); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (f *fleet) bareDeletes(ctx context.Context, node string) error {
	pods, err := podsOn(ctx, f.childAdmin, node)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return removePods(ctx, f.childAdmin, pods, 1) })
	group.Go(func() error { return f.childAdmin.Delete(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}) })
	return group.Wait()
}

func (f *fleet) drain(ctx context.Context, node string) error {
	dir, err := os.MkdirTemp("", "bench-drain-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	config := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(config, f.child.Kubeconfig, 0o600); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, f.child.Kubectl(), "--kubeconfig="+config, "--cache-dir="+dir,
		"drain", node, "--disable-eviction", "--force", "--grace-period=0").CombinedOutput()
	if err != nil {
		return fmt.Errorf("kubectl drain: %w: %s", err, out)
	}
	return nil
}
