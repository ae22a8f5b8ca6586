package installer

import (
	"bytes"
	"encoding/json"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"5spot.finos.org/node-reclaim/agent/installer/hostfs"
	"5spot.finos.org/node-reclaim/agent/installer/manager/managertest"
	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/systemd"
)

const (
	java  = "match_commands = [\"java\"]\n"
	steam = "match_commands = [\"steam\"]\n"
)

// machine is a host on a directory, with a made-up systemd.
type machine struct {
	t       *testing.T
	root    string
	files   hostfs.FS
	systemd *managertest.Systemd
	// program is what the installer installs.
	program string
	log     bytes.Buffer
}

func newMachine(t *testing.T) *machine {
	m := &machine{t: t, root: t.TempDir(), program: "program 1"}
	m.files = hostfs.At(m.root)
	for _, dir := range []string{"usr/local/bin", "etc/systemd/system/multi-user.target.wants", "etc/5spot", "var/lib/5spot-reclaim-agent", "run/5spot-installer"} {
		require.NoError(t, os.MkdirAll(filepath.Join(m.root, dir), 0o755))
	}
	m.write(machineIDPath, thisMachine+"\n")
	m.systemd = managertest.New(m.root, systemd.UnitName, clock.RealClock{})
	return m
}

func (m *machine) installer() *Installer { return m.installerOn(m.files, m.systemd) }

func (m *machine) installerOn(files Files, s Systemd) *Installer {
	return New(Options{Files: files, Systemd: s, Clock: clock.RealClock{}, Log: slog.New(slog.NewTextHandler(&m.log, nil)), Version: "v1",
		Program: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewBufferString(m.program)), nil }, Architecture: "amd64"})
}

func owner() Owner { return Owner{NodeName: "ws-1", NodeUID: "uid-1", MachineID: thisMachine} }

func (m *machine) install(config string) error {
	return m.installer().Install(m.t.Context(), owner(), []byte(config))
}

// installed is a machine with an agent on it that runs.
func installedMachine(t *testing.T) *machine {
	m := newMachine(t)
	require.NoError(t, m.install(java))
	m.systemd.Jobs = nil
	return m
}

func (m *machine) uninstall() Removal {
	m.t.Helper()
	r, err := m.installer().Uninstall(m.t.Context())
	require.NoError(m.t, err)
	return r
}

func (m *machine) write(path, text string) {
	m.t.Helper()
	require.NoError(m.t, os.WriteFile(m.files.Path(path), []byte(text), 0o644))
}

func (m *machine) text(path string) string {
	m.t.Helper()
	text, err := os.ReadFile(m.files.Path(path))
	require.NoError(m.t, err)
	return string(text)
}

func (m *machine) record() *Record {
	m.t.Helper()
	r := &Record{}
	require.NoError(m.t, json.Unmarshal([]byte(m.text(RecordPath)), r))
	return r
}

// rewind makes a file older than whatever runs.
func (m *machine) rewind(path string, by time.Duration) {
	m.t.Helper()
	then := time.Now().Add(-by)
	require.NoError(m.t, os.Chtimes(m.files.Path(path), then, then))
}

// all is every file below the machine's root that a removal has to account for, and what it is: the word to the probe does not count.
func (m *machine) all() map[string]string {
	m.t.Helper()
	found := map[string]string{}
	require.NoError(m.t, filepath.WalkDir(m.root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || path == m.files.Path("/run/5spot-installer") {
			return fs.SkipDir
		}
		info, err := entry.Info()
		require.NoError(m.t, err)
		text := info.Mode().String()
		if info.Mode().IsRegular() {
			content, err := os.ReadFile(path)
			require.NoError(m.t, err)
			text += " " + string(content)
		}
		found[path] = text
		return nil
	}))
	return found
}

// isComplete: the agent is installed, as a whole and with nothing left over, and the one on disk runs.
func (m *machine) isComplete(config string) {
	m.t.Helper()
	require.Equal(m.t, m.program, m.text(ProgramPath))
	require.Equal(m.t, config, m.text(reclaim.ConfigPath))
	require.Equal(m.t, systemd.Unit(), m.text(UnitPath))
	u, err := m.systemd.Unit(m.t.Context())
	require.NoError(m.t, err)
	require.True(m.t, u.Enabled)
	require.False(m.t, u.Outdated)
	require.Equal(m.t, "active", u.Active)
	for _, path := range installed() {
		f, err := m.files.Look(path)
		require.NoError(m.t, err)
		require.Equal(m.t, []string{f.Hash}, m.record().entry(path).SHA256)
		require.Equal(m.t, octal(f.Mode), m.record().entry(path).Mode)
		require.NoFileExists(m.t, m.files.Path(hostfs.NewPath(path)))
		if path != reclaim.ConfigPath {
			require.False(m.t, u.Since.Before(f.Written), "what runs is older than %s", path)
		}
	}
}
