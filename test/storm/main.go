// The program storm runs the agent through bad weather for a while: a thousand programs started a second, the configuration rewritten every
// second, the API server stopped and started. All the while the owner comes back again and again, and must be noticed every time. In the
// end the agent may hold no more memory and no more goroutines than in the beginning. Needs root and the built control plane.
//
//	go run ./test/storm -duration 10m
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	duration := flag.Duration("duration", 10*time.Minute, "how long it storms")
	rate := flag.Int("rate", 1000, "programs started per second")
	flag.Parse()
	ctrl.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *duration, *rate)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "storm:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, duration time.Duration, rate int) (err error) {
	s, err := newStage(ctx)
	if err != nil {
		return err
	}
	defer s.close(&err)
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
