package process

import (
	"bytes"
	"fmt"
	"strconv"
)

// stat is what is needed of /proc/PID/stat.
type stat struct {
	state        byte
	kernelThread bool
	startTime    uint64
}

// kernelThreadFlag is PF_KTHREAD of linux/sched.h.
const kernelThreadFlag = 0x00200000

// Positions of fields after the command name, which is the second and may hold anything, spaces and parentheses included.
const (
	stateField     = 0
	flagsField     = 6
	startTimeField = 19
)

// parseStat reads a line of /proc/PID/stat, as proc_pid_stat(5) describes it.
func parseStat(line []byte) (stat, error) {
	fields := bytes.Fields(line[bytes.LastIndexByte(line, ')')+1:])
	if len(fields) <= startTimeField {
		return stat{}, fmt.Errorf("%d fields after the name, want more than %d", len(fields), startTimeField)
	}
	flags, err := strconv.ParseUint(string(fields[flagsField]), 10, 32)
	if err != nil {
		return stat{}, fmt.Errorf("flags: %w", err)
	}
	start, err := strconv.ParseUint(string(fields[startTimeField]), 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("start time: %w", err)
	}
	return stat{state: fields[stateField][0], kernelThread: flags&kernelThreadFlag != 0, startTime: start}, nil
}
