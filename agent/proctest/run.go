package proctest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Copy makes a copy of /bin/sleep that is called name.
func Copy(t testing.TB, name string) string {
	t.Helper()
	program, err := os.ReadFile("/bin/sleep")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, program, 0o700))
	return path
}

// Start runs a program until the test ends. argv[0] is what the program is called by.
func Start(t testing.TB, path string, argv ...string) *os.Process {
	t.Helper()
	cmd := &exec.Cmd{Path: path, Args: argv}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	// Start returns when the kernel has closed the old program's files, which is a moment before the new arguments can be read.
	require.Eventually(t, func() bool {
		args, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(cmd.Process.Pid), "cmdline"))
		return err == nil && len(args) > 0
	}, 10*time.Second, time.Millisecond)
	return cmd.Process
}

// Sleeper runs a copy of sleep that is called name, until the test ends.
func Sleeper(t testing.TB, name string) *os.Process {
	t.Helper()
	path := Copy(t, name)
	return Start(t, path, path, "600")
}

const secondLife = "FIVESPOT_TEST_SECOND_LIFE"

// SecondLife says whether this is the test's second life, in namespaces of its own.
func SecondLife() bool { return os.Getenv(secondLife) != "" }

// Again runs the test of that name once more in new namespaces, given as CLONE_NEW… flags, and gives all it printed. It must pass.
func Again(t testing.TB, name string, namespaces uintptr) string {
	t.Helper()
	attr := &syscall.SysProcAttr{Cloneflags: namespaces}
	if namespaces&syscall.CLONE_NEWUSER != 0 {
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return again(t, name, attr)
}

// AgainAsNobody runs the test once more without any privilege.
func AgainAsNobody(t testing.TB, name string) string {
	t.Helper()
	const nobody = 65534
	return again(t, name, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}})
}

// AgainBy runs the test once more by way of a command that takes program, a copy of this one, to other surroundings.
func AgainBy(t testing.TB, name, program string, enter func(command ...string) *exec.Cmd) string {
	t.Helper()
	return live(t, enter(program, "-test.run=^"+name+"$", "-test.v"))
}

func again(t testing.TB, name string, attr *syscall.SysProcAttr) string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+name+"$", "-test.v")
	cmd.SysProcAttr = attr
	return live(t, cmd)
}

func live(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	cmd.Env = append(os.Environ(), secondLife+"=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// MountProc mounts a /proc of its own at dir until the test ends.
func MountProc(t testing.TB, dir, options string) {
	t.Helper()
	require.NoError(t, syscall.Mount("proc", dir, "proc", 0, options))
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
}
