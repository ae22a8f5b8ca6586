package installer

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/agent/installer/hostfs"
	"5spot.finos.org/node-reclaim/api/reclaim"
)

// errKilled is what a doomed installer dies of.
var errKilled = errors.New("SIGKILL")

// doom ends an installer before a certain change to the host, counted from zero.
type doom struct {
	at   int
	seen int
}

func (d *doom) change() {
	if d.seen == d.at {
		panic(errKilled)
	}
	d.seen++
}

// doomedFiles and doomedSystemd pass everything on until their time has come.
type doomedFiles struct {
	hostfs.FS
	*doom
}

// Replace can be interrupted before it begins, and with half of the new content on disk.
func (f doomedFiles) Replace(path string, content io.Reader, mode fs.FileMode) error {
	f.change()
	if f.seen == f.at {
		_ = f.FS.Replace(hostfs.NewPath(path), strings.NewReader("half"), 0o600)
	}
	f.change()
	return f.FS.Replace(path, content, mode)
}

func (f doomedFiles) Remove(path string) error { f.change(); return f.FS.Remove(path) }

type doomedSystemd struct {
	Systemd
	*doom
}

func (s doomedSystemd) Reload(ctx context.Context) error  { s.change(); return s.Systemd.Reload(ctx) }
func (s doomedSystemd) Enable(ctx context.Context) error  { s.change(); return s.Systemd.Enable(ctx) }
func (s doomedSystemd) Disable(ctx context.Context) error { s.change(); return s.Systemd.Disable(ctx) }
func (s doomedSystemd) Start(ctx context.Context) error   { s.change(); return s.Systemd.Start(ctx) }
func (s doomedSystemd) Restart(ctx context.Context) error { s.change(); return s.Systemd.Restart(ctx) }
func (s doomedSystemd) Stop(ctx context.Context) error    { s.change(); return s.Systemd.Stop(ctx) }
func (s doomedSystemd) ResetFailed(ctx context.Context) error {
	s.change()
	return s.Systemd.ResetFailed(ctx)
}

// dies lets an installer do something until it is killed before the n-th change. It reports false when it came to its end first.
func (m *machine) dies(n int, do func(*Installer) error) (killed bool) {
	m.t.Helper()
	d := &doom{at: n}
	defer func() {
		if p := recover(); p != nil {
			require.Equal(m.t, errKilled, p)
			killed = true
		}
	}()
	require.NoError(m.t, do(m.installerOn(doomedFiles{m.files, d}, doomedSystemd{m.systemd, d})))
	return false
}

// TestKilledAtAnyPoint is the promise that both ways can be ended at any change and gone on with, in either direction.
func TestKilledAtAnyPoint(t *testing.T) {
	install := func(config string) func(*Installer) error {
		return func(i *Installer) error { return i.Install(t.Context(), owner(), []byte(config)) }
	}
	uninstall := func(i *Installer) error {
		_, err := i.Uninstall(t.Context())
		return err
	}
	for name, tt := range map[string]struct {
		from    func(*testing.T) *machine
		do      func(*Installer) error
		changes int
	}{
		"install":   {newMachine, install(java), 11},
		"upgrade":   {func(t *testing.T) *machine { m := installedMachine(t); m.program = "program 2"; return m }, install(steam), 9},
		"uninstall": {installedMachine, uninstall, 8},
	} {
		t.Run(name, func(t *testing.T) {
			n := 0
			for ; ; n++ {
				m := tt.from(t)
				if !m.dies(n, tt.do) {
					break
				}
				require.NoError(t, m.install(java), "installed after change %d", n)
				m.isComplete(java)

				m = tt.from(t)
				require.True(t, m.dies(n, tt.do))
				require.Empty(t, m.uninstall().Left, "after change %d", n)
				require.Equal(t, newMachineFiles(t, m), m.all())
			}
			require.Equal(t, tt.changes, n)
		})
	}
}

// newMachineFiles is what there is on a machine that never had an agent, in the place of m.
func newMachineFiles(t *testing.T, m *machine) map[string]string {
	t.Helper()
	files := map[string]string{}
	fresh := newMachine(t)
	for path, text := range fresh.all() {
		files[strings.Replace(path, fresh.root, m.root, 1)] = text
	}
	return files
}

// A killed installation is half of the promise; the agent that it leaves must not be half of one. The unit comes last.
func TestNothingIsStartedBeforeItIsComplete(t *testing.T) {
	require.Equal(t, UnitPath, installed()[len(installed())-1])
	require.Contains(t, installed(), reclaim.ConfigPath)
}
