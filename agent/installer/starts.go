package installer

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// starts spaces out the attempts on a unit that does not stay up: the reason is the operator's drop-in or the host's fault, and another start does
// not mend it.
type starts struct {
	n     int
	next  time.Time
	pause wait.Backoff
}

// due says whether to start the unit now, and counts that as an attempt.
func (s *starts) due(now time.Time) bool {
	if now.Before(s.next) {
		return false
	}
	if s.n == 0 {
		s.pause = wait.Backoff{Duration: time.Second, Factor: 2, Steps: 7, Cap: time.Minute}
	}
	s.n++
	s.next = now.Add(s.pause.Step())
	return true
}

// succeeded makes the next attempt the first one again.
func (s *starts) succeeded() { *s = starts{} }
