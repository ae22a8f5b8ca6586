package main

import (
	"bufio"
	"context"
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

// watcher is a running watcher. Its log has one line for each edge, beginning with the time and a word.
type watcher struct {
	cmd   *exec.Cmd
	mu    sync.Mutex
	edges map[string]time.Time
	log   []string
	news  chan struct{}
}

// startShell starts the shell tool with a kubectl of the API server's version on its PATH.
func startShell(kubectl string, args ...string) (*watcher, error) {
	w := &watcher{edges: map[string]time.Time{}, news: make(chan struct{}, 64)}
	w.cmd = exec.Command(filepath.Join(controlplane.Root(), tool), args...)
	w.cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(kubectl)+":"+os.Getenv("PATH"))
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stderr, err := w.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", tool, err)
	}
	go w.read(stderr)
	return w, nil
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
	stamp, text, _ := strings.Cut(line, " ")
	edge, _, _ := strings.Cut(text, ":")
	if at, err := time.Parse(time.RFC3339Nano, stamp); err == nil {
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
