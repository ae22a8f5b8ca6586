package installer

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"5spot.finos.org/node-reclaim/agent/installer/hostfs"
	"5spot.finos.org/node-reclaim/api/reclaim"
)

func TestUninstallLeavesTheHostAsItWas(t *testing.T) {
	m := newMachine(t)
	before := m.all()
	require.NoError(t, m.install(java))
	m.systemd.Jobs = nil
	require.Equal(t, Removal{Found: true}, m.uninstall())
	require.Equal(t, []string{"stop", "disable", "reload", "reset"}, m.systemd.Jobs)
	require.Equal(t, before, m.all())
	require.Equal(t, Removal{}, m.uninstall(), "once more")
}

func TestUninstallTakesOnlyWhatItKnows(t *testing.T) {
	for _, path := range installed() {
		t.Run(path, func(t *testing.T) {
			m := installedMachine(t)
			m.write(path, "changed")
			require.Equal(t, []Left{{path, "it is not as it was installed any more"}}, m.uninstall().Left)
			require.Equal(t, "changed", m.text(path))
			require.NoFileExists(t, m.files.Path(RecordPath))
		})
	}
	t.Run("a configuration that was never installed", func(t *testing.T) {
		m := newMachine(t)
		require.NoError(t, m.installer().Install(t.Context(), owner(), nil))
		m.write(reclaim.ConfigPath, "mine")
		require.Equal(t, []Left{{reclaim.ConfigPath, "it was not installed by the DaemonSet"}}, m.uninstall().Left)
	})
	t.Run("a mask", func(t *testing.T) {
		m := installedMachine(t)
		require.NoError(t, os.Remove(m.files.Path(UnitPath)))
		require.NoError(t, os.Symlink("/dev/null", m.files.Path(UnitPath)))
		require.Len(t, m.uninstall().Left, 1)
		require.Contains(t, m.systemd.Jobs, "stop")
	})
}

func TestWithoutARecordNothingIsRemoved(t *testing.T) {
	m := newMachine(t)
	m.write(ProgramPath, "mine")
	m.write(hostfs.NewPath(RecordPath), "{") // of an installation that was ended before it began
	require.Equal(t, Removal{}, m.uninstall())
	require.Equal(t, "mine", m.text(ProgramPath))
	require.NoFileExists(t, m.files.Path(hostfs.NewPath(RecordPath)))
	require.Empty(t, m.systemd.Jobs)
}

// lockless is a host whose record directory takes no new file.
type lockless struct {
	hostfs.FS
	fault error
}

func (l lockless) Lock(context.Context, string) (func(), error) { return nil, l.fault }

func TestAnAgentIsStoppedWhereNoLockCanBeMade(t *testing.T) {
	for _, fault := range []error{unix.EROFS, unix.ENOSPC, unix.EDQUOT} {
		m := installedMachine(t)
		_, err := m.installerOn(lockless{m.files, fmt.Errorf("locking: %w", fault)}, m.systemd).Uninstall(t.Context())
		require.NoError(t, err, "nothing else is in the way here")
		require.Contains(t, m.systemd.Jobs, "stop")
		require.NoFileExists(t, m.files.Path(RecordPath))
	}
	m := installedMachine(t)
	_, err := m.installerOn(lockless{m.files, context.DeadlineExceeded}, m.systemd).Uninstall(t.Context())
	require.ErrorIs(t, err, context.DeadlineExceeded, "another installer holds it")
	require.Empty(t, m.systemd.Jobs)
}
