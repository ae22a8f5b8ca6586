package manager_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"5spot.finos.org/node-reclaim/agent/installer"
	"5spot.finos.org/node-reclaim/agent/installer/manager"
	"5spot.finos.org/node-reclaim/agent/installer/manager/managertest"
	"5spot.finos.org/node-reclaim/agent/proctest"
	"5spot.finos.org/node-reclaim/test/systemdnode"
)

const (
	unit     = "sleeper.service"
	unitText = "[Service]\nExecStart=/bin/sleep 600\n[Install]\nWantedBy=multi-user.target\n"
	patience = 30 * time.Second
	poll     = 20 * time.Millisecond
)

func TestTheRealSystemd(t *testing.T) {
	if proctest.SecondLife() {
		s := manager.At("/", unit)
		about, err := s.About(t.Context())
		require.NoError(t, err)
		require.GreaterOrEqual(t, about.Version, 247)
		require.NotEmpty(t, about.Architecture)
		livesALife(t, "/", s)
		return
	}
	n := systemdnode.Boot(t, systemdnode.Options{Name: "manager"})
	t.Log(n.Again(t.Name()))
}

func TestTheFakeIsLikeTheRealSystemd(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "etc/systemd/system"), 0o755))
	livesALife(t, root, managertest.New(root, unit, clock.RealClock{}))
}

// livesALife is what the installer relies on.
func livesALife(t *testing.T, root string, s installer.Systemd) {
	ctx := t.Context()
	path := filepath.Join(root, "etc/systemd/system", unit)
	look := func() manager.Unit {
		t.Helper()
		u, err := s.Unit(ctx)
		require.NoError(t, err)
		return u
	}
	await := func(active string) manager.Unit {
		t.Helper()
		require.Eventually(t, func() bool { return look().Active == active }, patience, poll, "want %s", active)
		return look()
	}
	u := look()
	require.Equal(t, "not-found", u.Load)
	require.True(t, u.Down())
	require.False(t, u.Enabled)
	for _, nothing := range []func(context.Context) error{s.Stop, s.Disable, s.ResetFailed, s.Reload} {
		require.NoError(t, nothing(ctx), "what is not there is stopped, disabled and reset")
	}

	require.NoError(t, os.WriteFile(path, []byte(unitText), 0o644))
	require.NoError(t, s.Enable(ctx))
	require.NoError(t, s.Enable(ctx), "once more")
	require.NoError(t, s.Reload(ctx))
	u = look()
	require.Equal(t, "loaded", u.Load)
	require.Equal(t, "/etc/systemd/system/"+unit, u.Path)
	require.True(t, u.Enabled)
	require.True(t, u.Since.IsZero())

	require.NoError(t, s.Start(ctx))
	first := await("active")
	require.WithinDuration(t, time.Now(), first.Since, patience)
	require.NoError(t, s.Restart(ctx))
	require.Eventually(t, func() bool { return look().Active == "active" && look().Since.After(first.Since) }, patience, poll)

	require.NoError(t, os.WriteFile(path, []byte(unitText+"# more\n"), 0o644))
	require.Eventually(t, func() bool { return look().Outdated }, patience, poll)
	require.NoError(t, s.Reload(ctx))
	require.False(t, look().Outdated)

	require.NoError(t, s.Stop(ctx))
	require.True(t, look().Down())
	require.NoError(t, s.Disable(ctx))
	require.False(t, look().Enabled)
	require.NoError(t, os.Remove(path))
	require.NoError(t, s.Reload(ctx))
	require.NoError(t, s.ResetFailed(ctx))
	require.Equal(t, "not-found", look().Load)

	require.NoError(t, os.Symlink("/dev/null", path))
	require.NoError(t, s.Reload(ctx))
	require.True(t, look().Masked())
	require.Error(t, s.Start(ctx))
	require.NoError(t, s.Stop(ctx))
	require.NoError(t, s.Disable(ctx))
}

func TestAHostWithoutSystemd(t *testing.T) {
	_, err := manager.At(t.TempDir(), unit).About(t.Context())
	require.ErrorIs(t, err, manager.ErrNotBooted)
}

// A systemd that takes the connection and says nothing: it is frozen, or another program has its socket.
func TestASystemdThatDoesNotAnswer(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "run/systemd/system"), 0o755))
	l, err := net.Listen("unix", filepath.Join(root, "run/systemd/private"))
	require.NoError(t, err)
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = manager.At(root, unit).About(ctx)
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
