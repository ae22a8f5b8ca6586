package installer

import (
	"errors"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/agent/installer/manager"
	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/systemd"
)

func TestInstallPutsEverythingInPlace(t *testing.T) {
	m := newMachine(t)
	require.NoError(t, m.install(java))
	m.isComplete(java)
	require.Equal(t, []string{"enable", "reload", "restart"}, m.systemd.Jobs)
	r := m.record()
	require.Equal(t, owner(), r.Owner)
	require.Equal(t, "v1", r.Version)
	require.Equal(t, "0755", r.entry(ProgramPath).Mode)
	require.Equal(t, "0644", r.entry(UnitPath).Mode)
}

func TestASecondRunDoesNothing(t *testing.T) {
	m := installedMachine(t)
	before := map[string]os.FileInfo{}
	for _, path := range append(installed(), RecordPath) {
		info, err := os.Stat(m.files.Path(path))
		require.NoError(t, err)
		before[path] = info
	}
	require.NoError(t, m.install(java))
	require.Empty(t, m.systemd.Jobs)
	for path, was := range before {
		is, err := os.Stat(m.files.Path(path))
		require.NoError(t, err)
		require.True(t, os.SameFile(was, is), path)
		require.Equal(t, was.ModTime(), is.ModTime(), path)
	}
}

func TestAnotherConfigurationNeedsNoRestart(t *testing.T) {
	m := installedMachine(t)
	require.NoError(t, m.install(steam))
	require.Empty(t, m.systemd.Jobs, "the agent reads it by itself")
	m.isComplete(steam)
}

func TestWithoutAConfigurationTheLastOneStays(t *testing.T) {
	m := installedMachine(t)
	require.NoError(t, m.installer().Install(t.Context(), owner(), nil))
	m.isComplete(java)

	m = newMachine(t)
	require.NoError(t, m.installer().Install(t.Context(), owner(), nil))
	require.NoFileExists(t, m.files.Path(reclaim.ConfigPath))
	require.Nil(t, m.record().entry(reclaim.ConfigPath))
}

func TestAnotherProgramRestartsOnce(t *testing.T) {
	m := installedMachine(t)
	m.program = "program 2"
	require.NoError(t, m.install(java))
	require.NoError(t, m.install(java))
	require.Equal(t, []string{"restart"}, m.systemd.Jobs)
	m.isComplete(java)
}

func TestAnAgentOlderThanItsFilesIsStartedAnew(t *testing.T) {
	m := installedMachine(t)
	m.rewind(UnitPath, time.Hour)
	m.rewind(ProgramPath, -time.Millisecond) // written a moment after the agent was started
	require.Eventually(t, func() bool { require.NoError(t, m.install(java)); return len(m.systemd.Jobs) > 0 }, time.Minute, time.Millisecond)
	require.NoError(t, m.install(java))
	require.Equal(t, []string{"restart"}, m.systemd.Jobs)
}

func TestAFileFromTheFutureRestartsNothing(t *testing.T) {
	m := installedMachine(t)
	m.rewind(ProgramPath, -time.Hour) // the host's clock was set back
	require.NoError(t, m.install(java))
	require.Empty(t, m.systemd.Jobs)
}

func TestWhatIsChangedByHandIsPutBack(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(m *machine)
		jobs   []string
	}{
		"the configuration":          {func(m *machine) { m.write(reclaim.ConfigPath, steam) }, nil},
		"a mode":                     {func(m *machine) { require.NoError(t, os.Chmod(m.files.Path(reclaim.ConfigPath), 0o600)) }, nil},
		"the configuration removed":  {func(m *machine) { require.NoError(t, os.Remove(m.files.Path(reclaim.ConfigPath))) }, nil},
		"the program":                {func(m *machine) { m.write(ProgramPath, "else") }, []string{"restart"}},
		"the unit removed":           {func(m *machine) { require.NoError(t, os.Remove(m.files.Path(UnitPath))) }, []string{"enable", "reload", "restart"}},
		"stopped and disabled":       {func(m *machine) { m.stopAndDisable() }, []string{"enable", "reload", "start"}},
		"failed":                     {func(m *machine) { m.systemd.Fail() }, []string{"start"}},
		"taken over by another Node": {func(m *machine) { m.takeOver() }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			m := installedMachine(t)
			tt.change(m)
			require.NoError(t, m.install(java))
			require.Equal(t, tt.jobs, m.systemd.Jobs)
			m.isComplete(java)
		})
	}
}

func (m *machine) stopAndDisable() {
	require.NoError(m.t, m.systemd.Stop(m.t.Context()))
	require.NoError(m.t, m.systemd.Disable(m.t.Context()))
	m.systemd.Jobs = nil
}

// takeOver leaves a record of the Node that this machine was before.
func (m *machine) takeOver() {
	r := m.record()
	r.NodeUID = "uid-0"
	require.NoError(m.t, writeRecord(m.files, *r))
	m.t.Cleanup(func() { require.Equal(m.t, "uid-1", m.record().NodeUID) })
}

