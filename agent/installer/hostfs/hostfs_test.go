package hostfs

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const path = "/bin/program"

func newFS(t *testing.T) FS {
	h := At(t.TempDir())
	require.NoError(t, os.Mkdir(h.Path("/bin"), 0o755))
	return h
}

func (h FS) text(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(h.Path(path))
	require.NoError(t, err)
	return string(text)
}

func (h FS) names(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(h.Path("/bin"))
	require.NoError(t, err)
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestReplacePutsANewFileInPlace(t *testing.T) {
	h := newFS(t)
	require.NoError(t, h.Replace(path, strings.NewReader("one"), 0o755))
	old, err := os.Open(h.Path(path)) // as a running program has
	require.NoError(t, err)
	defer old.Close()

	require.NoError(t, h.Replace(path, strings.NewReader("two"), 0o644))
	require.Equal(t, "two", h.text(t, path))
	kept, err := io.ReadAll(old)
	require.NoError(t, err)
	require.Equal(t, "one", string(kept))

	f, err := h.Look(path)
	require.NoError(t, err)
	require.EqualValues(t, 0o644, f.Mode)
	require.Equal(t, Regular, f.Kind)
	sum, err := Hash(strings.NewReader("two"))
	require.NoError(t, err)
	require.Equal(t, sum, f.Hash)
}

func TestAFailedReplaceLeavesTheOldFileAlone(t *testing.T) {
	h := newFS(t)
	require.NoError(t, h.Replace(path, strings.NewReader("one"), 0o755))
	torn := io.MultiReader(strings.NewReader("tw"), iotest.ErrReader(errors.New("torn")))
	require.ErrorContains(t, h.Replace(path, torn, 0o755), "writing /bin/program: torn")
	require.Equal(t, "one", h.text(t, path))
	require.Equal(t, []string{"program"}, h.names(t))
}

func TestWhatAKilledRunLeftIsInNobodysWay(t *testing.T) {
	left := func(h FS) { require.NoError(t, os.WriteFile(h.Path(NewPath(path)), []byte("half"), 0o000)) }
	for name, next := range map[string]struct {
		do   func(FS) error
		want []string
	}{
		"replace": {func(h FS) error { return h.Replace(path, strings.NewReader("one"), 0o755) }, []string{"program"}},
		"remove":  {func(h FS) error { return h.Remove(path) }, []string{}},
		"tidy":    {func(h FS) error { return h.Tidy(path) }, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			h := newFS(t)
			left(h)
			require.NoError(t, next.do(h))
			require.Equal(t, next.want, h.names(t))
			require.NoError(t, next.do(h), "once more")
		})
	}
}

func TestLookFollowsNoLink(t *testing.T) {
	h := newFS(t)
	require.NoError(t, os.Symlink("/dev/null", h.Path(path)))
	f, err := h.Look(path)
	require.NoError(t, err)
	require.Equal(t, Other, f.Kind)

	f, err = h.Look("/bin/nothing")
	require.NoError(t, err)
	require.Equal(t, Nothing, f.Kind)
}

func TestReadTellsNoFileFromAnEmptyOne(t *testing.T) {
	h := newFS(t)
	text, err := h.Read(path)
	require.NoError(t, err)
	require.Nil(t, text)
	require.NoError(t, h.Replace(path, strings.NewReader(""), 0o644))
	text, err = h.Read(path)
	require.NoError(t, err)
	require.NotNil(t, text)
}

func TestOneAtATime(t *testing.T) {
	h := newFS(t)
	unlock, err := h.Lock(t.Context(), "/bin/lock")
	require.NoError(t, err)

	late, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = h.Lock(late, "/bin/lock")
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorContains(t, err, "which another installer holds")

	waited := make(chan error, 1)
	go func() {
		again, err := h.Lock(t.Context(), "/bin/lock")
		if err == nil {
			again()
		}
		waited <- err
	}()
	unlock()
	require.NoError(t, <-waited)
}

func TestAMissingDirectory(t *testing.T) {
	h := newFS(t)
	require.NoError(t, h.Writable("/bin"))
	require.ErrorIs(t, h.Writable("/sbin"), ErrMissing)
	require.NoError(t, h.Remove(filepath.Join("/sbin", "program")))
}

func TestALockLeavesNothingBehind(t *testing.T) {
	h := newFS(t)
	require.NoError(t, os.WriteFile(h.Path("/bin/lock"), nil, 0o600)) // of a process that was killed
	unlock, err := h.Lock(t.Context(), "/bin/lock")
	require.NoError(t, err)
	unlock()
	require.Empty(t, h.names(t))
}

func TestAnothersLockIsNotTakenAway(t *testing.T) {
	h := newFS(t)
	unlock, err := h.Lock(t.Context(), "/bin/lock")
	require.NoError(t, err)
	require.NoError(t, os.Remove(h.Path("/bin/lock"))) // by hand
	again, err := h.Lock(t.Context(), "/bin/lock")
	require.NoError(t, err)
	unlock()
	require.Equal(t, []string{"lock"}, h.names(t))
	again()
}

// A waiter may have the file open that the one before it removes: then it holds a lock on nothing.
func TestALockIsHeldByOne(t *testing.T) {
	h := newFS(t)
	var holders, most atomic.Int32
	var lanes sync.WaitGroup
	for range 8 {
		lanes.Go(func() {
			for range 200 {
				unlock, err := h.Lock(t.Context(), "/bin/lock")
				if err != nil {
					assert.Fail(t, "not locked", err)
					return
				}
				most.Store(max(most.Load(), holders.Add(1)))
				holders.Add(-1)
				unlock()
			}
		})
	}
	lanes.Wait()
	require.EqualValues(t, 1, most.Load())
}
