package installer

import (
	"context"
	"io"
	"io/fs"
	"log/slog"
	"reflect"
	"slices"
	"strings"

	"k8s.io/utils/clock"

	"5spot.finos.org/node-reclaim/agent/installer/hostfs"
	"5spot.finos.org/node-reclaim/agent/installer/manager"
	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/systemd"
)

// Options of an Installer. All are needed.
type Options struct {
	Files   Files
	Systemd Systemd
	Clock   clock.PassiveClock
	Log     *slog.Logger
	// Version and Program are the agent that is installed: the one that runs here.
	Version string
	Program func() (io.ReadCloser, error)
	// Architecture of Program, in Go's words.
	Architecture string
}

// Installer changes the host. Each of its methods may be ended at any point, by force as well: the next call goes on from what it finds.
type Installer struct {
	opts Options
	// programHash is what the installed binary has to be. It is worked out once: a running program does not change.
	programHash string
	starts      starts
}

// New makes an Installer.
func New(o Options) *Installer { return &Installer{opts: o} }

// want is a file as it should be, and as it is.
type want struct {
	path string
	hash string
	mode fs.FileMode
	open func() (io.ReadCloser, error)
	is   hostfs.File
}

func (w want) met() bool {
	return w.is.Kind == hostfs.Regular && w.is.Hash == w.hash && w.is.Mode == w.mode
}

// Install puts in place what is missing and has systemd run it. A nil config leaves the configuration as it is. It does not wait until
// the agent is up: Health says that.
func (i *Installer) Install(ctx context.Context, owner Owner, config []byte) error {
	if err := i.preflight(ctx); err != nil {
		return err
	}
	unlock, err := i.opts.Files.Lock(ctx, lockPath)
	if err != nil {
		return err
	}
	defer unlock()
	unit, err := i.opts.Systemd.Unit(ctx)
	if err != nil {
		return err
	}
	if unit.Masked() {
		return masked()
	}
	record, err := readRecord(i.opts.Files)
	if err != nil {
		return err
	}
	wants, err := i.wants(config)
	if err != nil {
		return err
	}
	if err := i.noForeigner(record); err != nil {
		return err
	}
	changed, err := i.put(ctx, record, owner, wants)
	if err != nil {
		return err
	}
	return i.activate(ctx, unit, wants, changed)
}

func masked() *Refusal {
	return refuse(ReasonUnitMasked, "%s is masked on this host, which is the operator's no: `systemctl unmask %[1]s` there, or %s",
		systemd.UnitName, optOut)
}

// noForeigner refuses to replace what somebody else has put on the host.
func (i *Installer) noForeigner(record *Record) error {
	for _, path := range installed() {
		f, err := i.opts.Files.Look(path)
		if err != nil {
			return err
		}
		if f.Kind == hostfs.Other || f.Kind == hostfs.Regular && record.entry(path) == nil {
			return refuse(ReasonForeignFile, "%s on this host was not put there by this DaemonSet: move it away (mv %[1]s %[1]s.old), or %s",
				path, optOut)
		}
	}
	return nil
}

// wants are the files as they should be.
func (i *Installer) wants(config []byte) ([]want, error) {
	if i.programHash == "" {
		program, err := i.opts.Program()
		if err != nil {
			return nil, err
		}
		defer program.Close()
		if i.programHash, err = hostfs.Hash(program); err != nil {
			return nil, err
		}
	}
	wants := []want{{path: ProgramPath, hash: i.programHash, mode: programMode, open: i.opts.Program}}
	if config != nil {
		wants = append(wants, textFile(reclaim.ConfigPath, string(config)))
	}
	wants = append(wants, textFile(UnitPath, systemd.Unit()))
	for n := range wants {
		var err error
		if wants[n].is, err = i.opts.Files.Look(wants[n].path); err != nil {
			return nil, err
		}
	}
	return wants, nil
}

