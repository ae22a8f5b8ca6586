package process

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"sync"

	"golang.org/x/sys/unix"

	"5spot.finos.org/node-reclaim/agent/match"
)

// FS is a /proc. Safe for concurrent use.
type FS struct {
	root    string
	dir     int
	self    int
	vantage match.Vantage

	mu sync.Mutex
	// blocked are the processes that a read does not come back from.
	blocked map[int]bool
}

// Open opens the /proc that is mounted at root. self is the watcher's own process id there.
func Open(root string, self int) (*FS, error) {
	dir, err := openAt(unix.AT_FDCWD, root, unix.O_PATH|unix.O_DIRECTORY)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: root, Err: err}
	}
	fs := &FS{root: root, dir: dir, self: self, blocked: map[int]bool{}}
	if cgroup, err := readAt(dir, root, "1/cgroup", nil); err == nil { // without it, paths are taken as absolute
		fs.vantage = match.NewVantage(lines(cgroup))
	}
	return fs, nil
}

// Close gives the directory back.
func (fs *FS) Close() error { return unix.Close(fs.dir) }

// PIDs lists the processes that can be seen.
func (fs *FS) PIDs() ([]int, error) {
	list, err := listPIDs(fs.dir)
	if err != nil {
		return nil, fmt.Errorf("listing %s: %w", fs.root, err)
	}
	return list, nil
}

// Process reads all there is to know of one process, for a person who asks.
func (fs *FS) Process(pid int) (match.Process, error) {
	dir, err := openDirectory(fs.dir, fs.root, pid)
	if err != nil {
		return match.Process{}, err
	}
	defer dir.close()
	p, err := fs.describe(dir, pid)
	if err == nil {
		err = addArgs(dir, &p)
	}
	return p, err
}

// describe reads all but the arguments and the program file: what can be read without touching the process's memory, which may block.
func (fs *FS) describe(dir directory, pid int) (match.Process, error) {
	name, err := dir.read("comm")
	if err != nil {
		return match.Process{}, err
	}
	cgroup, err := dir.read("cgroup")
	if err != nil {
		return match.Process{}, err
	}
	line, err := dir.read("stat")
	if err != nil {
		return match.Process{}, err
	}
	s, err := parseStat(line)
	if err != nil {
		return match.Process{}, fmt.Errorf("reading %s/stat: %w", dir.path, err)
	}
	return match.Process{
		PID: pid, StartTime: s.startTime, Comm: string(comm(name)), Cgroup: lines(cgroup), Vantage: fs.vantage,
		State: s.state, KernelThread: s.kernelThread, Self: pid == fs.self,
	}, nil
}

func addArgs(dir directory, p *match.Process) error {
	cmdline, err := dir.read("cmdline")
	if err != nil {
		return err
	}
	p.Argv, p.Exe = match.SplitArgv(cmdline), dir.link("exe")
	return nil
}

// comm takes off the newline that the kernel adds. A name may end in one of its own.
func comm(file []byte) []byte { return bytes.TrimSuffix(file, []byte{'\n'}) }

// CheckVisible says whether the agent can see other processes at all. Under hidepid= even root may not, and then a sweep that finds
// nothing means nothing.
func (fs *FS) CheckVisible() error {
	_, err := fs.others()
	return err
}

// others lists the processes, the agent's own among them, once it is sure that those are not all that the agent may see.
func (fs *FS) others() ([]int, error) {
	if _, err := readAt(fs.dir, fs.root, "1/comm", nil); err != nil {
		return nil, fmt.Errorf("cannot see other processes, not even PID 1 (is %s mounted with hidepid?): %w", fs.root, err)
	}
	list, err := fs.PIDs()
	if err != nil {
		return nil, fmt.Errorf("cannot see other processes: %w", err)
	}
	if !slices.ContainsFunc(list, func(pid int) bool { return pid != fs.self }) {
		return nil, fmt.Errorf("cannot see other processes: %s shows only the agent itself (in a PID namespace of its own?)", fs.root)
	}
	return list, nil
}