func TestDropInsAreTheOperators(t *testing.T) {
	m := installedMachine(t)
	dropIn := UnitPath + ".d/10-mine.conf"
	require.NoError(t, os.Mkdir(m.files.Path(UnitPath+".d"), 0o755))
	m.write(dropIn, "[Service]\nNice=5\n")
	require.NoError(t, m.install(java))
	require.Empty(t, m.uninstall().Left)
	require.Equal(t, "[Service]\nNice=5\n", m.text(dropIn))
}

// refuses: the installation says why it does not take place, and touches nothing.
func (m *machine) refuses(reason, text string) {
	m.t.Helper()
	before := m.all()
	err := m.install(java)
	var refusal *Refusal
	require.ErrorAs(m.t, err, &refusal)
	require.Equal(m.t, reason, refusal.Reason)
	require.Equal(m.t, text, err.Error())
	require.Equal(m.t, before, m.all())
	require.Empty(m.t, m.systemd.Jobs)
}

func TestAForeignFileIsRefused(t *testing.T) {
	text := func(path string) string {
		return path + " on this host was not put there by this DaemonSet: move it away (mv " + path + " " + path + ".old), or " + optOut
	}
	for _, path := range installed() {
		t.Run(path, func(t *testing.T) {
			m := newMachine(t)
			m.write(path, "mine")
			m.refuses(ReasonForeignFile, text(path))

			m = newMachine(t)
			require.NoError(t, os.Mkdir(m.files.Path(path), 0o755))
			m.refuses(ReasonForeignFile, text(path))

			m = installedMachine(t)
			require.NoError(t, os.Remove(m.files.Path(path)))
			require.NoError(t, os.Symlink("elsewhere", m.files.Path(path)))
			m.refuses(ReasonForeignFile, text(path))
		})
	}
}

func TestAMaskedUnitIsTheOperatorsNo(t *testing.T) {
	text := "5spot-reclaim-agent.service is masked on this host, which is the operator's no: " +
		"`systemctl unmask 5spot-reclaim-agent.service` there, or " + optOut
	mask := func(m *machine) {
		m.t.Helper()
		_ = os.Remove(m.files.Path(UnitPath))
		require.NoError(m.t, os.Symlink("/dev/null", m.files.Path(UnitPath)))
		require.NoError(m.t, m.systemd.Reload(m.t.Context()))
		m.systemd.Jobs = nil
	}
	m := newMachine(t)
	mask(m)
	m.refuses(ReasonUnitMasked, text)

	m = installedMachine(t)
	mask(m)
	m.refuses(ReasonUnitMasked, text)
	require.EqualError(t, m.installer().Health(t.Context()), text)
}

func TestARecordThatIsNotUnderstoodIsRefused(t *testing.T) {
	m := installedMachine(t)
	m.write(RecordPath, `{"schema": 2}`)
	m.refuses(ReasonForeignFile, "/var/lib/5spot-reclaim-agent/installed.json is not understood (schema 2, want 1): use the version that wrote it, "+
		"or remove the agent by hand (/usr/local/bin/5spot-reclaim-agent, /etc/systemd/system/5spot-reclaim-agent.service) and then this file")
	_, err := m.installer().Uninstall(t.Context())
	require.ErrorContains(t, err, "is not understood")
}

func TestAHostThatCannotHaveTheAgent(t *testing.T) {
	for name, tt := range map[string]struct {
		spoil func(m *machine)
		text  string
	}{
		"not booted with systemd": {func(m *machine) { m.systemd.Fault = manager.ErrNotBooted },
			"systemd is not this host's init: boot this host with systemd 247 or later, or " + optOut},
		"systemd does not answer": {func(m *machine) { m.systemd.Fault = errors.New("connection refused") },
			"systemd does not answer on this host (connection refused): see `systemctl status` there; it is tried again"},
		"systemd too old": {func(m *machine) { m.systemd.Self.Version = 246 },
			"systemd 246 is too old: upgrade this host to 247 or later, or " + optOut},
		"another architecture": {func(m *machine) { m.systemd.Self.Architecture = "arm64" },
			"the image is built for amd64 and this host is arm64: use an image for the host's architecture"},
		"no /etc/5spot": {func(m *machine) { require.NoError(m.t, os.Remove(m.files.Path("/etc/5spot"))) },
			"/etc/5spot does not exist: make it on this host and delete this pod, or " + optOut},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			tt.spoil(m)
			m.refuses(ReasonHostUnsuitable, tt.text)
		})
	}
}

func TestHealth(t *testing.T) {
	m := newMachine(t)
	require.ErrorContains(t, m.installer().Health(t.Context()), "systemd has not loaded "+systemd.UnitName+" (not-found)")

	require.NoError(t, m.install(java))
	var pending pendingError
	err := m.installer().Health(t.Context())
	require.ErrorAs(t, err, &pending, "active for a moment only")
	require.ErrorContains(t, err, "has been active for less than 5s")

	m.systemd.Fail()
	require.ErrorContains(t, m.installer().Health(t.Context()), "is failed (failed): see `journalctl -u "+systemd.UnitName+"` on this host")
}
