package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/test/bench/report"
)

const (
	podsPerNode = 110
	strikes     = 50
	strikeP50   = 250 * time.Millisecond
	strikeP99   = 500 * time.Millisecond
	// parallelDeletes is what the bare peer sends at once.
	parallelDeletes = 48
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
	row := report.LatencyRow("controller", ours)
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
	if err := f.fill(ctx, l.name); err != nil {
		return 0, err
	}
	pods, stopPods, err := f.follow(ctx, &corev1.PodList{}, client.MatchingFields{"spec.nodeName": l.name})
	if err != nil {
		return 0, err
	}
	defer stopPods()
	nodes, stopNodes, err := f.follow(ctx, &corev1.NodeList{}, client.MatchingFields{"metadata.name": l.name})
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
	return max(podsDeleted, nodeGone[0]), f.clear(ctx, l.name)
}

// follow watches what happens from now on to objects that are there. It reads ahead: an API server ends the watch of who does not.
func (f *fleet) follow(ctx context.Context, list client.ObjectList, of client.MatchingFields) (<-chan watch.Event, func(), error) {
	if err := f.childAdmin.List(ctx, list, of); err != nil {
		return nil, nil, err
	}
	since := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}}
	watcher, err := f.childAdmin.Watch(ctx, list, of, since)
	if err != nil {
		return nil, nil, err
	}
	events := make(chan watch.Event, 10*podsPerNode)
	go func() {
		defer close(events)
		for e := range watcher.ResultChan() {
			events <- e
		}
	}()
	return events, watcher.Stop, nil
}

// awaitDeleting says when the last of n pods had its deletion timestamp, counted from began.
func awaitDeleting(ctx context.Context, events <-chan watch.Event, began time.Time, n int) (time.Duration, error) {
	deleting := map[string]bool{}
	deadline := time.After(patience)
	for len(deleting) < n {
		select {
		case e, ok := <-events:
			if !ok {
				return 0, errors.New("the watch of pods has ended")
			}
			if pod, is := e.Object.(*corev1.Pod); is && (pod.DeletionTimestamp != nil || e.Type == watch.Deleted) {
				deleting[pod.Name] = true
			}
		case <-deadline:
			return 0, fmt.Errorf("%d of %d pods are being deleted after %s", len(deleting), n, patience)
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	return time.Since(began), nil
}

// repeat times a peer on n full Nodes.
func (f *fleet) repeat(ctx context.Context, name string, n int, once func(context.Context, string) error) ([]time.Duration, error) {
	var all []time.Duration
	for i := range n {
		l := lent{"", fmt.Sprintf("%s-%d", name, i)}
		if err := f.childAdmin.Create(ctx, readyNode(l)); err != nil {
			return nil, err
		}
		if err := f.fill(ctx, l.name); err != nil {
			return nil, err
		}
		began := time.Now()
		if err := once(ctx, l.name); err != nil {
			return nil, err
		}
		all = append(all, time.Since(began))
		if err := f.clear(ctx, l.name); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (f *fleet) bareDeletes(ctx context.Context, node string) error {
	var pods corev1.PodList
	if err := f.childAdmin.List(ctx, &pods, client.MatchingFields{"spec.nodeName": node}); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelDeletes)
	for i := range pods.Items {
		group.Go(func() error { return f.childAdmin.Delete(ctx, &pods.Items[i], client.GracePeriodSeconds(1)) })
	}
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

// fill puts pods on a Node.
func (f *fleet) fill(ctx context.Context, node string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for i := range podsPerNode {
		group.Go(func() error {
			return f.childAdmin.Create(ctx, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: fmt.Sprintf("%s-%d", node, i)},
				Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "registry.example.org/main"}}},
			})
		})
	}
	return group.Wait()
}

// clear takes what is left of the pods off the API, as their kubelet would.
func (f *fleet) clear(ctx context.Context, node string) error {
	var pods corev1.PodList
	if err := f.childAdmin.List(ctx, &pods, client.MatchingFields{"spec.nodeName": node}); err != nil {
		return err
	}
	for i := range pods.Items {
		err := f.childAdmin.Delete(ctx, &pods.Items[i], client.GracePeriodSeconds(0))
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}
