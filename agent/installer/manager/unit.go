package manager

import (
	"context"
	"errors"
	"fmt"
	"time"

	systemd "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"
)

// replaceJobs lets a new job take the place of one that waits.
const replaceJobs = "replace"

// Unit is how systemd sees the unit.
type Unit struct {
	// Load is loaded, not-found, masked, error, bad-setting.
	Load string
	// Active is active, activating, reloading, deactivating, inactive, failed.
	Active string
	// Sub is the finer state, such as auto-restart.
	Sub string
	// Path is the file that it was loaded from.
	Path string
	// Since is when it became active, by the host's clock. Zero when it never was.
	Since time.Time
	// Enabled says that it is started at boot.
	Enabled bool
	// Outdated says that the files on disk are not what was loaded.
	Outdated bool
}

// Masked says that the operator forbids this unit.
func (u Unit) Masked() bool { return u.Load == "masked" }

// Down says that nothing of the unit runs, nor will by itself.
func (u Unit) Down() bool { return u.Active == "inactive" || u.Active == "failed" }

// Unit asks for the state.
func (s *Systemd) Unit(ctx context.Context) (Unit, error) {
	var u Unit
	err := s.talk(ctx, callTimeout, "asking systemd for "+s.unit, func(ctx context.Context, c *systemd.Conn) error {
		var err error
		u, err = s.look(ctx, c)
		return err
	})
	return u, err
}

func (s *Systemd) look(ctx context.Context, c *systemd.Conn) (Unit, error) {
	p, err := c.GetUnitPropertiesContext(ctx, s.unit)
	if err != nil {
		return Unit{}, err
	}
	u := Unit{Load: text(p, "LoadState"), Active: text(p, "ActiveState"), Sub: text(p, "SubState"), Path: text(p, "FragmentPath")}
	u.Outdated, _ = p["NeedDaemonReload"].(bool)
	if since, _ := p["ActiveEnterTimestamp"].(uint64); since != 0 {
		u.Since = time.UnixMicro(int64(since))
	}
	// Not the property UnitFileState: systemd remembers that one until it reloads.
	files, err := c.ListUnitFilesByPatternsContext(ctx, nil, []string{s.unit})
	if err != nil {
		return Unit{}, err
	}
	u.Enabled = len(files) == 1 && files[0].Type == "enabled"
	return u, nil
}

func text(properties map[string]any, name string) string {
	s, _ := properties[name].(string)
	return s
}

// Reload makes systemd read its unit files again. A call that is not answered in time may have been carried out: then the unit says.
func (s *Systemd) Reload(ctx context.Context) error {
	err := s.talk(ctx, slowTimeout, "reloading systemd", func(ctx context.Context, c *systemd.Conn) error { return c.ReloadContext(ctx) })
	if !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	u, asked := s.Unit(ctx)
	if asked != nil || u.Outdated {
		return errors.Join(err, asked)
	}
	return nil
}

// Enable has the unit started at boot.
func (s *Systemd) Enable(ctx context.Context) error {
	return s.talk(ctx, callTimeout, "enabling "+s.unit, func(ctx context.Context, c *systemd.Conn) error {
		_, _, err := c.EnableUnitFilesContext(ctx, []string{s.unit}, false, false)
		return err
	})
}

// Disable undoes Enable.
func (s *Systemd) Disable(ctx context.Context) error {
	return s.talk(ctx, callTimeout, "disabling "+s.unit, func(ctx context.Context, c *systemd.Conn) error {
		_, err := c.DisableUnitFilesContext(ctx, []string{s.unit}, false)
		return unlessGone(err)
	})
}

// Start has the unit started, and does not wait for it.
func (s *Systemd) Start(ctx context.Context) error {
	return s.talk(ctx, callTimeout, "starting "+s.unit, func(ctx context.Context, c *systemd.Conn) error {
		_, err := c.StartUnitContext(ctx, s.unit, replaceJobs, nil)
		return err
	})
}

// Restart has the unit started anew, whether it runs or not, and does not wait for it.
func (s *Systemd) Restart(ctx context.Context) error {
	return s.talk(ctx, callTimeout, "restarting "+s.unit, func(ctx context.Context, c *systemd.Conn) error {
		_, err := c.RestartUnitContext(ctx, s.unit, replaceJobs, nil)
		return err
	})
}

// Stop returns when nothing of the unit runs any more.
func (s *Systemd) Stop(ctx context.Context) error {
	return s.talk(ctx, slowTimeout, "stopping "+s.unit, func(ctx context.Context, c *systemd.Conn) error {
		u, err := s.look(ctx, c)
		if err != nil || u.Down() {
			return err
		}
		if _, err := c.StopUnitContext(ctx, s.unit, replaceJobs, nil); unlessGone(err) != nil {
			return err
		}
		for !u.Down() {
			if err := pause(ctx); err != nil {
				return fmt.Errorf("it is still %s (%s): %w", u.Active, u.Sub, err)
			}
			if u, err = s.look(ctx, c); err != nil {
				return err
			}
		}
		return nil
	})
}

// ResetFailed makes systemd forget that the unit has failed, and with it the unit, once its file is gone.
func (s *Systemd) ResetFailed(ctx context.Context) error {
	return s.talk(ctx, callTimeout, "resetting "+s.unit, func(ctx context.Context, c *systemd.Conn) error {
		return unlessGone(c.ResetFailedUnitContext(ctx, s.unit))
	})
}

// unlessGone: what is not there need not be taken away.
func unlessGone(err error) error {
	var reply dbus.Error
	if !errors.As(err, &reply) {
		return err
	}
	switch reply.Name {
	case "org.freedesktop.systemd1.NoSuchUnit", "org.freedesktop.DBus.Error.FileNotFound", "System.Error.ENOENT":
		return nil
	}
	return err
}
