package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/manager"
	"5spot.finos.org/node-reclaim/test/lab"
	"5spot.finos.org/node-reclaim/test/stubk0smotron"
)

const (
	workstation = "ws-1"
	pods        = 40
	// promise is what the product owes: from exec to the Node having left.
	promise = 5 * time.Second
	// joinTimeout and leaveTimeout bound the waits for what has no promise of its own.
	joinTimeout  = 2 * time.Minute
	leaveTimeout = time.Minute
)

type demo struct {
	settings settings
	dir      string
	log      *os.File
	lab      *lab.Lab
	sm       *v1alpha1.ScheduledMachine
	began    time.Time
	stops    []func() error
}

func newDemo(s settings) (*demo, error) {
	dir, err := os.MkdirTemp("", "5spot-demo-")
	if err != nil {
		return nil, fmt.Errorf("making a directory: %w", err)
	}
	d := &demo{settings: s, dir: dir, began: time.Now(), sm: lab.ScheduledMachine(workstation, "10.0.0.1", "java", "idea")}
	d.stops = append(d.stops, func() error { return os.RemoveAll(dir) })
	if d.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		return nil, errors.Join(err, d.stop())
	}
	d.stops = append(d.stops, d.log.Close)
	logger := logr.FromSlogHandler(slog.NewTextHandler(d.log, nil))
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	return d, nil
}

// play goes through the acts, and shows the log when one fails.
func (d *demo) play(ctx context.Context) error {
	for _, act := range []func(context.Context) error{d.buildWorld, d.lend, d.takeBack} {
		err := act(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			d.showLog()
			return err
		}
	}
	if d.settings.keep {
		return d.keep(ctx)
	}
	return nil
}

// stop ends everything, last first.
func (d *demo) stop() error {
	var errs []error
	for i := len(d.stops) - 1; i >= 0; i-- {
		errs = append(errs, d.stops[i]())
	}
	d.stops = nil
	return errors.Join(errs...)
}

// buildWorld starts the control planes, Cluster API, the stand-in for k0smotron, and the controller.
func (d *demo) buildWorld(ctx context.Context) error {
	hosts := stubk0smotron.Options{HostStopTime: 3 * time.Second, Host: func(string) stubk0smotron.Host {
		return stubk0smotron.Host{Pods: []stubk0smotron.Pods{{
			Name: "app", Count: pods, Labels: map[string]string{"app": "app"}, ForbidEviction: true,
		}}}
	}}
	world, err := lab.Start(ctx, hosts, func(next string) { d.say("starting %s", next) })
	if err != nil {
		return err
	}
	d.lab = world
	d.stops = append(d.stops, world.Stop)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	d.say("starting 5spot-controller")
	d.startController()
	return nil
}

func (d *demo) startController() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	options := manager.Options{PodKillWait: 10 * time.Second, HealthAddress: "0", MetricsAddress: "0", LogFormat: "text", LogTo: d.log}
	go func() { ended <- manager.Run(ctx, d.lab.Management.Config, options) }()
	d.stops = append(d.stops, func() error {
		cancel()
		return <-ended
	})
}

// lend creates the ScheduledMachine and waits for its Node and pods.
func (d *demo) lend(ctx context.Context) error {
	d.say("creating ScheduledMachine %s/%s with killIfCommands %v", lab.Namespace, workstation, d.sm.Spec.KillIfCommands)
	if err := d.lab.Admin.Create(ctx, d.sm); err != nil {
		return err
	}
	if err := d.await(ctx, joinTimeout, "phase Active", d.isActive); err != nil {
		return err
	}
	d.say("Node %s is in the child cluster, with %d pods that a PodDisruptionBudget protects from eviction", workstation, pods)
	return nil
}

func (d *demo) say(format string, args ...any) {
	fmt.Printf("%6.1f s  %s\n", time.Since(d.began).Seconds(), fmt.Sprintf(format, args...))
}

// showLog shows what the controller and Cluster API's stand-ins complained of.
func (d *demo) showLog() {
	text, err := os.ReadFile(d.log.Name())
	if err != nil {
		return
	}
	var complaints []string
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, "level=ERROR") || strings.Contains(line, "level=WARN") {
			complaints = append(complaints, line)
		}
	}
	if len(complaints) > 0 {
		fmt.Fprintf(os.Stderr, "\nThe controller's last complaints:\n%s\n", strings.Join(complaints[max(0, len(complaints)-10):], ""))
	}
}

func (d *demo) keep(ctx context.Context) error {
	for _, cluster := range []struct {
		name       string
		kubeconfig []byte
		look       string
	}{
		{"management", d.lab.Management.Kubeconfig, "-n " + lab.Namespace + " get sm,machines,events"},
		{"child", d.lab.Child.Kubeconfig, "get nodes,pods -A"},
	} {
		file := filepath.Join(d.dir, cluster.name+".kubeconfig")
		if err := os.WriteFile(file, cluster.kubeconfig, 0o600); err != nil {
			return err
		}
		fmt.Printf("\n%s cluster:\n  %s --kubeconfig %s %s", cluster.name, d.lab.Child.Kubectl(), file, cluster.look)
	}
	fmt.Println("\n\nEverything runs on until Ctrl-C.")
	<-ctx.Done()
	fmt.Println("Ending and removing everything.")
	return nil
}
