package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"5spot.finos.org/node-reclaim/test/workstation"
)

const (
	// mayGrowKiB is what the second half of the storm may need on top of the first: the garbage collector's whim.
	mayGrowKiB = 2 << 10
	// mayGrow is how many goroutines an agent in the middle of something has on top of a calm one.
	mayGrow = 12
)

// report is how the agent came through.
type report struct {
	duration   time.Duration
	execs      int
	noticed    []time.Duration
	inOutage   []time.Duration
	rss        []int // KiB, one after the other
	calm       calm
	goroutines int
}

func (r *report) sampleMemory(ctx context.Context, a *workstation.Agent) error {
	return every(ctx, sampled, func() error {
		kib, err := a.RSS()
		r.rss = append(r.rss, kib)
		return err
	})
}

// halves are the medians of the first and the second half, in KiB.
func (r *report) halves() (int, int) {
	middle := len(r.rss) / 2
	return median(r.rss[:middle]), median(r.rss[middle:])
}

func median[T int | time.Duration](values []T) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

func (r *report) String() string {
	first, second := r.halves()
	return fmt.Sprintf(`storm of %s: %.0f programs started per second
  owner came back     %d times, noticed every time: median %s, longest %s
  and in an outage    %d times, written every time: longest %s after the API server was back
  memory (RSS)        %.1f MiB when calm, %.1f MiB in the first half, %.1f MiB in the second (medians), %.1f MiB at most
  goroutines          %d when calm, %d at the end
`, r.duration, float64(r.execs)/r.duration.Seconds(), len(r.noticed), median(r.noticed).Round(time.Millisecond),
		longest(r.noticed), len(r.inOutage), longest(r.inOutage), mib(r.calm.rss), mib(first), mib(second), mib(slices.Max(r.rss)), r.calm.goroutines, r.goroutines)
}

func longest(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return 0
	}
	return slices.Max(times).Round(time.Millisecond)
}

func mib(kib int) float64 { return float64(kib) / 1024 }

func (r *report) verdict() error {
	first, second := r.halves()
	var faults []error
	if second-first > mayGrowKiB {
		faults = append(faults, fmt.Errorf("memory grew from %d to %d KiB", first, second))
	}
	if r.goroutines-r.calm.goroutines > mayGrow {
		faults = append(faults, fmt.Errorf("goroutines grew from %d to %d", r.calm.goroutines, r.goroutines))
	}
	return errors.Join(faults...)
}
