package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/test/bench/report"
	"5spot.finos.org/node-reclaim/test/workstation"
)

func execToAnnotated(ctx context.Context, scale float64) (_ report.Section, err error) {
	s := report.Section{
		Title: "From exec to annotated",
		How: "From the call that starts a process, fork included, until a watch of the Node brings the request: agent, API server and etcd are real. " +
			fmt.Sprintf("Beside it one PATCH of the same size with the same credential, from the call to its answer: after %s of rest, as the agent's is, and at once after the last. ", pauseBetween) +
			"The difference between these two is the machine's own, which has gone to sleep.",
		Columns: []string{"p50", "p99", "max", "n"},
	}
	stage, err := workstation.NewStage(ctx, needle)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, stage.Close()) }()
	n := report.Scaled(1000, scale)
	annotated, err := annotate(ctx, stage, n)
	if err != nil {
		return s, err
	}
	alone, err := patchAlone(ctx, stage, n, pauseBetween)
	if err != nil {
		return s, err
	}
	busy, err := patchAlone(ctx, stage, n, 0)
	if err != nil {
		return s, err
	}
	r := report.LatencyRow("agent, exec to annotated", annotated)
	r.Budget, r.Missed = budgetOfAnnotated, overBudget(annotated)
	s.Rows = []report.Row{r, report.LatencyRow("one PATCH alone, after rest", alone), report.LatencyRow("one PATCH after the other", busy)}
	s.Plot = report.Percentiles{{Name: "agent, exec to annotated", All: annotated}, {Name: "one PATCH alone, after rest", All: alone}}.Markdown()
	return s, nil
}

// pauseBetween lets everything that takes part come to rest, as it is when an owner comes back.
const pauseBetween = 60 * time.Millisecond

const budgetOfAnnotated = "p50 ≤ 5 ms, p99 ≤ 25 ms"

func overBudget(all []time.Duration) bool {
	return report.Quantile(all, 0.5) > 5*time.Millisecond || report.Quantile(all, 0.99) > 25*time.Millisecond
}

// annotate has the owner come back n times.
func annotate(ctx context.Context, stage *workstation.Stage, n int) (all []time.Duration, err error) {
	agent, err := stage.StartAgent(stage.Agent)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, agent.Stop()) }()
	events, err := stage.Admin.Watch(ctx, &corev1.NodeList{}, client.MatchingFields{"metadata.name": stage.Name})
	if err != nil {
		return nil, err
	}
	defer events.Stop()
	for range n {
		took, err := annotateOnce(ctx, stage, events.ResultChan())
		if err != nil {
			return nil, err
		}
		all = append(all, took)
	}
	return all, nil
}

func annotateOnce(ctx context.Context, stage *workstation.Stage, events <-chan watch.Event) (time.Duration, error) {
	if err := stage.Await(ctx, "armed"); err != nil {
		return 0, err
	}
	time.Sleep(pauseBetween) // arming brings a sweep
	drop(events)
	cmd := exec.CommandContext(ctx, stage.Owner, "60")
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	requested, err := awaitRequest(ctx, events)
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	return requested.Sub(began), errors.Join(err, stage.Await(ctx, "requested"), stage.Clear(ctx))
}

// drop forgets what has happened so far.
func drop(events <-chan watch.Event) {
	for {
		select {
		case <-events:
		default:
			return
		}
	}
}

func awaitRequest(ctx context.Context, events <-chan watch.Event) (time.Time, error) {
	for {
		select {
		case e, ok := <-events:
			if !ok {
				return time.Time{}, errors.New("the watch of the Node has ended")
			}
			if node, is := e.Object.(*corev1.Node); is && node.Annotations[reclaim.AnnotationRequested] == "true" {
				return time.Now(), nil
			}
		case <-time.After(time.Minute):
			return time.Time{}, errors.New("the Node carries no request after a minute")
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		}
	}
}

// patchAlone writes n requests, without anybody who looks for processes, and pauses before each.
func patchAlone(ctx context.Context, stage *workstation.Stage, n int, pause time.Duration) ([]time.Duration, error) {
	config := rest.CopyConfig(stage.Kubelet)
	config.QPS = -1 // the client's own throttling is not what is measured
	kubelet, err := client.New(config, client.Options{})
	if err != nil {
		return nil, err
	}
	var all []time.Duration
	for range n {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]string{
			reclaim.AnnotationRequested: "true", reclaim.AnnotationReason: "process-match: " + needle,
			reclaim.AnnotationRequestedAt: time.Now().UTC().Format(time.RFC3339Nano),
		}}})
		if err != nil {
			return nil, err
		}
		node := &corev1.Node{}
		node.Name = stage.Name
		time.Sleep(pause)
		began := time.Now()
		if err := kubelet.Patch(ctx, node, client.RawPatch(types.MergePatchType, patch)); err != nil {
			return nil, fmt.Errorf("writing a request: %w", err)
		}
		all = append(all, time.Since(began))
	}
	return all, nil
}
