package config

import (
	"context"
	"log/slog"
	"time"

	"github.com/fsnotify/fsnotify"
)

// settle is how long a change is left alone before it is read: a plain write truncates first, and an empty file is legal.
const settle = 100 * time.Millisecond

// directory is the inotify watch on the file's directory: the file itself is replaced by rename, which a watch on it would not survive.
type directory struct {
	path    string
	watcher *fsnotify.Watcher
	events  <-chan fsnotify.Event
	faults  <-chan error
}

// watchDirectory may come back without a watcher (no inotify instance left); then its channels are nil and never deliver.
func watchDirectory(path string, log *slog.Logger) *directory {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		log.Warn("cannot watch for changes of the configuration, looking now and then instead", "every", netUnwatched, "error", err)
		return &directory{path: path}
	}
	return &directory{path: path, watcher: w, events: w.Events, faults: w.Errors}
}

// ensure (re-)establishes the watch, which ends with the directory. It reports whether there is one.
func (d *directory) ensure() bool {
	return d.watcher != nil && d.watcher.Add(d.path) == nil
}

// settle swallows what follows on a first change for a moment.
func (d *directory) settle(ctx context.Context) {
	quiet := time.NewTimer(settle)
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-quiet.C:
			return
		case <-d.events:
		}
	}
}

func (d *directory) close() {
	if d.watcher != nil {
		_ = d.watcher.Close()
	}
}
