package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/test/controlplane"
)

// controller is the process that is measured.
type controller struct {
	cmd      *exec.Cmd
	dir      string
	stopping atomic.Bool
	ended    chan struct{}
}

// startController builds the program as it is shipped, and starts it. Its Lease is in its own namespace. A controller that ends by itself, as one
// does that cannot renew its Lease in time, gives up what waits for it: lost gets the end of its log.
func startController(ctx context.Context, management client.Client, kubeconfig []byte, lost context.CancelCauseFunc) (_ *controller, err error) {
	if err := management.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "5spot-system"}}); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "bench-controller-")
	if err != nil {
		return nil, err
	}
	c := &controller{dir: dir, ended: make(chan struct{})}
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
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	go c.wait(lost)
	return c, nil
}

func (c *controller) wait(lost context.CancelCauseFunc) {
	defer close(c.ended)
	_ = c.cmd.Wait() // its state says how it ended
	if !c.stopping.Load() {
		log, _ := os.ReadFile(filepath.Join(c.dir, "log"))
		lost(fmt.Errorf("the controller has ended (%s): %s", c.cmd.ProcessState, log[max(0, len(log)-1000):]))
	}
}

func (c *controller) pid() int { return c.cmd.Process.Pid }

func (c *controller) stop() error {
	if c.cmd != nil && c.cmd.Process != nil {
		c.stopping.Store(true)
		_ = c.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		<-c.ended
	}
	return os.RemoveAll(c.dir)
}
