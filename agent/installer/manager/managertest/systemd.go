// Package managertest is a systemd for tests that need none of it to be real: a unit's life on a directory that stands for a host. Its
// likeness is checked by the tests of package manager, which ask the same of the real one. It must not know what the unit is for.
package managertest

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"k8s.io/utils/clock"

	"5spot.finos.org/node-reclaim/agent/installer/manager"
)

// Systemd keeps one unit. Its fields may be changed between calls.
type Systemd struct {
	// Self is what it says of itself.
	Self manager.About
	// Fault is what every call fails with.
	Fault error
	// Sickly has the unit end by itself whenever it is started.
	Sickly bool
	// Jobs are the changes that were asked for, in order: reload, enable, disable, start, restart, stop, reset.
	Jobs []string

	root, unit string
	clock      clock.PassiveClock
	loaded     string // the file's content when it was read; empty when there was none
	state      string
	since      time.Time
}

// New is a systemd that was just booted on the host whose root directory is root.
func New(root, unit string, c clock.PassiveClock) *Systemd {
	s := &Systemd{Self: manager.About{Version: 252, Architecture: "x86-64"}, root: root, unit: unit, clock: c, state: "inactive"}
	s.loaded = s.onDisk()
	return s
}

func (s *Systemd) path() string { return filepath.Join(s.root, "/etc/systemd/system", s.unit) }

func (s *Systemd) link() string {
	return filepath.Join(s.root, "/etc/systemd/system/multi-user.target.wants", s.unit)
}

const devNull = "masked"

func (s *Systemd) onDisk() string {
	if target, err := os.Readlink(s.path()); err == nil && target == "/dev/null" {
		return devNull
	}
	text, _ := os.ReadFile(s.path())
	return string(text)
}

// job notes a change that was asked for.
func (s *Systemd) job(name string) error {
	if s.Fault == nil {
		s.Jobs = append(s.Jobs, name)
	}
	return s.Fault
}

// About implements installer.Systemd, as the other methods do.
func (s *Systemd) About(context.Context) (manager.About, error) { return s.Self, s.Fault }

// Unit loads a unit that was not known, as the real one does.
func (s *Systemd) Unit(context.Context) (manager.Unit, error) {
	if s.loaded == "" && s.state == "inactive" {
		s.loaded = s.onDisk()
	}
	u := manager.Unit{Load: "loaded", Active: s.state, Sub: s.state, Path: "/etc/systemd/system/" + s.unit, Since: s.since}
	switch s.loaded {
	case "":
		u.Load, u.Path = "not-found", ""
	case devNull:
		u.Load = "masked"
	}
	u.Outdated = s.loaded != s.onDisk()
	_, err := os.Lstat(s.link())
	u.Enabled = err == nil && s.onDisk() != ""
	return u, s.Fault
}

// Reload reads the unit again.
func (s *Systemd) Reload(context.Context) error {
	if err := s.job("reload"); err != nil {
		return err
	}
	s.loaded = s.onDisk()
	return nil
}

// Enable makes the link that starts the unit at boot.
func (s *Systemd) Enable(context.Context) error {
	if err := s.job("enable"); err != nil {
		return err
	}
	if s.onDisk() == "" || s.onDisk() == devNull {
		return errors.New("no such unit file, or masked")
	}
	if err := os.MkdirAll(filepath.Dir(s.link()), 0o755); err != nil {
		return err
	}
	if err := os.Symlink(s.path(), s.link()); !os.IsExist(err) {
		return err
	}
	return nil
}

// Disable removes that link.
func (s *Systemd) Disable(context.Context) error {
	if err := s.job("disable"); err != nil {
		return err
	}
	if err := os.Remove(s.link()); !os.IsNotExist(err) {
		return err
	}
	return nil
}

// Start is done at once.
func (s *Systemd) Start(context.Context) error {
	if err := s.job("start"); err != nil {
		return err
	}
	return s.start()
}

// Restart is a new start.
func (s *Systemd) Restart(context.Context) error {
	if err := s.job("restart"); err != nil {
		return err
	}
	return s.start()
}

func (s *Systemd) start() error {
	if s.loaded == "" || s.loaded == devNull {
		return errors.New("unit not found, or masked")
	}
	s.state, s.since = "active", s.clock.Now()
	if s.Sickly {
		s.Fail()
	}
	return nil
}

// Stop is done at once.
func (s *Systemd) Stop(context.Context) error {
	if s.state == "inactive" {
		return s.Fault
	}
	if err := s.job("stop"); err != nil {
		return err
	}
	s.state = "inactive"
	return nil
}

// ResetFailed forgets that the unit has failed.
func (s *Systemd) ResetFailed(context.Context) error {
	if err := s.job("reset"); err != nil {
		return err
	}
	if s.state == "failed" {
		s.state = "inactive"
	}
	return nil
}

// Age makes the unit active for longer than it was.
func (s *Systemd) Age(by time.Duration) { s.since = s.since.Add(-by) }

// Fail has the unit end by itself.
func (s *Systemd) Fail() { s.state = "failed" }
