// The program 5spot-reclaim-agent runs on a workstation that is lent to a cluster, under systemd.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"5spot.finos.org/node-reclaim/agent/command"
	"5spot.finos.org/node-reclaim/agent/installer"
)

// version is set by the linker.
var version = "dev"

func main() {
	klog.SetLogger(logr.Discard()) // client-go repeats what it also returns, as long as it lasts
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := command.Run(ctx, command.Env{
		Version:   version,
		Out:       os.Stdout,
		Err:       os.Stderr,
		Clock:     clock.RealClock{},
		Getenv:    os.Getenv,
		Proc:      "/proc",
		MachineID: "/etc/machine-id",
		Installed: installer.RecordPath,
		Root:      "/",
		Program:   "/proc/self/exe",
	}, os.Args[1:])
	stop()
	os.Exit(code)
}
