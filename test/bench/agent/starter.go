package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// starterLanes is how many processes there are at a time. They sleep most of it, so that two leave the machine otherwise idle.
const starterLanes = 2

// startFrom has n processes run and end, started by a process of its own: starting one is a good part of the machine's work, and must not
// be done at the cost of the reader's goroutines. how is asStarter or asPacer.
func startFrom(ctx context.Context, how string, n int, command []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, append([]string{"-" + how, strconv.Itoa(n)}, command...)...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("starting %d processes: %w", n, err)
	}
	return nil
}

// beStarter starts the next process when one has ended.
func beStarter(ctx context.Context, n int, command []string) error {
	var lanes sync.WaitGroup
	faults := make([]error, starterLanes)
	for lane := range starterLanes {
		lanes.Go(func() {
			for i := lane; i < n && ctx.Err() == nil && faults[lane] == nil; i += starterLanes {
				faults[lane] = exec.CommandContext(ctx, command[0], command[1:]...).Run()
			}
		})
	}
	lanes.Wait()
	return errors.Join(append(faults, ctx.Err())...)
}

// bePacer starts execsPerSecond processes a second, as far as the machine keeps up. It does without what os/exec does for its callers, which
// takes longer than the start itself.
func bePacer(ctx context.Context, n int, command []string) error {
	running := 0
	began := time.Now()
	for i := 0; i < n && ctx.Err() == nil; i++ {
		time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / execsPerSecond)))
		if _, err := syscall.ForkExec(command[0], command, &syscall.ProcAttr{}); err != nil {
			return fmt.Errorf("starting %s: %w", command[0], err)
		}
		running++
		for running > 0 && reap(syscall.WNOHANG) {
			running--
		}
	}
	for running > 0 && reap(0) {
		running--
	}
	return ctx.Err()
}

// reap takes note of the end of one process. This one has started no others.
func reap(options int) bool {
	pid, err := syscall.Wait4(-1, nil, options, nil)
	return pid > 0 && err == nil
}
