package command

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"5spot.finos.org/node-reclaim/agent/config"
	"5spot.finos.org/node-reclaim/agent/latest"
	"5spot.finos.org/node-reclaim/agent/notify"
	"5spot.finos.org/node-reclaim/agent/reclaimer"
	"5spot.finos.org/node-reclaim/agent/watch"
)

func runCommand(env Env, o *options) *cobra.Command {
	var format string
	var poll bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Watch for the owner's programs, and ask to leave when one starts",
		Long: `Runs until it is told to stop (SIGTERM); systemd does that. SIGHUP reads the configuration again, which also happens by itself.
A machine that has left its cluster, or that has nothing to match, is no error: the agent waits.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log, err := logger(env, format)
			if err != nil {
				return err
			}
			runtime.GOMAXPROCS(1) // nothing here computes, and a second processor only adds wake-ups
			log.Info("agent started", "version", env.Version, "config", o.config)
			return run(cmd.Context(), env, o, poll, log)
		},
	}
	cmd.Flags().StringVar(&format, "log-format", "text", "text or json")
	cmd.Flags().BoolVar(&poll, "poll", false, "sweep /proc instead of asking the kernel for process events")
	return cmd
}

// run puts the parts together. Each runs until the context ends; the observer may fail earlier, and then all end with it.
func run(ctx context.Context, env Env, o *options, poll bool, log *slog.Logger) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	file := config.New(o.config, log)
	link := o.link(env)
	beats := latest.New[struct{}]()
	observer := watch.New(watch.Options{
		Root: env.Proc, Self: os.Getpid(), Clock: env.Clock, Log: log, Poll: poll, Dial: watch.Connector,
		Beat: func() { beats.Put(struct{}{}) },
	})
	agent := reclaimer.New(reclaimer.Options{
		Observer: observer, Beats: beats.C(), Config: file, Node: link, Notifier: notify.New(env.Clock, log),
		Clock: env.Clock, Log: log, Version: env.Version, Installed: func() bool { return exists(env.Installed) },
	})
	var parts sync.WaitGroup
	for _, part := range []func(context.Context){file.Run, reloadOnHangup(file)} {
		parts.Go(func() { part(ctx) })
	}
	linked, unlink := context.WithCancel(context.WithoutCancel(ctx)) // until the agent has said its last word
	parts.Go(func() { link.Run(linked) })
	parts.Go(func() { defer unlink(); agent.Run(ctx) })
	parts.Go(func() { fail(observer.Run(ctx)) })
	parts.Wait()
	n := observer.Counters()
	log.Info("agent stopped", "execs", n.Execs, "gone", n.Gone, "overflows", n.Overflows, "blocked", n.Blocked)
	return cause(ctx)
}

// cause is why the parts ended: nothing when they were told to.
func cause(ctx context.Context) error {
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// reloadOnHangup is the classic way to say that the configuration has changed.
func reloadOnHangup(file *config.File) func(context.Context) {
	return func(ctx context.Context) {
		hangup := make(chan os.Signal, 1)
		signal.Notify(hangup, syscall.SIGHUP)
		defer signal.Stop(hangup)
		for {
			select {
			case <-ctx.Done():
				return
			case <-hangup:
				file.Reload()
			}
		}
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
