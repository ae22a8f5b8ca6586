package main

import (
	"context"
	"log/slog"
	"os"
	"runtime"

	"k8s.io/utils/clock"

	"5spot.finos.org/node-reclaim/agent/match"
	"5spot.finos.org/node-reclaim/agent/watch"
	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/test/workstation"
)

const (
	// needle is the command that is looked for.
	needle = "bench-needle"
	// asAgent is the flag that makes this program the agent, asTyped the one that makes it the peer at rest; with asStarter and asPacer it
	// starts processes.
	asAgent   = "agent"
	asTyped   = "typed"
	asStarter = "starter"
	asPacer   = "pacer"
)

// bothLists is a configuration of ordinary size whose entries nothing else on the machine fits.
func bothLists() *match.Matcher {
	return match.New(reclaim.Config{
		MatchCommands:       []string{needle, "bench-java", "bench-idea", "bench-steam", "bench-jetbrains-toolbox"},
		MatchArgvSubstrings: []string{"com.example.bench.Main", "org.example.bench.Main", "/opt/bench-idea/bin/"},
		PollIntervalMS:      reclaim.DefaultPollIntervalMS,
	})
}

// observe starts an Observer that looks for both lists.
func observe(ctx context.Context, poll bool) *watch.Observer {
	o := watch.New(watch.Options{
		Root: "/proc", Self: os.Getpid(), Clock: clock.RealClock{}, Log: slog.New(slog.DiscardHandler),
		Poll: poll, Dial: watch.Connector, Beat: func() {},
	})
	o.Arm(bothLists())
	go func() { _ = o.Run(ctx) }()
	return o
}

// watchExecs is the agent without a cluster: what it finds goes nowhere.
func watchExecs(ctx context.Context) {
	runtime.GOMAXPROCS(1) // as the agent does
	o := observe(ctx, false)
	for {
		select {
		case <-ctx.Done():
			return
		case <-o.Matches():
		case <-o.Rungs():
		}
	}
}

// copySleep makes a program of the given name that takes seconds to live as its argument.
func copySleep(name string) (path string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "bench-agent-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	path, err = workstation.CopyOfSleep(dir, name)
	if err != nil {
		remove()
	}
	return path, remove, err
}
