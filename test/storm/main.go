// The program storm runs the agent through bad weather for a while: a thousand programs started a second, the configuration rewritten every
// second, the API server stopped and started. All the while the owner comes back again and again, and must be noticed every time. In the
// end the agent may hold no more memory and no more goroutines than in the beginning. Needs root and the built control plane.
//
//	go run ./test/storm -duration 10m
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"5spot.finos.org/node-reclaim/test/execs"
	"5spot.finos.org/node-reclaim/test/workstation"
)

func main() {
	duration := flag.Duration("duration", 10*time.Minute, "how long it storms")
	rate := flag.Int("rate", 1000, "programs started per second")
	pacer := flag.Bool(asPacer, false, "start programs at that rate until interrupted, and print how many; the arguments are the program and its arguments")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := command(ctx, *pacer, *duration, *rate)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "storm:", err)
		os.Exit(1)
	}
}

func command(ctx context.Context, pacer bool, duration time.Duration, rate int) error {
	if !pacer {
		return run(ctx, duration, rate)
	}
	n, err := execs.Pace(ctx, rate, math.MaxInt, flag.Args())
	fmt.Println(n)
	return err
}

// asPacer is the flag that makes this program start others.
const asPacer = "pacer"

// owner is the program that the owner starts.
const owner = "storm-owner"

// stage is where it storms.
type stage struct{ *workstation.Stage }

func run(ctx context.Context, duration time.Duration, rate int) (err error) {
	staged, err := workstation.NewStage(ctx, owner)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, staged.Close()) }()
	s := stage{staged}
	fine, err := s.whenCalm(ctx)
	if err != nil {
		return err
	}
	r, err := s.weather(ctx, duration, rate)
	if err != nil {
		return err
	}
	r.calm = fine
	fmt.Print(r.String())
	return r.verdict()
}

// settled is when an agent that has started has calmed down.
const settled = 5 * time.Second

// calm is what an agent holds on a fine day.
type calm struct{ goroutines, rss int }

func (s stage) whenCalm(ctx context.Context) (calm, error) {
	a, err := s.StartAgent(s.Agent)
	if err != nil {
		return calm{}, err
	}
	err = s.Await(ctx, "armed")
	<-time.After(settled)
	rss, seen := a.RSS()
	n, counted := a.Autopsy()
	return calm{n, rss}, errors.Join(err, seen, counted)
}
