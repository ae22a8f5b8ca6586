package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"sync"
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
