package process

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/agent/proctest"
)

func TestCase20_NotSeeingOthersIsSaid(t *testing.T) {
	tree := proctest.NewTree(t)
	require.NoError(t, open(t, tree.Root).CheckVisible())

	tree.Remove(1)
	tree.Add(os.Getpid(), proctest.Process{Comm: "agent"})
	require.ErrorContains(t, open(t, tree.Root).CheckVisible(), "mounted with hidepid?): no such process")

	alone, err := Open(proctest.NewTree(t).Root, 1)
	require.NoError(t, err)
	require.ErrorContains(t, alone.CheckVisible(), "shows only the agent itself (in a PID namespace of its own?)")
}

func TestCase20_RealHidepidAsAnotherUser(t *testing.T) {
	proctest.NeedRoot(t)
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755)) // the other user has to get there
	proctest.MountProc(t, dir, "hidepid=2")
	t.Setenv("HIDDEN_PROC", dir)
	require.Contains(t, proctest.AgainAsNobody(t, "TestWhatIsVisible"), "not even PID 1 (is "+dir+" mounted with hidepid?): no such process")
}

func TestCase20_AloneInARealPIDNamespace(t *testing.T) {
	proctest.NeedRoot(t)
	require.Contains(t, proctest.Again(t, "TestWhatIsVisible", syscall.CLONE_NEWPID|syscall.CLONE_NEWNS), "shows only the agent itself")
}

// TestWhatIsVisible is the second life of the two tests above; on its own it is nothing.
func TestWhatIsVisible(t *testing.T) {
	if !proctest.SecondLife() {
		return
	}
	root := os.Getenv("HIDDEN_PROC")
	if root == "" {
		root = "/proc"
		require.NoError(t, syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""))
		proctest.MountProc(t, root, "")
	}
	t.Log(open(t, root).CheckVisible())
}
