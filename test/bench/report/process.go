package report

import (
	"context"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of processor time in /proc/PID/stat: USER_HZ is 100 everywhere.
const tick = 10 * time.Millisecond

// ProcessorTime is what a process has used, in user and kernel mode; 0 when it has ended.
func ProcessorTime(pid int) time.Duration {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * tick
}

// Wait lets time pass, unless the context ends first.
func Wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
