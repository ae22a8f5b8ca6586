package systemdnode

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestANodeIsARealSystemdThatLeavesNothingBehind(t *testing.T) {
	n := Boot(t, Options{Name: "ws-1", Furnish: func(root string) error {
		if err := os.MkdirAll(filepath.Join(root, "etc"), 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(root, "etc/furnished"), []byte("yes"), 0o644)
	}})
	require.Equal(t, "systemd", n.Run("cat", "/proc/1/comm"))
	require.Equal(t, "ws-1", n.Run("uname", "-n"))
	require.Regexp(t, "^[0-9a-f]{32}$", n.MachineID())
	require.Equal(t, "yes", n.Run("cat", "/etc/furnished"))

	before := n.Files("/etc")
	n.Run("systemd-run", "--unit=writer", "--wait", "touch", "/etc/written")
	after := n.Files("/etc")
	require.Contains(t, after, "/etc/written")
	delete(after, "/etc/written")
	require.Equal(t, before, after)

	leader, nspawn := n.Leader(), n.cmd.Process.Pid
	n.Stop()
	require.NoDirExists(t, filepath.Join("/proc", strconv.Itoa(leader)))
	for _, pattern := range []string{"/sys/fs/cgroup/5spot-node-", "/sys/fs/cgroup/*/5spot-node-"} {
		left, err := filepath.Glob(pattern + strconv.Itoa(nspawn))
		require.NoError(t, err)
		require.Empty(t, left)
	}
}
