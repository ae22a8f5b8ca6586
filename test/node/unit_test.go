package node

import (
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/agent/proctest"
	"5spot.finos.org/node-reclaim/systemd"
	"5spot.finos.org/node-reclaim/test/controlplane"
	"5spot.finos.org/node-reclaim/test/workstation"
)

// quickly is how soon the agent ends when it is told to.
const quickly = 100 * time.Millisecond

func TestAnOrphanIsAHealthyUnit(t *testing.T) {
	m := startManager(t)
	m.write("etc/reclaim.toml", "match_commands = ['java']\n")
	m.must("start", systemd.UnitName) // comes back after READY=1
	m.awaitStatus("standby: no usable credential: no kubeconfig at /run/5spot/kubelet.conf")
	require.Equal(t, "active", m.show("ActiveState"))
	require.Equal(t, "0", m.show("NRestarts"))
}

func TestReload(t *testing.T) {
	m := startManager(t)
	// Behind a link that leads out of the watched directory, only SIGHUP brings the change.
	m.write("etc/elsewhere/reclaim.toml", "match_commands = ['java']\n")
	require.NoError(t, os.Symlink("elsewhere/reclaim.toml", m.path("etc/reclaim.toml")))
	m.must("start", systemd.UnitName)
	m.write("etc/elsewhere/reclaim.toml", "match_commands = ['/usr/bin/java']\n")
	m.must("reload", systemd.UnitName)
	m.awaitStatus("configuration refused: /run/5spot/reclaim.toml:1: match_commands")
	require.Equal(t, "active", m.show("ActiveState"))
}

func TestAStoppedAgentIsRestarted(t *testing.T) {
	m := startManager(t)
	m.must("start", systemd.UnitName)
	before := m.number("MainPID")
	require.NoError(t, syscall.Kill(before, syscall.SIGSTOP))
	require.Eventually(t, func() bool {
		return m.show("NRestarts") == "1" && m.show("ActiveState") == "active" && m.number("MainPID") != before
	}, patience, poll)
}

func TestStopIsQuick(t *testing.T) {
	m := startManager(t)
	m.must("start", systemd.UnitName)
	fastest := time.Hour
	for range 5 { // a machine that builds something else at the moment is slow now and then
		fastest = min(fastest, m.timeToEnd())
	}
	t.Logf("ended in %s", fastest)
	require.Less(t, fastest, quickly)

	m.must("stop", systemd.UnitName)
	require.Equal(t, "inactive", m.show("ActiveState"), "failed would be a bad exit code, or a kill after the timeout")
}

// timeToEnd sends the signal that systemd sends, and waits for systemd to start the next agent.
func (m *manager) timeToEnd() time.Duration {
	m.t.Helper()
	pid := m.number("MainPID")
	began := time.Now()
	require.NoError(m.t, syscall.Kill(pid, syscall.SIGTERM))
	require.Eventually(m.t, func() bool { return syscall.Kill(pid, 0) != nil }, patience, time.Millisecond)
	took := time.Since(began)
	require.Eventually(m.t, func() bool {
		return m.show("ActiveState") == "active" && m.number("MainPID") != pid
	}, patience, poll)
	return took
}

// Everything that the unit forbids, and the kernel's process events all the same.
func TestTheHardenedUnitSeesAProgramStart(t *testing.T) {
	cp := controlplane.ForTest(t, controlplane.Options{})
	m := startManager(t)
	w, err := workstation.New(cp, "ws-1", m.path("etc"))
	require.NoError(t, err)
	require.NoError(t, w.Match("unit-owner"))
	_, err = w.Register(t.Context())
	require.NoError(t, err)
	m.must("start", systemd.UnitName)
	m.awaitStatus("armed: 1 commands, 0 argument substrings; proc-connector; Node ws-1")
	proctest.Sleeper(t, "unit-owner")
	m.awaitStatus("requested: process-match: unit-owner")
	require.Contains(t, m.log(), "match.source=exec")
}
