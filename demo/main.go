// The demo shows the whole path on real control planes: a workstation lends itself to a cluster, its owner starts a program, and the
// machine leaves. It prints how long each step took, and fails when the Node is not gone within five seconds.
//
// Environment: DEMO_WATCHER=agent or shell chooses the watcher; DEMO_BREAK=watcher never starts it, so that the demo must fail; DEMO_KEEP=1
// leaves everything running until Ctrl-C and prints the kubeconfigs.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx); err != nil {
		if errors.Is(err, context.Canceled) {
			err = errors.New("interrupted; everything is ended and removed")
		}
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1) //nolint:gocritic // stop only detaches the signal handler
	}
}

func run(ctx context.Context) (err error) {
	settings, err := fromEnvironment()
	if err != nil {
		return err
	}
	if err := preflight(settings); err != nil {
		return err
	}
	d, err := newDemo(settings)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stop()) }()
	return d.play(ctx)
}
