package workstation

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"5spot.finos.org/node-reclaim/test/controlplane"
)

// BuildAgent builds the agent into dir, static and under its own name, and returns its path.
func BuildAgent(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "5spot-reclaim-agent")
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w -X main.version=test", "-o", path, "./agent")
	build.Dir = controlplane.Root()
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the agent: %w: %s", err, out)
	}
	return path, nil
}

// Agent is a running agent.
type Agent struct {
	cmd     *exec.Cmd
	logPath string
}

// Config is the path of the workstation's reclaim.toml.
func (w *Workstation) Config() string { return filepath.Join(w.dir, "reclaim.toml") }

// Match replaces the configuration by one that matches these commands.
func (w *Workstation) Match(commands ...string) error {
	quoted := make([]string, len(commands))
	for i, c := range commands {
		quoted[i] = strconv.Quote(c)
	}
	return w.write("reclaim.toml", fmt.Appendf(nil, "match_commands = [%s]\n", strings.Join(quoted, ", ")))
}

// StartAgent runs the agent at that path as systemd would. The machine id is not compared: this host has its own.
func (w *Workstation) StartAgent(path string, flags ...string) (*Agent, error) {
	a := &Agent{logPath: filepath.Join(w.dir, "agent.log")}
	log, err := os.Create(a.logPath)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	args := append([]string{"run", "--skip-host-id-check", "--config", w.Config(), "--kubeconfig", w.Kubeconfig()}, flags...)
	a.cmd = exec.Command(path, args...)
	a.cmd.Stderr = log
	return a, a.cmd.Start()
}

// Ask runs another command of the agent, and gives what it printed.
func (w *Workstation) Ask(ctx context.Context, path string, args ...string) (string, error) {
	args = append(args, "--skip-host-id-check", "--config", w.Config(), "--kubeconfig", w.Kubeconfig())
	out, err := exec.CommandContext(ctx, path, args...).CombinedOutput()
	return string(out), err
}

// PID of the agent.
func (a *Agent) PID() int { return a.cmd.Process.Pid }

// Log is what the agent has logged so far.
func (a *Agent) Log() (string, error) {
	text, err := os.ReadFile(a.logPath)
	return string(text), err
}

// Stop ends the agent and says how it ended.
func (a *Agent) Stop() error {
	if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return a.cmd.Wait()
}

// RSS is the memory that the agent holds, in KiB.
func (a *Agent) RSS() (int, error) { return RSS(a.PID()) }

// RSS is the memory that a process holds, in KiB.
func RSS(pid int) (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		return 0, fmt.Errorf("process %d has ended", pid)
	}
	return strconv.Atoi(fields[0])
}

// Autopsy ends the agent by force, and counts the goroutines that it had.
func (a *Agent) Autopsy() (int, error) {
	if err := a.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		return 0, err
	}
	_ = a.cmd.Wait() // it fails by design
	log, err := a.Log()
	return strings.Count(log, "\ngoroutine "), err
}
