// Package notify tells systemd how the agent is: started, still turning, and in one line what it is doing. Outside systemd it does
// nothing. It must not know what there is to say.
package notify

import (
	"log/slog"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"k8s.io/utils/clock"
)

// Systemd is the service manager that started this process, if it is one. Not safe for concurrent use: one loop feeds it.
type Systemd struct {
	clock clock.PassiveClock
	log   *slog.Logger
	// pace between two feedings; zero without a watchdog.
	pace   time.Duration
	fed    time.Time
	failed bool
}

// New looks for the service manager in the environment: NOTIFY_SOCKET and WATCHDOG_USEC.
func New(c clock.PassiveClock, log *slog.Logger) *Systemd {
	timeout, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		log.Error("the watchdog's interval is not understood, it is not fed", "error", err)
	}
	return &Systemd{clock: c, log: log, pace: timeout / 3}
}

// Ready says that the start is over.
func (s *Systemd) Ready() { s.send(daemon.SdNotifyReady) }

// Status shows a line in `systemctl status`.
func (s *Systemd) Status(line string) { s.send("STATUS=" + line) }

// Alive feeds the watchdog, no more often than a third of its timeout.
func (s *Systemd) Alive() {
	now := s.clock.Now()
	if s.pace == 0 || now.Sub(s.fed) < s.pace {
		return
	}
	s.fed = now
	s.send(daemon.SdNotifyWatchdog)
}

// send logs the first failure of a row: systemd itself will act on the silence.
func (s *Systemd) send(message string) {
	_, err := daemon.SdNotify(false, message)
	if err != nil && !s.failed {
		s.log.Error("systemd cannot be told", "error", err)
	}
	s.failed = err != nil
}
