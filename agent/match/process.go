package match

import (
	"bytes"
	"strings"
)

// Process is what is known of one process. All texts are as the kernel gives them, so they need not be UTF-8.
type Process struct {
	PID int
	// StartTime is in clock ticks since boot. With the PID it names a process for good; an exec keeps both.
	StartTime uint64
	// Comm is the command name, cut to 15 bytes by the kernel.
	Comm string
	Argv []string
	// Exe is the path of the program file, empty when it may not be read (that takes CAP_SYS_PTRACE).
	Exe string
	// Cgroup holds the lines of /proc/PID/cgroup, as seen from Vantage.
	Cgroup  []string
	Vantage Vantage
	// State is the letter in /proc/PID/stat: 'Z' is a zombie, 'X' is dead.
	State        byte
	KernelThread bool
	// Self is true of the watcher.
	Self bool
}

// runs says whether name is the program's full name: the last part of its path as called, of the script that an interpreter was
// called with, or of the program file.
func (p Process) runs(name string) bool {
	for _, arg := range p.Argv[:min(2, len(p.Argv))] {
		if base(arg) == name {
			return true
		}
	}
	// The kernel appends this once the file is unlinked, as it is after an upgrade.
	return base(strings.TrimSuffix(p.Exe, " (deleted)")) == name
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// SplitArgv cuts the contents of /proc/PID/cmdline into arguments.
func SplitArgv(cmdline []byte) []string {
	if len(cmdline) == 0 {
		return nil
	}
	return strings.Split(string(trimNUL(cmdline)), "\x00")
}

// JoinArgv turns the contents of /proc/PID/cmdline, in place, into the arguments joined by one space.
func JoinArgv(cmdline []byte) []byte {
	joined := trimNUL(cmdline)
	for rest := joined; ; {
		i := bytes.IndexByte(rest, 0)
		if i < 0 {
			return joined
		}
		rest[i] = ' '
		rest = rest[i+1:]
	}
}

// trimNUL takes off the NUL that ends the last argument.
func trimNUL(cmdline []byte) []byte { return bytes.TrimSuffix(cmdline, []byte{0}) }
