package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"5spot.finos.org/node-reclaim/test/controlplane"
)

// controller is the process that is measured.
type controller struct {
	cmd *exec.Cmd
	dir string
}

// startController builds the program as it is shipped, and starts it.
func startController(ctx context.Context, kubeconfig []byte) (_ *controller, err error) {
	dir, err := os.MkdirTemp("", "bench-controller-")
	if err != nil {
		return nil, err
	}
	c := &controller{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.stop())
		}
	}()
	program, config := filepath.Join(dir, "5spot-controller"), filepath.Join(dir, "kubeconfig")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "./controller")
	build.Dir, build.Env, build.Stderr = controlplane.Root(), append(os.Environ(), "CGO_ENABLED=0"), os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("building the controller: %w", err)
	}
	if err := os.WriteFile(config, kubeconfig, 0o600); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	c.cmd = exec.Command(program, "--kubeconfig="+config, "--health-address=0", "--metrics-address=0")
	c.cmd.Stdout, c.cmd.Stderr = log, log
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for this program, which stops things in order
	return c, c.cmd.Start()
}

func (c *controller) pid() int { return c.cmd.Process.Pid }

func (c *controller) stop() error {
	if c.cmd != nil && c.cmd.Process != nil {
		_ = c.cmd.Process.Signal(syscall.SIGTERM)
		_ = c.cmd.Wait() // killed by our signal
	}
	return os.RemoveAll(c.dir)
}
