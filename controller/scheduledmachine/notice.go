package scheduledmachine

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// noticeLimit is a length in bytes that the API server takes in a condition: part of a notice is text of the child cluster.
const noticeLimit = 4096

// notice is what a shutdown waits for. It becomes the condition ShuttingDown and the message of the phase.
type notice struct {
	reason, message string
	// stuck: it waits for a person.
	stuck bool
}

// wait says what the shutdown waits for.
func (s *scope) wait(reason, format string, args ...any) {
	s.notice = &notice{reason: reason, message: short(fmt.Sprintf(format, args...))}
}

// short cuts a text that may hold others', a webhook's for example, to what the API server stores.
func short(text string) string { return strings.ToValidUTF8(text[:min(len(text), noticeLimit)], "") }

// stuck says what the shutdown waits for, when only a person can end that.
func (s *scope) stuck(reason, format string, args ...any) {
	s.wait(reason, format, args...)
	s.notice.stuck = true
}

// again has the machine looked at again after d at the latest.
func (s *scope) again(d time.Duration) {
	if s.wake == 0 || d < s.wake {
		s.wake = max(d, time.Millisecond)
	}
}

// progress is the notice for a person.
func (s *scope) progress() string {
	if s.notice == nil {
		return awaitingMachine
	}
	return s.notice.message
}

func (s *scope) setShuttingDown() {
	notice := cmp.Or(s.notice, &notice{})
	s.setWhileTrue(v1alpha1.ConditionShuttingDown, s.notice != nil, notice.reason, notice.message)
}
