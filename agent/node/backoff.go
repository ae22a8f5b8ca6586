package node

import (
	"context"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Backoff is the pause between two attempts on an API server that is away: 50 ms at first, 5 s at most, with jitter.
func Backoff() wait.Backoff { return upTo(4 * time.Second) }

// slowly is the pause while the credential is refused. Nothing but a new credential helps, and an orphan must not be a nuisance.
func slowly() wait.Backoff { return upTo(48 * time.Second) }

func upTo(longest time.Duration) wait.Backoff {
	return wait.Backoff{Duration: 50 * time.Millisecond, Factor: 2, Jitter: 0.25, Steps: math.MaxInt, Cap: longest}
}

// Sleep waits for d, or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
