package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// takeBack starts the watcher, then a process named java, and follows how the machine leaves.
func (d *demo) takeBack(ctx context.Context) error {
	watcher, err := d.startWatcher(ctx)
	if err != nil {
		return err
	}
	executed, err := d.startJava()
	if err != nil {
		return err
	}
	d.say("java runs on the workstation")
	if err := d.await(ctx, promise, "Node gone", d.nodeGone); err != nil {
		return errors.Join(err, errors.New("the promise is broken: the machine did not leave its cluster in time"))
	}
	seenGone := time.Now()
	if err := d.await(ctx, leaveTimeout, "phase Disabled", d.isDisabled); err != nil {
		return err
	}
	return d.report(ctx, executed, seenGone, watcher)
}

// startWatcher starts the agent, or the shell tool, as it runs on a workstation: under the kubelet's own credential.
func (d *demo) startWatcher(ctx context.Context) (*watcher, error) {
	if d.settings.broken {
		d.say("DEMO_BREAK=watcher: no watcher is started")
		return &watcher{}, nil
	}
	kubeconfig, err := d.kubeletCredential()
	if err != nil {
		return nil, err
	}
	config := filepath.Join(d.dir, "reclaim.toml")
	// Commands alone: the demo's machine runs other people's programs, whose arguments may hold anything.
	if err := os.WriteFile(config, []byte("match_commands = [\"java\", \"idea\"]\npoll_interval_ms = 100\n"), 0o600); err != nil {
		return nil, err
	}
	start := d.startAgent
	if d.settings.watcher == watcherShell {
		start = d.startShell
	}
	w, err := start(ctx, config, kubeconfig)
	if err != nil {
		return nil, err
	}
	d.stops = append(d.stops, w.stop)
	return w, w.await(ctx, edgeArmed)
}

func (d *demo) kubeletCredential() (string, error) {
	kubelet, err := d.lab.Child.Node(workstation)
	if err != nil {
		return "", err
	}
	content, err := kubelet.KubeConfig()
	if err != nil {
		return "", err
	}
	file := filepath.Join(d.dir, "kubelet.conf")
	return file, os.WriteFile(file, content, 0o600)
}

// startJava starts a real process of that name: a copy of sleep. It returns the moment just before exec.
func (d *demo) startJava() (time.Time, error) {
	java := filepath.Join(d.dir, "java")
	if err := copyProgram("sleep", java); err != nil {
		return time.Time{}, err
	}
	cmd := exec.Command(java, "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	executed := time.Now()
	if err := cmd.Start(); err != nil {
		return time.Time{}, fmt.Errorf("starting java: %w", err)
	}
	d.stops = append(d.stops, func() error {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // "killed" is its normal end
		return nil
	})
	return executed, nil
}

func copyProgram(name, to string) error {
	path, err := exec.LookPath(name)
	if err != nil {
		return err
	}
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	file, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Close())
}