func textFile(path, text string) want {
	sum, _ := hostfs.Hash(strings.NewReader(text)) // reading a string does not fail
	return want{path: path, hash: sum, mode: textMode, open: func() (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(text)), nil
	}}
}

// put writes what is not as it should be, and says which files those were. While a file may be the old or the new one, the record has both.
func (i *Installer) put(ctx context.Context, record *Record, owner Owner, wants []want) ([]string, error) {
	during := i.during(record, owner, wants)
	if err := i.note(record, during); err != nil {
		return nil, err
	}
	var changed []string
	for _, w := range wants {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := i.write(w); err != nil {
			return nil, err
		}
		if !w.met() {
			changed = append(changed, w.path)
			i.opts.Log.Info("installed", "file", w.path, "sha256", w.hash)
		}
	}
	return changed, i.note(&during, during.settled())
}

// write replaces a file that is not as it should be. One that is may have the rest of another attempt beside it.
func (i *Installer) write(w want) error {
	if w.met() {
		return i.opts.Files.Tidy(w.path)
	}
	content, err := w.open()
	if err != nil {
		return err
	}
	defer content.Close()
	return i.opts.Files.Replace(w.path, content, w.mode)
}

// during is the record while the files are being replaced.
func (i *Installer) during(record *Record, owner Owner, wants []want) Record {
	next := Record{Schema: recordSchema, Version: i.opts.Version, Owner: owner}
	for _, path := range installed() {
		old := record.entry(path)
		n := slices.IndexFunc(wants, func(w want) bool { return w.path == path })
		switch {
		case n < 0 && old != nil:
			next.Files = append(next.Files, *old)
		case n >= 0:
			next.Files = append(next.Files, wants[n].entry(old))
		}
	}
	return next
}

// entry of a file that may still be the old one.
func (w want) entry(old *Entry) Entry {
	e := Entry{Path: w.path, SHA256: []string{w.hash}, Mode: octal(w.mode)}
	if old == nil || w.met() {
		return e
	}
	for _, sum := range old.SHA256 {
		if !slices.Contains(e.SHA256, sum) {
			e.SHA256 = append(e.SHA256, sum)
		}
	}
	return e
}

// note writes the record if it says something new.
func (i *Installer) note(old *Record, next Record) error {
	if old != nil && reflect.DeepEqual(*old, next) {
		return nil
	}
	return writeRecord(i.opts.Files, next)
}

// activate has systemd know the unit, start it at boot, and run it: anew, if what runs is not what is on disk. That is also so where systemd has
// not read the files since: an installer that was killed came to write the unit, and the agent may have started by itself under the old one.
func (i *Installer) activate(ctx context.Context, u manager.Unit, wants []want, changed []string) error {
	if !u.Enabled {
		if err := i.opts.Systemd.Enable(ctx); err != nil {
			return err
		}
	}
	if !u.Enabled || u.Outdated || u.Load != "loaded" || slices.Contains(changed, UnitPath) {
		if err := i.opts.Systemd.Reload(ctx); err != nil {
			return err
		}
	}
	switch {
	case slices.Contains(changed, ProgramPath), slices.Contains(changed, UnitPath), i.older(u, wants), u.Outdated && !u.Down():
		i.opts.Log.Info("agent started anew", "unit", systemd.UnitName)
		return i.opts.Systemd.Restart(ctx)
	case u.Down() && i.starts.due(i.opts.Clock.Now()):
		if i.starts.n == 1 {
			i.opts.Log.Info("agent started", "unit", systemd.UnitName)
		}
		return i.opts.Systemd.Start(ctx)
	}
	return nil
}

// older says that the agent was started before its program or unit were written: a run that was killed in between has not come to start
// it anew. A file from the future proves a wrong clock, and nothing else.
func (i *Installer) older(u manager.Unit, wants []want) bool {
	return slices.ContainsFunc(wants, func(w want) bool {
		return w.path != reclaim.ConfigPath && u.Active == "active" && u.Since.Before(w.is.Written) && w.is.Written.Before(i.opts.Clock.Now())
	})
}
