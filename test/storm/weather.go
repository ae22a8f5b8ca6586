package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"5spot.finos.org/node-reclaim/test/execs"
)

const (
	// upFor and downFor are the API server's: so long at least, and so long at a time.
	upFor   = 20 * time.Second
	downFor = 5 * time.Second
	// sampled is the time between two looks at the agent's memory.
	sampled = 500 * time.Millisecond
)

// weather storms for a while, and reports.
func (s stage) weather(ctx context.Context, duration time.Duration, rate int) (*report, error) {
	a, err := s.StartAgent(s.Agent)
	if err != nil {
		return nil, err
	}
	r := &report{duration: duration}
	over, end := context.WithTimeout(ctx, duration)
	defer end()
	all, storming := errgroup.WithContext(over)
	for _, part := range []func(context.Context) error{
		func(ctx context.Context) error { return startPrograms(ctx, rate, r) },
		s.rewriteConfig,
		func(ctx context.Context) error { return r.sampleMemory(ctx, a) },
		func(ctx context.Context) error { return s.comeBack(ctx, r) },
	} {
		all.Go(func() error { return part(storming) })
	}
	err = all.Wait()
	n, counted := a.Autopsy()
	r.goroutines = n
	return r, errors.Join(err, counted, ctx.Err())
}

// every does something at an interval until the storm is over.
func every(ctx context.Context, interval time.Duration, do func() error) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			if err := do(); err != nil {
				return err
			}
		}
	}
}

// startPrograms starts programs that end soon, from a process of its own. When the machine cannot keep up, there are fewer.
func startPrograms(ctx context.Context, rate int, r *report) error {
	dir, err := os.MkdirTemp("", "storm-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program, err := execs.Program(dir)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	pacer := exec.CommandContext(ctx, self, append([]string{"-" + asPacer, "-rate", strconv.Itoa(rate)}, program...)...)
	pacer.Cancel = func() error { return pacer.Process.Signal(os.Interrupt) }
	said, err := pacer.Output()
	if ctx.Err() == nil {
		return fmt.Errorf("starting programs: %w", err)
	}
	r.execs, err = strconv.Atoi(strings.TrimSpace(string(said)))
	return err
}

// rewriteConfig changes what the file means, never that the owner's program is in it.
func (s stage) rewriteConfig(ctx context.Context) error {
	n := 0
	return every(ctx, time.Second, func() error {
		n++
		return s.Match(owner, fmt.Sprintf("filler-%d", n))
	})
}

// comeBack starts the owner's program again and again, now and then while the API server is down. The last time counts to its end,
// although the storm is over by then.
func (s stage) comeBack(over context.Context, r *report) error {
	ctx := context.WithoutCancel(over)
	fair := time.Now()
	for over.Err() == nil {
		if err := s.Await(ctx, "armed"); err != nil {
			return err
		}
		weather, took := s.inFairWeather, &r.noticed
		if time.Since(fair) > upFor {
			weather, took, fair = s.inAnOutage, &r.inOutage, time.Now()
		}
		t, err := weather(ctx)
		if err != nil {
			return fmt.Errorf("after %d times that the owner came back: %w", len(r.noticed)+len(r.inOutage), err)
		}
		*took = append(*took, t)
	}
	return nil
}

// inFairWeather gives the time from the program's start to the request.
func (s stage) inFairWeather(ctx context.Context) (time.Duration, error) {
	return s.comeBackOnce(ctx, nil)
}

// inAnOutage gives the time from the API server's return to the request.
func (s stage) inAnOutage(ctx context.Context) (time.Duration, error) {
	if err := s.ControlPlane.StopAPIServer(); err != nil {
		return 0, err
	}
	return s.comeBackOnce(ctx, func() error {
		<-time.After(downFor)
		return s.ControlPlane.StartAPIServer()
	})
}

// comeBackOnce starts the program, sits out the bad weather, if any, and gives the time from then to the request.
func (s stage) comeBackOnce(ctx context.Context, sitOut func() error) (time.Duration, error) {
	program := exec.Command(s.Owner, "600")
	began := time.Now()
	if err := program.Start(); err != nil {
		return 0, err
	}
	if sitOut != nil {
		if err := sitOut(); err != nil {
			return 0, err
		}
		began = time.Now()
	}
	err := s.Await(ctx, "requested")
	took := time.Since(began)
	if err := errors.Join(err, program.Process.Kill(), ignoreExit(program.Wait())); err != nil {
		return 0, err
	}
	return took, s.Clear(ctx)
}

// ignoreExit: a program that was killed has not failed.
func ignoreExit(err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return nil
	}
	return err
}
