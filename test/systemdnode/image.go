package systemdnode

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/test/controlplane"
)

// What the image is made of. It is cached under a name that changes with it.
const (
	suite    = "bookworm"
	packages = "systemd,dbus,systemd-sysv,procps,kmod,iproute2,containerd,runc"
	// masked units are not needed in a test and cost time at boot, or wait for a terminal.
	masked = "apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer dpkg-db-backup.timer console-getty.service " +
		"systemd-logind.service getty.target systemd-networkd.service systemd-resolved.service containerd.service"
)

// image is the directory of the root file system that all nodes share. It is made when it is missing, by one process at a time.
func image(t testing.TB) string {
	t.Helper()
	cache, err := os.UserCacheDir()
	require.NoError(t, err)
	recipe := sha256.Sum256([]byte(suite + packages + masked))
	dir := filepath.Join(cache, "5spot", fmt.Sprintf("systemd-node-%s-%s-%x", suite, runtime.GOARCH, recipe[:4]))
	defer lock(t, dir+".lock")()
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	need(t, "debootstrap", "debootstrap")
	require.NoError(t, bootstrap(dir+".new"))
	require.NoError(t, os.Rename(dir+".new", dir))
	return dir
}

func bootstrap(dir string) error {
	if err := os.RemoveAll(dir); err != nil { // left by a run that was ended
		return err
	}
	out, err := exec.Command("debootstrap", "--variant=minbase", "--include="+packages, suite, dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("debootstrap (it needs a Debian mirror): %w: %s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "etc/machine-id"), nil, 0o644); err != nil { // each node gets its own at boot
		return err
	}
	if err := os.Remove(filepath.Join(dir, "etc/hostname")); err != nil { // this machine's
		return err
	}
	for _, unit := range strings.Fields(masked) {
		if err := os.Symlink("/dev/null", filepath.Join(dir, "etc/systemd/system", unit)); err != nil && !os.IsExist(err) {
			return err
		}
	}
	return nil
}

// lock waits until no other process makes the image, and gives what ends the lock.
func lock(t testing.TB, path string) func() {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	require.NoError(t, err)
	require.NoError(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	return func() { _ = f.Close() }
}

func need(t testing.TB, program, debianPackage string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		controlplane.Unavailable(t, program+" is not installed (Debian package "+debianPackage+")")
	}
}
