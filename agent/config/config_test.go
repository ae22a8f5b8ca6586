package config

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/test/logbuffer"
)

const (
	java = "match_commands = ['java']\n"
	idea = "match_commands = ['idea']\n"
	bad  = "match_commands = ['/usr/bin/java']\n"
)

// followed is a File under test together with what it published and logged.
type followed struct {
	*File
	t    *testing.T
	path string
	log  *logbuffer.Buffer
}

func follow(t *testing.T, path string) followed {
	t.Helper()
	log := &logbuffer.Buffer{}
	f := New(path, slog.New(slog.NewTextHandler(log, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); f.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return followed{File: f, t: t, path: path, log: log}
}

func (f followed) next() Snapshot {
	f.t.Helper()
	select {
	case s := <-f.Updates():
		return s
	case <-time.After(10 * time.Second):
		require.FailNow(f.t, "no update")
		return Snapshot{}
	}
}

func (f followed) wantCommand(command string) {
	f.t.Helper()
	s := f.next()
	require.NoError(f.t, s.Fault)
	require.True(f.t, s.Present)
	require.Equal(f.t, []string{command}, s.Config.MatchCommands)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func replace(t *testing.T, path, text string) {
	t.Helper()
	write(t, path+".new", text)
	require.NoError(t, os.Rename(path+".new", path))
}

func TestTheFileIsFollowedHoweverItIsReplaced(t *testing.T) {
	for name, change := range map[string]func(t *testing.T, path string){
		"written in place": func(t *testing.T, path string) {
			t.Helper()
			write(t, path, idea)
		},
		"renamed over": func(t *testing.T, path string) {
			t.Helper()
			replace(t, path, idea)
		},
		"removed and made again": func(t *testing.T, path string) {
			t.Helper()
			require.NoError(t, os.Remove(path))
			write(t, path, idea)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "reclaim.toml")
			write(t, path, java)
			f := follow(t, path)
			f.wantCommand("java")
			change(t, path)
			f.wantCommand("idea")
		})
	}
}

// A mounted ConfigMap: the file is a link to ..data/reclaim.toml, and ..data is a link that is renamed over.
func TestTheFileIsFollowedThroughASymlinkSwap(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"..one": java, "..two": idea} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o755))
		write(t, filepath.Join(dir, name, "reclaim.toml"), text)
	}
	require.NoError(t, os.Symlink("..one", filepath.Join(dir, "..data")))
	require.NoError(t, os.Symlink("..data/reclaim.toml", filepath.Join(dir, "reclaim.toml")))
	f := follow(t, filepath.Join(dir, "reclaim.toml"))
	f.wantCommand("java")

	require.NoError(t, os.Symlink("..two", filepath.Join(dir, "..data_tmp")))
	require.NoError(t, os.Rename(filepath.Join(dir, "..data_tmp"), filepath.Join(dir, "..data")))
	f.wantCommand("idea")
}

func TestAMissingFileIsInertUntilThereIsOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "not-yet", "reclaim.toml")
	f := follow(t, path)
	s := f.next()
	require.NoError(t, s.Fault)
	require.False(t, s.Present)
	require.True(t, s.Config.Inert())

	require.NoError(t, os.Mkdir(filepath.Dir(path), 0o755))
	write(t, path, java)
	f.wantCommand("java")

	require.NoError(t, os.RemoveAll(filepath.Dir(path)))
	require.False(t, f.next().Present)
	require.NoError(t, os.Mkdir(filepath.Dir(path), 0o755))
	write(t, path, idea)
	f.wantCommand("idea")
}

func TestABadFileLeavesTheLastGoodOneInForce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reclaim.toml")
	write(t, path, java)
	f := follow(t, path)
	f.wantCommand("java")

	write(t, path, bad)
	s := f.next()
	require.ErrorContains(t, s.Fault, path+":1: match_commands:")
	require.Equal(t, []string{"java"}, s.Config.MatchCommands)
	require.Equal(t, 1, strings.Count(f.log.String(), "configuration refused"))

	write(t, path, java)
	f.wantCommand("java")
}

func TestABadFileAtTheStartIsInertAndSaysWhy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reclaim.toml")
	write(t, path, bad)
	s := follow(t, path).next()
	require.Error(t, s.Fault)
	require.False(t, s.Present)
	require.True(t, s.Config.Inert())
}

func TestAnEmptyFileIsLegalAndTheLogSaysThatNothingIsMatched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reclaim.toml")
	write(t, path, "")
	f := follow(t, path)
	s := f.next()
	require.True(t, s.Present)
	require.True(t, s.Config.Inert())
	require.Contains(t, f.log.String(), "both lists are empty")
}

// SIGHUP has to work where inotify is of no use: here the file lies behind a link that the watch does not see through.
func TestReloadReadsTheFileAtOnce(t *testing.T) {
	elsewhere := filepath.Join(t.TempDir(), "real.toml")
	write(t, elsewhere, java)
	path := filepath.Join(t.TempDir(), "reclaim.toml")
	require.NoError(t, os.Symlink(elsewhere, path))
	f := follow(t, path)
	f.wantCommand("java")

	write(t, elsewhere, idea)
	f.Reload()
	f.wantCommand("idea")
}

func TestAnUnchangedMeaningIsNotPublishedAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "reclaim.toml")
	write(t, path, java)
	f := follow(t, path)
	f.wantCommand("java")

	replace(t, path, "# a comment\n"+java)
	replace(t, path, idea)
	f.wantCommand("idea")
	require.Equal(t, 2, strings.Count(f.log.String(), "configuration loaded"))
}
