package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"5spot.finos.org/node-reclaim/api/reclaim"
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
	if err := d.await(ctx, promise, "departure of the Node", d.nodeGone); err != nil {
		if d.settings.broken {
			err = errors.Join(err, errors.New("no watcher was started, because of DEMO_BREAK=watcher"))
		}
		return err
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
	config, err := d.writeConfig()
	if err != nil {
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

// writeConfig has the watcher look for the demo's own killIfCommands, by name alone, because the arguments of other people's programs may hold
// anything. Where such a program runs already, only the demo's own will do, which its path tells.
func (d *demo) writeConfig() (string, error) {
	config := reclaim.Config{MatchCommands: d.sm.Spec.KillIfCommands, PollIntervalMS: 100}
	if pids, _ := exec.Command("pgrep", "-d,", "-x", strings.Join(config.MatchCommands, "|")).Output(); len(pids) > 0 {
		d.say("%v runs on this machine already (pid %s): the watcher looks for the demo's own, by its path",
			config.MatchCommands, strings.TrimSpace(string(pids)))
		config.MatchCommands, config.MatchArgvSubstrings = nil, []string{d.java()}
	}
	content, err := config.Encode()
	if err != nil {
		return "", err
	}
	file := filepath.Join(d.dir, reclaim.ConfigKey)
	return file, os.WriteFile(file, content, 0o600)
}

func (d *demo) java() string { return filepath.Join(d.dir, "java") }

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
	if err := copyProgram("sleep", d.java()); err != nil {
		return time.Time{}, err
	}
	cmd := exec.Command(d.java(), "600")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	executed := time.Now()
	if err := cmd.Start(); err != nil {
		return time.Time{}, fmt.Errorf("starting java: %w", err)
	}
	d.say("java runs on the workstation, pid %d", cmd.Process.Pid)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // at once, so that one who ends it by hand leaves no zombie
	}()
	d.stops = append(d.stops, func() error {
		_ = cmd.Process.Kill() // it may have ended
		<-ended
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
