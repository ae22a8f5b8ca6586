package notify

import (
	"log/slog"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	testclock "k8s.io/utils/clock/testing"
)

// socket stands for systemd's.
func socket(t *testing.T) func() string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notify")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	t.Setenv("NOTIFY_SOCKET", path)
	return func() string {
		require.NoError(t, c.SetReadDeadline(time.Now().Add(100*time.Millisecond)))
		buffer := make([]byte, 1024)
		n, err := c.Read(buffer)
		if err != nil {
			return ""
		}
		return string(buffer[:n])
	}
}

func TestTheProtocol(t *testing.T) {
	next := socket(t)
	s := New(testclock.NewFakePassiveClock(time.Now()), slog.Default())
	s.Ready()
	require.Equal(t, "READY=1", next())
	s.Status("armed; Node ws-1")
	require.Equal(t, "STATUS=armed; Node ws-1", next())
	s.Alive()
	require.Empty(t, next(), "no watchdog was asked for")
}

func TestTheWatchdogIsFedThreeTimesInItsTimeout(t *testing.T) {
	next := socket(t)
	t.Setenv("WATCHDOG_USEC", "9000000")
	clock := testclock.NewFakePassiveClock(time.Now())
	s := New(clock, slog.Default())
	s.Alive()
	require.Equal(t, "WATCHDOG=1", next())
	clock.SetTime(clock.Now().Add(2999 * time.Millisecond))
	s.Alive()
	require.Empty(t, next())
	clock.SetTime(clock.Now().Add(time.Millisecond))
	s.Alive()
	require.Equal(t, "WATCHDOG=1", next())
}

func TestOutsideSystemdNothingHappens(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", "")
	New(testclock.NewFakePassiveClock(time.Now()), slog.Default()).Ready()
}
