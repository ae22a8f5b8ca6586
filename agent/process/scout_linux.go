package process

import (
	"errors"
	"strconv"
	"sync/atomic"

	"5spot.finos.org/node-reclaim/agent/match"
)

// ErrBlocked says that a process is not read because an earlier read of it has not come back.
var ErrBlocked = errors.New("an earlier read of the process has not come back")

// errDismissed ends a scout that has been replaced.
var errDismissed = errors.New("replaced by another scout")

// maxBlocked bounds the threads that may hang in reads. Beyond it only command names are read, which does not block.
const maxBlocked = 32

// Hit is a process that makes the node leave, and the entry that says so.
type Hit struct {
	Process match.Process
	Rule    match.Rule
}

// Scout reads processes for one goroutine. Its reads may block in the kernel for as long as somebody else holds a process's memory map;
// a Patrol notices that through at and goes on with another scout.
type Scout struct {
	fs  *FS
	buf []byte
	// at is the process being read in its lower half, 0 for none, and the number of reads so far in the upper.
	at  atomic.Int64
	own int64 // at as this scout left it
	// resting says that whoever supervises wants to be stirred by the next read.
	resting atomic.Bool
	stirred chan struct{}
}

// dismissed is the value of at that no scout sets itself.
const dismissed = -1

func newScout(fs *FS) *Scout {
	return &Scout{fs: fs, buf: make([]byte, 0, 4096), stirred: make(chan struct{}, 1)}
}

// Look reads as little of a process as m needs to say no, and all of it otherwise. It gives nil for a process that does not match.
func (s *Scout) Look(pid int, m *match.Matcher) (*Hit, error) {
	if err := s.begin(pid); err != nil {
		return nil, err
	}
	defer s.end(pid)
	if suspect, err := s.suspect(pid, m); !suspect || err != nil {
		return nil, err
	}
	dir, err := openDirectory(s.fs.dir, s.fs.root, pid)
	if err != nil {
		return nil, err
	}
	defer dir.close()
	return s.judge(dir, pid, m)
}

// suspect is asked a thousand times a second, so it does without the process's directory. What it reads may be of two processes, one after
// the other; that can raise suspicion, which judge settles, but it hides nothing: the later one's own exec is still to be looked at.
func (s *Scout) suspect(pid int, m *match.Matcher) (bool, error) {
	number := strconv.Itoa(pid)
	name, err := s.read(s.fs.dir, s.fs.root, number+"/comm")
	if err != nil || m.MayMatchComm(comm(name)) {
		return true, err
	}
	if !m.ReadsArgs() {
		return false, nil
	}
	if s.fs.tooManyBlocked() {
		return false, ErrBlocked
	}
	cmdline, err := s.read(s.fs.dir, s.fs.root, number+"/cmdline")
	if err != nil {
		return false, err
	}
	// No arguments: either it was started so, or it has ended, and then judge finds a zombie.
	return len(cmdline) == 0 || m.MayMatchArgs(match.JoinArgv(cmdline)), nil
}

// judge gives the verdict. Arguments are read last, and only when the rest does not settle it: that may block. A process that has ended is
// gone, though its parent has not taken notice yet.
func (s *Scout) judge(dir directory, pid int, m *match.Matcher) (*Hit, error) {
	p, err := s.fs.describe(dir, pid)
	if err != nil {
		return nil, err
	}
	verdict := m.Judge(p)
	if !verdict.Fits && verdict.Ignored == "" {
		if err := addArgs(dir, &p); err != nil {
			return nil, err
		}
		verdict = m.Judge(p)
	}
	switch {
	case verdict.Ignored == match.IgnoredZombie:
		return nil, ErrGone
	case !verdict.Fires():
		return nil, nil
	}
	return &Hit{Process: p, Rule: verdict.Rule}, nil
}

// glance reads one file of a process and says whether it calls for a Look.
func (s *Scout) glance(pid int, file string, suspicious func([]byte) bool) (bool, error) {
	if err := s.begin(pid); err != nil {
		return false, err
	}
	defer s.end(pid)
	content, err := s.read(s.fs.dir, s.fs.root, strconv.Itoa(pid)+"/"+file)
	return err == nil && suspicious(content), err
}

// read keeps its buffer for the next time.
func (s *Scout) read(at int, path, name string) ([]byte, error) {
	content, err := readAt(at, path, name, s.buf)
	if cap(content) > cap(s.buf) && cap(content) <= keepBytes {
		s.buf = content[:0]
	}
	return content, err
}

func (s *Scout) begin(pid int) error {
	if s.fs.isBlocked(pid) {
		return ErrBlocked
	}
	next := (s.own>>32+1)<<32 | int64(pid)
	if !s.at.CompareAndSwap(s.own, next) {
		return errDismissed
	}
	s.own = next
	s.stir()
	return nil
}

func (s *Scout) end(pid int) {
	idle := s.own >> 32 << 32
	if !s.at.CompareAndSwap(s.own, idle) {
		s.fs.setBlocked(pid, false) // it came back after all
	}
	s.own = idle
}
