package controlplane

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Program is a running program that belongs to a control plane.
type Program struct {
	// Log is the path of its log.
	Log  string
	name string
	cmd  *exec.Cmd
	done chan struct{}
}

// start starts one of the built programs, which logs into a file of its name.
func (c *ControlPlane) start(name string, args ...string) (*Program, error) {
	p := &Program{Log: filepath.Join(c.dir, name+".log"), name: name, done: make(chan struct{})}
	log, err := os.Create(p.Log)
	if err != nil {
		return nil, err
	}
	p.cmd = exec.Command(filepath.Join(c.assets, name), args...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	// Ctrl-C in a terminal reaches the whole foreground group; this one is stopped in order instead.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("starting %s: %w", name, err), log.Close())
	}
	go func() {
		defer close(p.done)
		defer log.Close()
		_ = p.cmd.Wait() // its exit status is in the log; Stop and awaitReady only need the fact
	}()
	return p, nil
}

func (p *Program) awaitReady(url string) error {
	deadline := time.NewTimer(startTimeout)
	defer deadline.Stop()
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for {
		select {
		case <-p.done:
			tail, _ := os.ReadFile(p.Log)
			return fmt.Errorf("%s ended while starting: %s", p.name, tail[max(0, len(tail)-2000):])
		case <-deadline.C:
			return fmt.Errorf("%s is not ready after %s", p.name, startTimeout)
		case <-poll.C:
			if answers(url) {
				return nil
			}
		}
	}
}

func answers(url string) bool {
	response, err := http.Get(url) //nolint:gosec,noctx // a loopback address of our own
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// Stop ends the program, by force when it does not end by itself.
func (p *Program) Stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(stopTimeout):
		return p.cmd.Process.Kill()
	}
}
