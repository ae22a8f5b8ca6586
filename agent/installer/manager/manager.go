// Package manager talks to the systemd of the host about one unit, over systemd's private socket: no message bus is in between, so that
// none has to run. Whoever reaches that socket as root is root on the host. It must not know what the unit is for.
//
// Every call makes a connection of its own, because a daemon-reload or daemon-reexec cuts the old ones, and has a deadline.
package manager

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	systemd "github.com/coreos/go-systemd/v22/dbus"
	"github.com/godbus/dbus/v5"

	"5spot.finos.org/node-reclaim/agent/node"
)

const (
	callTimeout = 10 * time.Second
	// slowTimeout is for what can take systemd long: reading every unit again, or waiting for a stop.
	slowTimeout = 30 * time.Second
	// pollPause is the time between two looks at a unit that is to stop. Job signals could be missed, states cannot.
	pollPause = 50 * time.Millisecond
)

// ErrNotBooted says that the host was not booted with systemd.
var ErrNotBooted = errors.New("systemd is not this host's init")

// Systemd is the manager of the host, for one unit.
type Systemd struct {
	root string
	unit string
}

// At is the systemd of the host whose root directory is root, for a unit.
func At(root, unit string) *Systemd { return &Systemd{root: root, unit: unit} }

// About is what systemd says of itself.
type About struct {
	// Version is the first number of it: 252.
	Version int
	// Architecture of the host in systemd's words: x86-64, arm64.
	Architecture string
}

// About asks systemd for itself. ErrNotBooted when there is none.
func (s *Systemd) About(ctx context.Context) (About, error) {
	// The sign that sd_booted(3) goes by.
	if _, err := os.Stat(filepath.Join(s.root, "/run/systemd/system")); err != nil {
		return About{}, fmt.Errorf("%w (%w)", ErrNotBooted, err)
	}
	var a About
	err := s.talk(ctx, callTimeout, "asking systemd for its version", func(_ context.Context, c *systemd.Conn) error {
		version, err := property(c, "Version")
		if err != nil {
			return err
		}
		if a.Version, err = parseVersion(version); err != nil {
			return err
		}
		a.Architecture, err = property(c, "Architecture")
		return err
	})
	return a, err
}

// property is one of the manager's strings. The library gives it as source text, in quotes.
func property(c *systemd.Conn, name string) (string, error) {
	text, err := c.GetManagerProperty(name)
	if err != nil {
		return "", err
	}
	return strconv.Unquote(text)
}

// parseVersion takes the number off "252.39-1~deb12u2" or "v256.4".
func parseVersion(text string) (int, error) {
	digits := strings.TrimPrefix(text, "v")
	if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		digits = digits[:end]
	}
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0, fmt.Errorf("systemd's version %q does not begin with a number", text)
	}
	return n, nil
}

// talk makes a connection for one batch of calls, which end with it at the deadline.
func (s *Systemd) talk(ctx context.Context, limit time.Duration, doing string, do func(context.Context, *systemd.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := s.connected(ctx, do)
	if late := ctx.Err(); err != nil && late != nil && !errors.Is(err, late) { // the connection was closed under a call
		err = fmt.Errorf("systemd has not answered: %w", late)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

func (s *Systemd) connected(ctx context.Context, do func(context.Context, *systemd.Conn) error) error {
	c, err := systemd.NewConnection(func() (*dbus.Conn, error) { return s.dial(ctx) })
	if err != nil {
		return fmt.Errorf("connecting to systemd: %w", err)
	}
	defer c.Close()
	return do(ctx, c)
}

// dial authenticates by the socket's credentials. There is no Hello, which is for a message bus.
func (s *Systemd) dial(ctx context.Context) (*dbus.Conn, error) {
	c, err := dbus.Dial("unix:path="+dbus.EscapeBusAddressValue(filepath.Join(s.root, "/run/systemd/private")), dbus.WithContext(ctx))
	if err != nil {
		return nil, err
	}
	if err := c.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Geteuid()))}); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func pause(ctx context.Context) error {
	node.Sleep(ctx, pollPause)
	return ctx.Err()
}
