package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/machine"
	"5spot.finos.org/node-reclaim/test/bench/report"
	"5spot.finos.org/node-reclaim/test/lab"
	"5spot.finos.org/node-reclaim/test/stubk0smotron"
	"5spot.finos.org/node-reclaim/test/workstation"
)

const (
	departures    = 20
	leftAlone     = 5
	departureP50  = 500 * time.Millisecond
	departureP99  = time.Second
	ownersProgram = "bench-needle"
)

// departure measures the whole way from a process to the Node that is gone.
func departure(ctx context.Context, scale float64, lost context.CancelCauseFunc) (_ report.Section, err error) {
	s := report.Section{
		Title: "From exec to the Node gone",
		How: fmt.Sprintf("One workstation with %d pods. Agent, controller, both API servers and Cluster API's core manager are real, k0smotron and the kubelet are played. "+
			"From the call that starts a process, fork included, until a watch brings that the Node is gone. Beside it the same Machine deleted by nobody but a "+
			"DELETE, and the rest left to Cluster API, which does not drain here and whose infrastructure is gone at once.", podsPerNode),
		Columns: []string{"p50", "p99", "max", "n"},
	}
	w, err := newWorkplace(ctx, lost)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, w.stop()) }()
	ours, err := w.times(ctx, report.Scaled(departures, scale), w.ownerComes)
	if err != nil {
		return s, err
	}
	alone, err := w.times(ctx, report.Scaled(leftAlone, scale), w.machineDeleted)
	if err != nil {
		return s, err
	}
	row := report.LatencyRow("agent and controller", ours)
	row.Budget = fmt.Sprintf("p50 ≤ %s, p99 ≤ %s", departureP50, departureP99)
	row.Missed = report.Quantile(ours, 0.5) > departureP50 || report.Quantile(ours, 0.99) > departureP99
	s.Rows = []report.Row{row, report.LatencyRow("left to Cluster API alone", alone)}
	return s, nil
}

// workplace is one workstation, lent to a cluster, with everything that takes part when it leaves.
type workplace struct {
	stops
	lab *lab.Lab
	// stage is the workstation; its cluster is the lab's child.
	stage *workstation.Stage
	sm    *v1alpha1.ScheduledMachine
}

func newWorkplace(ctx context.Context, lost context.CancelCauseFunc) (_ *workplace, err error) {
	w := &workplace{sm: lab.ScheduledMachine("ws-1", "192.0.2.1", ownersProgram)}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.stop())
		}
	}()
	hosts := stubk0smotron.Options{Host: func(string) stubk0smotron.Host {
		return stubk0smotron.Host{Pods: []stubk0smotron.Pods{{Name: "app", Count: podsPerNode}}}
	}}
	if w.lab, err = lab.Start(ctx, hosts, func(string) {}); err != nil {
		return nil, err
	}
	w.add(w.lab.Stop)
	if err := w.enter(ctx); err != nil {
		return nil, err
	}
	controller, err := startController(ctx, w.lab.Admin, w.lab.Management.Kubeconfig, lost)
	if err != nil {
		return nil, err
	}
	w.add(controller.stop)
	agent, err := w.stage.StartAgent(w.stage.Agent)
	if err != nil {
		return nil, err
	}
	w.add(agent.Stop)
	return w, w.lab.Admin.Create(ctx, w.sm)
}

// enter puts the workstation's files where its agent finds them.
func (w *workplace) enter(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "bench-workplace-")
	if err != nil {
		return err
	}
	w.add(func() error { return os.RemoveAll(dir) })
	w.stage = &workstation.Stage{ControlPlane: w.lab.Child}
	if w.stage.Agent, err = workstation.BuildAgent(ctx, dir); err != nil {
		return err
	}
	if w.stage.Owner, err = workstation.CopyOfSleep(dir, ownersProgram); err != nil {
		return err
	}
	if w.stage.Workstation, err = workstation.New(w.lab.Child, w.sm.Name, dir); err != nil {
		return err
	}
	config := rest.CopyConfig(w.lab.Child.Config)
	config.QPS = -1
	if w.stage.Admin, err = client.NewWithWatch(config, client.Options{}); err != nil {
		return err
	}
	return w.stage.Match(ownersProgram)
}

// times has the workstation leave n times, and come back before each.
func (w *workplace) times(ctx context.Context, n int, leave func(context.Context) (time.Duration, error)) ([]time.Duration, error) {
	var all []time.Duration
	for range n {
		if err := w.lent(ctx); err != nil {
			return nil, err
		}
		took, err := leave(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, took)
	}
	return all, nil
}

// lent waits until the workstation is in its cluster, full of pods and with an armed agent.
func (w *workplace) lent(ctx context.Context) error {
	if err := w.awaitPhase(ctx, v1alpha1.PhaseActive); err != nil {
		return err
	}
	err := await(ctx, "the pods of the workstation", func(ctx context.Context) (bool, error) {
		pods, err := podsOn(ctx, w.stage.Admin, w.sm.Name)
		return len(pods) == podsPerNode, err
	})
	if err != nil {
		return err
	}
	return w.stage.Await(ctx, "armed")
}

func (w *workplace) awaitPhase(ctx context.Context, phase v1alpha1.Phase) error {
	return await(ctx, fmt.Sprintf("phase %s of the workstation", phase), func(ctx context.Context) (bool, error) {
		err := w.lab.Admin.Get(ctx, client.ObjectKeyFromObject(w.sm), w.sm)
		return w.sm.Status.Phase == phase, err
	})
}

// ownerComes starts the owner's program, and lends the workstation again once it has left.
func (w *workplace) ownerComes(ctx context.Context) (time.Duration, error) {
	nodes, stop, err := w.followNode(ctx)
	if err != nil {
		return 0, err
	}
	defer stop()
	program := exec.CommandContext(ctx, w.stage.Owner, "600")
	began := time.Now()
	if err := program.Start(); err != nil {
		return 0, err
	}
	gone, err := awaitGone(ctx, nodes, began, 1)
	_ = program.Process.Kill()
	_ = program.Wait() // it was killed
	if err != nil {
		return 0, err
	}
	if err := w.awaitPhase(ctx, v1alpha1.PhaseDisabled); err != nil {
		return 0, err
	}
	return gone[0], w.lab.Admin.Patch(ctx, w.sm, merge(`{"spec":{"schedule":{"enabled":true}}}`))
}

// machineDeleted is the peer: Cluster API takes the Node out, and the schedule brings it back. Nothing there collects the pods.
func (w *workplace) machineDeleted(ctx context.Context) (time.Duration, error) {
	pods, err := podsOn(ctx, w.stage.Admin, w.sm.Name)
	if err != nil {
		return 0, err
	}
	nodes, stop, err := w.followNode(ctx)
	if err != nil {
		return 0, err
	}
	defer stop()
	own := machine.Empty(capi.V1Beta2)
	own.SetNamespace(w.sm.Namespace)
	own.SetName(w.sm.Name)
	began := time.Now()
	if err := w.lab.Admin.Delete(ctx, own); err != nil {
		return 0, err
	}
	gone, err := awaitGone(ctx, nodes, began, 1)
	if err != nil {
		return 0, err
	}
	return gone[0], removePods(ctx, w.stage.Admin, pods, 0)
}

func (w *workplace) followNode(ctx context.Context) (nodes <-chan sighting, stop func(), err error) {
	return follow(ctx, w.stage.Admin, &corev1.NodeList{}, client.MatchingFields{"metadata.name": w.sm.Name})
}
