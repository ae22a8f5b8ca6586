package installer

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sys/unix"

	"5spot.finos.org/node-reclaim/agent/installer/hostfs"
	"5spot.finos.org/node-reclaim/api/reclaim"
)

// Left is a file that was installed and is not taken away.
type Left struct {
	Path string
	Why  string
}

// Removal is what became of an agent.
type Removal struct {
	// Found says that there was one.
	Found bool
	Left  []Left
}

// Uninstall takes the agent off the host: first what runs, then what would start it, then the files, and last the record, from which a
// run that was ended goes on. Only what is in the record, and as it was put there, is removed.
func (i *Installer) Uninstall(ctx context.Context) (Removal, error) {
	unlock, err := i.opts.Files.Lock(ctx, lockPath)
	if errors.Is(err, fs.ErrNotExist) {
		return Removal{}, nil // where there is no directory for it, there is no record either
	}
	if unlockable(err) {
		unlock, err = func() {}, nil
	}
	if err != nil {
		return Removal{}, err
	}
	defer unlock()
	record, err := readRecord(i.opts.Files)
	if err != nil {
		return Removal{}, err
	}
	if record == nil {
		return Removal{}, i.opts.Files.Tidy(RecordPath) // of an installation that was ended before it began
	}
	r := Removal{Found: true}
	manager := i.opts.Systemd
	for _, step := range []func(context.Context) error{
		manager.Stop, manager.Disable, i.takeAway(record, UnitPath, &r), manager.Reload, manager.ResetFailed,
		i.takeAway(record, reclaim.ConfigPath, &r), i.takeAway(record, ProgramPath, &r), i.forget,
	} {
		if err := step(ctx); err != nil {
			return r, err
		}
	}
	return r, nil
}

// unlockable: where nobody can make the lock, nobody else holds it. An agent that can be stopped is stopped, whatever remains of its files.
func unlockable(err error) bool {
	return errors.Is(err, unix.EROFS) || errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// takeAway removes one file if it is ours, and notes why if it stays.
func (i *Installer) takeAway(record *Record, path string, r *Removal) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		entry := record.entry(path)
		f, err := i.opts.Files.Look(path)
		switch {
		case err != nil:
			return err
		case f.Kind == hostfs.Nothing:
			return i.opts.Files.Tidy(path)
		case entry == nil:
			r.leave(path, "it was not installed by the DaemonSet")
			return nil
		case !entry.unchanged(f):
			r.leave(path, "it is not as it was installed any more")
			return i.opts.Files.Tidy(path)
		}
		i.opts.Log.Info("removed", "file", path)
		return i.opts.Files.Remove(path)
	}
}

func (r *Removal) leave(path, why string) { r.Left = append(r.Left, Left{path, why}) }

// forget removes the record.
func (i *Installer) forget(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("removing %s: %w", RecordPath, err)
	}
	return i.opts.Files.Remove(RecordPath)
}
