package proctest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// Process is one entry of a Tree. The zero value is a sleeping process without a name or arguments.
type Process struct {
	Comm      string
	Argv      []string
	Exe       string
	Cgroup    string // default "0::/user.slice"
	State     string // default "S"
	Flags     uint32 // as in /proc/PID/stat; 0x200000 is a kernel thread
	StartTime uint64
}

// Tree is a made-up /proc in a directory of the test's own, with an init as PID 1.
type Tree struct {
	t    testing.TB
	Root string
}

// NewTree makes a Tree.
func NewTree(t testing.TB) Tree {
	t.Helper()
	tree := Tree{t: t, Root: t.TempDir()}
	tree.Add(1, Process{Comm: "systemd", Argv: []string{"/sbin/init"}, Cgroup: "0::/init.scope"})
	return tree
}

// Add puts a process into the tree, or changes it.
func (tree Tree) Add(pid int, p Process) {
	if p.State == "" {
		p.State = "S"
	}
	if p.Cgroup == "" {
		p.Cgroup = "0::/user.slice"
	}
	require.NoError(tree.t, os.MkdirAll(filepath.Join(tree.Root, strconv.Itoa(pid)), 0o750))
	tree.write(pid, "comm", p.Comm+"\n")
	tree.write(pid, "cmdline", cmdline(p.Argv))
	tree.write(pid, "cgroup", p.Cgroup+"\n")
	tree.write(pid, "stat", stat(pid, p))
	if p.Exe != "" {
		require.NoError(tree.t, os.Symlink(p.Exe, tree.path(pid, "exe")))
	}
}

// Remove takes a process out.
func (tree Tree) Remove(pid int) { require.NoError(tree.t, os.RemoveAll(tree.path(pid, ""))) }

// Replace makes one file of a process something that cannot be read like a file: a directory.
func (tree Tree) Replace(pid int, file string) {
	require.NoError(tree.t, os.Remove(tree.path(pid, file)))
	require.NoError(tree.t, os.Mkdir(tree.path(pid, file), 0o750))
}

// Block makes reading one file of a process wait until the test ends.
func (tree Tree) Block(pid int, file string) {
	path := tree.path(pid, file)
	require.NoError(tree.t, os.Remove(path))
	require.NoError(tree.t, syscall.Mkfifo(path, 0o600))
	tree.t.Cleanup(func() {
		if w, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil { // nobody waits otherwise
			_ = w.Close()
		}
	})
}

func (tree Tree) path(pid int, file string) string {
	return filepath.Join(tree.Root, strconv.Itoa(pid), file)
}

func (tree Tree) write(pid int, file, content string) {
	require.NoError(tree.t, os.WriteFile(tree.path(pid, file), []byte(content), 0o600))
}

func cmdline(argv []string) string {
	if len(argv) == 0 {
		return ""
	}
	return strings.Join(argv, "\x00") + "\x00"
}

// stat has the fields up to the start time, the 22nd, and a few more.
func stat(pid int, p Process) string {
	return fmt.Sprintf("%d (%s) %s 1 1 1 0 -1 %d 0 0 0 0 0 0 0 0 20 0 1 0 %d 0 0 0\n", pid, p.Comm, p.State, p.Flags, p.StartTime)
}
