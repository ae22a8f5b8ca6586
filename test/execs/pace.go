package execs

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// Pace starts rate processes a second, as far as the machine keeps up, until there were n or the context ends. It gives how many there were. It needs a
// process of its own, because it takes note of the end of every child; and it does without what os/exec does for its callers, which takes
// longer than the start itself.
func Pace(ctx context.Context, rate, n int, command []string) (int, error) {
	running, started := 0, 0
	for began := time.Now(); started < n && ctx.Err() == nil; started++ {
		time.Sleep(time.Until(began.Add(time.Duration(started) * time.Second / time.Duration(rate))))
		if _, err := syscall.ForkExec(command[0], command, &syscall.ProcAttr{}); err != nil {
			return started, fmt.Errorf("starting %s: %w", command[0], err)
		}
		running++
		for running > 0 && reap(syscall.WNOHANG) {
			running--
		}
	}
	for running > 0 && reap(0) {
		running--
	}
	return started, nil
}

func reap(options int) bool {
	pid, err := syscall.Wait4(-1, nil, options, nil)
	return pid > 0 && err == nil
}
