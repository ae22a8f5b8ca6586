package command

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSyncWantsAPod(t *testing.T) {
	h := newHost(t)
	require.Equal(t, ExitUsage, h.run("sync"))
	require.Contains(t, h.err.String(), "NODE_NAME and POD_NAMESPACE have to be set: sync runs in the pod of the DaemonSet")

	t.Setenv("KUBERNETES_SERVICE_HOST", "") // this test may itself run in a pod
	h.env.Getenv = func(string) string { return "set" }
	require.Equal(t, ExitUsage, h.run("sync"))
	require.Contains(t, h.err.String(), "sync runs in the pod of the DaemonSet, with its ServiceAccount")
}

func TestTheReadinessProbe(t *testing.T) {
	h := newHost(t)
	h.env.Root = t.TempDir()
	require.Equal(t, ExitFailed, h.run("sync", "--ready"))
	require.Equal(t, "5spot-reclaim-agent: the installer has not looked at this host yet\n", h.err.String())

	ready := filepath.Join(h.env.Root, "run/5spot-installer/ready")
	require.NoError(t, os.MkdirAll(filepath.Dir(ready), 0o755))
	require.NoError(t, os.WriteFile(ready, []byte("the unit is masked\n"), 0o644))
	require.Equal(t, ExitFailed, h.run("sync", "--ready"))
	require.Equal(t, "5spot-reclaim-agent: the unit is masked\n", h.err.String())

	require.NoError(t, os.WriteFile(ready, nil, 0o644))
	require.Equal(t, ExitOK, h.run("sync", "--ready"))
}

func TestUninstallWhereNothingIsInstalled(t *testing.T) {
	h := newHost(t)
	h.env.Root = t.TempDir()
	require.Equal(t, ExitOK, h.run("uninstall"))
	require.Equal(t, "no DaemonSet has installed an agent on this host: nothing was done\n", h.out.String())
}
