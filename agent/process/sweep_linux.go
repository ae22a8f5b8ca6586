package process

import (
	"5spot.finos.org/node-reclaim/agent/match"
)

// Sweep looks at every process once. Command names come first, over everybody: reading them never blocks, reading arguments may.
type Sweep struct {
	matcher *match.Matcher
	found   func(Hit)
	pids    []int
	passes  []pass
	next    int
}

// pass is one file of every process, and what makes it worth a closer look.
type pass struct {
	file       string
	suspicious func([]byte) bool
}

// NewSweep lists the processes, and fails when other processes cannot be seen. found is told of the first that matches, and the sweep is
// over with it.
func (fs *FS) NewSweep(m *match.Matcher, found func(Hit)) (*Sweep, error) {
	list, err := fs.others()
	if err != nil {
		return nil, err
	}
	w := &Sweep{matcher: m, found: found, pids: list}
	if m.ReadsComm() {
		w.passes = append(w.passes, pass{"comm", func(b []byte) bool { return m.MayMatchComm(comm(b)) }})
	}
	if m.ReadsArgs() && !fs.tooManyBlocked() {
		w.passes = append(w.passes, pass{"cmdline", func(b []byte) bool { return m.MayMatchArgs(match.JoinArgv(b)) }})
	}
	return w, nil
}

// Step looks at one process, for a Patrol. What cannot be read is passed over: it has ended, or it is tried again by the next sweep, since
// nothing is remembered of a process from one to the next.
func (w *Sweep) Step(s *Scout) bool {
	if len(w.passes) == 0 {
		return false
	}
	if w.next == len(w.pids) {
		w.passes, w.next = w.passes[1:], 0
		return true
	}
	pid, pass := w.pids[w.next], w.passes[0]
	w.next++
	if suspect, err := s.glance(pid, pass.file, pass.suspicious); !suspect || err != nil {
		return true
	}
	hit, err := s.Look(pid, w.matcher)
	if hit == nil || err != nil {
		return true
	}
	w.found(*hit)
	return false
}
