package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"5spot.finos.org/node-reclaim/test/controlplane"
)

const (
	tool = "tools/reclaim-on-match.sh"
	// watcherPatience bounds how long a watcher takes to start.
	watcherPatience = 20 * time.Second
)

// watcher is a running watcher. Its log has one line for each edge.
type watcher struct {
	cmd *exec.Cmd
	// edgeOf reads an edge and its time off a line of the log; the time is zero where there is none.
	edgeOf func(line string) (string, time.Time)

	mu    sync.Mutex
	edges map[string]time.Time
	log   []string
	news  chan struct{}
}

// The edges of a watcher that the demo waits for or shows.
const (
	edgeArmed     = "armed"
	edgeMatch     = "match"
	edgeRequested = "requested"
)

// startShell starts the shell tool with a kubectl of the API server's version on its PATH.
func (d *demo) startShell(_ context.Context, config, kubeconfig string) (*watcher, error) {
	d.say("starting %s as system:node:%s", tool, workstation)
	cmd := exec.Command(filepath.Join(controlplane.Root(), tool), "--config", config, "--node-name", workstation, "--kubeconfig", kubeconfig)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(d.lab.Child.Kubectl())+":"+os.Getenv("PATH"))
	return start(cmd, shellEdge)
}

// startAgent builds the agent and starts it. The workstation's machine id is made up, so it is not compared.
func (d *demo) startAgent(ctx context.Context, config, kubeconfig string) (*watcher, error) {
	d.say("building 5spot-reclaim-agent")
	program := filepath.Join(d.dir, "5spot-reclaim-agent")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, "./agent")
	build.Dir, build.Stderr = controlplane.Root(), os.Stderr
	if err := build.Run(); err != nil {
		return nil, fmt.Errorf("building the agent: %w", err)
	}
	d.say("starting 5spot-reclaim-agent as system:node:%s", workstation)
	return start(exec.Command(program, "run", "--log-format=json", "--skip-host-id-check", "--config", config, "--kubeconfig", kubeconfig), agentEdge)
}

func start(cmd *exec.Cmd, edgeOf func(string) (string, time.Time)) (*watcher, error) {
	w := &watcher{cmd: cmd, edgeOf: edgeOf, edges: map[string]time.Time{}, news: make(chan struct{}, 64)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the watcher: %w", err)
	}
	go w.read(stderr)
	return w, nil
}

// shellEdge reads a line of the shell tool: the time, and a word up to a colon.
func shellEdge(line string) (string, time.Time) {
	stamp, text, _ := strings.Cut(line, " ")
	edge, _, _ := strings.Cut(text, ":")
	at, _ := time.Parse(time.RFC3339Nano, stamp) // zero on a line that is no edge
	return edge, at
}

// agentEdge reads a line of the agent's JSON log.
func agentEdge(line string) (string, time.Time) {
	var entry struct {
		Time       time.Time
		Msg, State string
	}
	if json.Unmarshal([]byte(line), &entry) != nil {
		return "", time.Time{}
	}
	switch {
	case entry.Msg == "state" && entry.State == "armed":
		return edgeArmed, entry.Time
	case entry.Msg == "a process matches":
		return edgeMatch, entry.Time
	case entry.Msg == "request stored":
		return edgeRequested, entry.Time
	}
	return "", time.Time{}
}

func (w *watcher) read(from io.Reader) {
	defer close(w.news)
	for lines := bufio.NewScanner(from); lines.Scan(); {
		w.note(lines.Text())
		w.news <- struct{}{}
	}
}

func (w *watcher) note(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.log = append(w.log, line)
	if edge, at := w.edgeOf(line); !at.IsZero() && w.edges[edge].IsZero() {
		w.edges[edge] = at
	}
}

// at is when the log told of an edge; zero when it did not.
func (w *watcher) at(edge string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.edges[edge]
}

func (w *watcher) await(ctx context.Context, edge string) error {
	deadline := time.After(watcherPatience)
	for w.at(edge).IsZero() {
		select {
		case _, running := <-w.news:
			if !running && w.at(edge).IsZero() {
				return fmt.Errorf("the watcher ended before it was %s:\n%s", edge, strings.Join(w.log, "\n"))
			}
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline:
			return fmt.Errorf("the watcher is not %s after %s", edge, watcherPatience)
		}
	}
	return nil
}

func (w *watcher) stop() error {
	if err := w.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	_ = w.cmd.Wait() // ended by our signal, or on its own: both are fine
	return nil
}
