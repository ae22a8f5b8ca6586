package installer

import (
	"context"
	"fmt"
	"time"

	"5spot.finos.org/node-reclaim/systemd"
)

// steady is how long the agent has to have been active without a break to count as running: one that ends at once is active for a moment
// over and over.
const steady = 5 * time.Second

// pendingError is what passes by itself, and is worth another look soon.
type pendingError struct{ error }

// recent says that the agent has come up just now. A start in the future proves that the clock was put back since, and nothing else.
func (i *Installer) recent(since time.Time) bool {
	age := i.opts.Clock.Since(since)
	return 0 <= age && age < steady
}

// Health says why the agent does not run as it was installed, or nothing.
func (i *Installer) Health(ctx context.Context) error {
	u, err := i.opts.Systemd.Unit(ctx)
	switch {
	case err != nil:
		return err
	case u.Masked():
		return masked()
	case u.Load != "loaded":
		return fmt.Errorf("systemd has not loaded %s (%s): see `systemctl status %[1]s` on this host", systemd.UnitName, u.Load)
	case u.Path != UnitPath:
		return fmt.Errorf("systemd takes %s from %s: remove that file on this host", systemd.UnitName, u.Path)
	case u.Active != "active":
		return pendingError{fmt.Errorf("%s is %s (%s): see `journalctl -u %[1]s` on this host", systemd.UnitName, u.Active, u.Sub)}
	case i.recent(u.Since):
		return pendingError{fmt.Errorf("%s has been active for less than %s", systemd.UnitName, steady)}
	}
	i.starts.succeeded()
	return nil
}
