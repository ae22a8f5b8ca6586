// Package config keeps the configuration in force: it reads reclaim.toml, notices every way in which the file can be replaced, and
// holds on to the last good one while a bad one is on disk. It must not know what the configuration is used for.
package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"time"

	"5spot.finos.org/node-reclaim/agent/latest"
	"5spot.finos.org/node-reclaim/api/reclaim"
)

const (
	// netWatched re-reads a watched file all the same: a symlink above the directory changes without a word.
	netWatched = 30 * time.Second
	// netUnwatched is the pace while the directory does not exist or cannot be watched.
	netUnwatched = 2 * time.Second
)

// Snapshot is what is known about the configuration at one moment.
type Snapshot struct {
	// Config is in force. It is inert while there has been no good file, or while there is none.
	Config reclaim.Config
	// Present says that Config came from the file.
	Present bool
	// Fault says why the file on disk is not the one in force. Nil when it is, and when there is no file.
	Fault error
}

// File follows one configuration file.
type File struct {
	path    string
	log     *slog.Logger
	current Snapshot
	loaded  bool
	updates latest.Value[Snapshot]
	reload  chan struct{}
}

// New follows the file at path once Run is called.
func New(path string, log *slog.Logger) *File {
	return &File{path: path, log: log, updates: latest.New[Snapshot](), reload: make(chan struct{}, 1)}
}

// Read reads the file once. A missing file is an error here: who asks for one reading has to be told.
func Read(path string) (reclaim.Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return reclaim.Config{}, fmt.Errorf("reading the configuration: %w", err)
	}
	return reclaim.Parse(path, data)
}

// Updates delivers the first snapshot soon after Run starts, and then each change.
func (f *File) Updates() <-chan Snapshot { return f.updates.C() }

// Reload reads the file now, whatever the file system said. It never blocks.
func (f *File) Reload() {
	select {
	case f.reload <- struct{}{}:
	default:
	}
}

// Run follows the file until ctx ends. It has no error of its own: without inotify it falls back to looking now and then.
func (f *File) Run(ctx context.Context) {
	dir := watchDirectory(filepath.Dir(f.path), f.log)
	defer dir.close()
	for {
		watched := dir.ensure()
		f.load()
		timer := time.NewTimer(pace(watched))
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-f.reload:
			f.log.Info("configuration reload asked for", "file", f.path)
			f.loaded = false // whoever asks wants to be told, even if nothing has changed
		case <-dir.events:
			dir.settle(ctx)
		case err := <-dir.faults: // mostly an overflow: one more reason to look
			f.log.Warn("changes of the configuration may have been missed, reading it again", "error", err)
		}
		timer.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

func pace(watched bool) time.Duration {
	if watched {
		return netWatched
	}
	return netUnwatched
}

// load takes the file as it is now and publishes what changed.
func (f *File) load() {
	next := f.next()
	if f.loaded && same(next, f.current) {
		return
	}
	f.current, f.loaded = next, true
	f.report()
	f.updates.Put(next)
}

// next is the snapshot after one reading. A missing file means that nothing is to be matched; a bad one changes nothing.
func (f *File) next() Snapshot {
	c, err := Read(f.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Snapshot{Config: reclaim.Config{PollIntervalMS: reclaim.DefaultPollIntervalMS}}
	case err != nil:
		return Snapshot{Config: f.current.Config, Present: f.current.Present, Fault: err}
	}
	return Snapshot{Config: c, Present: true}
}

func same(a, b Snapshot) bool {
	return reflect.DeepEqual(a.Config, b.Config) && a.Present == b.Present && text(a.Fault) == text(b.Fault)
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func (f *File) report() {
	c := f.current.Config
	switch {
	case f.current.Fault != nil && f.current.Present:
		f.log.Error("configuration refused, the last good one stays in force", "error", f.current.Fault)
	case f.current.Fault != nil:
		f.log.Error("configuration refused, nothing is matched until it is good", "error", f.current.Fault)
	case !f.current.Present:
		f.log.Warn("no configuration file, nothing is matched until there is one", "file", f.path)
	case c.Inert():
		f.log.Warn("configuration loaded: both lists are empty, nothing is matched", "file", f.path, "hash", c.Hash())
	default:
		f.log.Info("configuration loaded", "file", f.path, "commands", len(c.MatchCommands),
			"substrings", len(c.MatchArgvSubstrings), "hash", c.Hash())
	}
}
