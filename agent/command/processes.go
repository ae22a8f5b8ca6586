package command

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"5spot.finos.org/node-reclaim/agent/match"
	"5spot.finos.org/node-reclaim/agent/process"
)

// hit is a running process that would make this machine leave.
type hit struct {
	PID   int    `json:"pid"`
	Comm  string `json:"comm"`
	List  string `json:"list"`
	Entry string `json:"entry"`
}

// openProc opens /proc, and refuses one in which an empty answer would mean nothing.
func openProc(env Env) (*process.FS, error) {
	fs, err := process.Open(env.Proc, os.Getpid())
	if err != nil {
		return nil, err
	}
	if err := fs.CheckVisible(); err != nil {
		return nil, errors.Join(err, fs.Close())
	}
	return fs, nil
}

// hits looks at every running process.
func hits(env Env, m *match.Matcher) (_ []hit, err error) {
	fs, err := openProc(env)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, fs.Close()) }()
	pids, err := fs.PIDs()
	if err != nil {
		return nil, err
	}
	found := []hit{}
	for _, pid := range pids {
		p, err := fs.Process(pid)
		if err != nil { // it has ended, or its arguments are nobody's to read: then it cannot be seen to match either
			continue
		}
		if v := m.Judge(p); v.Fires() {
			found = append(found, hit{PID: pid, Comm: p.Comm, List: v.Rule.List, Entry: v.Rule.Entry})
		}
	}
	return found, nil
}

// look reads one process.
func look(env Env, pid int) (_ match.Process, err error) {
	if of := processOf(env.Proc, pid); of != pid {
		return match.Process{}, fmt.Errorf("%d is a thread of process %d: explain that one", pid, of)
	}
	fs, err := openProc(env)
	if err != nil {
		return match.Process{}, err
	}
	defer func() { err = errors.Join(err, fs.Close()) }()
	p, err := fs.Process(pid)
	if errors.Is(err, process.ErrGone) {
		return p, fmt.Errorf("there is no process %d", pid)
	}
	return p, err
}

// processOf gives the process that a thread belongs to. /proc has a directory for each thread, too, though it lists none.
func processOf(proc string, id int) int {
	status, _ := os.ReadFile(filepath.Join(proc, strconv.Itoa(id), "status")) // who is gone is noticed later
	for line := range strings.Lines(string(status)) {
		if tgid, is := strings.CutPrefix(line, "Tgid:"); is {
			if of, err := strconv.Atoi(strings.TrimSpace(tgid)); err == nil {
				return of
			}
		}
	}
	return id
}
