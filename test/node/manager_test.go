// Package node runs the agent's unit under a real systemd.
package node

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/agent/proctest"
	"5spot.finos.org/node-reclaim/systemd"
	"5spot.finos.org/node-reclaim/test/controlplane"
	"5spot.finos.org/node-reclaim/test/workstation"
)

const (
	patience = 60 * time.Second
	poll     = 50 * time.Millisecond
)

// manager is a running systemd with the agent's unit in it, byte for byte.
type manager struct {
	t   *testing.T
	dir string
	cmd *exec.Cmd
}

func startManager(t *testing.T) *manager {
	t.Helper()
	proctest.NeedRoot(t)
	for _, program := range []string{"/lib/systemd/systemd", "/usr/bin/unshare", "/usr/bin/nsenter"} {
		if _, err := os.Stat(program); err != nil {
			controlplane.Unavailable(t, program+" is not installed (Debian packages systemd, util-linux)")
		}
	}
	m := &manager{t: t, dir: t.TempDir()}
	m.furnish()
	m.cmd = exec.Command("./user-manager.sh", m.dir)
	var log bytes.Buffer
	m.cmd.Stdout, m.cmd.Stderr = &log, &log
	require.NoError(t, m.cmd.Start())
	t.Cleanup(func() {
		m.stop()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	require.Eventually(t, func() bool { _, err := m.systemctl("is-system-running"); return err == nil }, patience, poll, "systemd does not start")
	return m
}

// furnish installs unit and program, and in a drop-in, as an operator would, where the test keeps its files.
func (m *manager) furnish() {
	for _, dir := range []string{"bin", "etc/elsewhere", "units/" + systemd.UnitName + ".d"} {
		require.NoError(m.t, os.MkdirAll(filepath.Join(m.dir, dir), 0o755))
	}
	_, err := workstation.BuildAgent(m.t.Context(), filepath.Join(m.dir, "bin"))
	require.NoError(m.t, err)
	m.write("units/"+systemd.UnitName, systemd.Unit())
	m.write("units/"+systemd.UnitName+".d/test.conf", `[Service]
ExecStart=
ExecStart=/usr/local/bin/5spot-reclaim-agent run --skip-host-id-check --config /run/5spot/reclaim.toml --kubeconfig /run/5spot/kubelet.conf
StandardError=append:/run/5spot/log
`)
}

func (m *manager) path(name string) string { return filepath.Join(m.dir, name) }

func (m *manager) write(name, text string) {
	m.t.Helper()
	require.NoError(m.t, os.WriteFile(m.path(name), []byte(text), 0o644))
}

// systemctl talks to the manager from inside its namespaces.
func (m *manager) systemctl(args ...string) (string, error) {
	inside := []string{"-t", strconv.Itoa(m.cmd.Process.Pid), "-m", "env", "XDG_RUNTIME_DIR=/run/user-manager",
		"XDG_CONFIG_HOME=/run/user-manager/config", "systemctl", "--user"}
	out, err := exec.Command("nsenter", append(inside, args...)...).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (m *manager) must(args ...string) string {
	m.t.Helper()
	out, err := m.systemctl(args...)
	require.NoError(m.t, err, "%s\n%s", out, m.log())
	return out
}

// show is one property of the unit.
func (m *manager) show(property string) string {
	m.t.Helper()
	return m.must("show", "--value", "-p", property, systemd.UnitName)
}

func (m *manager) number(property string) int {
	m.t.Helper()
	n, err := strconv.Atoi(m.show(property))
	require.NoError(m.t, err)
	return n
}

func (m *manager) log() string {
	text, _ := os.ReadFile(m.path("etc/log"))
	return string(text)
}

func (m *manager) awaitStatus(text string) {
	m.t.Helper()
	require.Eventually(m.t, func() bool { return strings.Contains(m.show("StatusText"), text) }, patience, poll,
		"want %q in the status, which is %q; the log:\n%s", text, m.show("StatusText"), m.log())
}

// stop ends the manager and removes the cgroups that it leaves behind.
func (m *manager) stop() {
	_, _ = m.systemctl("stop", systemd.UnitName)
	_ = m.cmd.Process.Signal(syscall.Signal(34 + 24)) // SIGRTMIN+24: exit
	done := make(chan struct{})
	go func() { defer close(done); _ = m.cmd.Wait() }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		_ = m.cmd.Process.Kill()
		<-done
	}
	for _, root := range []string{"", "unified", "systemd"} {
		top := filepath.Join("/sys/fs/cgroup", root, fmt.Sprintf("5spot-test-%d", m.cmd.Process.Pid))
		_ = exec.Command("find", top, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";").Run()
	}
}
