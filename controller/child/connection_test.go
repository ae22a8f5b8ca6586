package child

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/semaphore"
)

func TestNoMoreThanTheCapRunsAtOnceAgainstOneChild(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Connection{slots: semaphore.NewWeighted(parallelWrites)}
		var mu sync.Mutex
		running, most := 0, 0
		var calls sync.WaitGroup
		for range 3 * parallelWrites {
			calls.Go(func() {
				require.NoError(t, c.Do(t.Context(), func(context.Context) error {
					mu.Lock()
					running++
					most = max(most, running)
					mu.Unlock()
					<-time.After(time.Second) // the bubble's clock: all that can run now do
					mu.Lock()
					running--
					mu.Unlock()
					return nil
				}))
			})
		}
		calls.Wait()
		require.Equal(t, parallelWrites, most)
	})
}

func TestACallThatHangsEndsAndWaitingForASlotIsNotHanging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &Connection{slots: semaphore.NewWeighted(1)}
		hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		start := time.Now()
		var calls sync.WaitGroup
		calls.Go(func() { require.ErrorIs(t, c.Do(t.Context(), hang), context.DeadlineExceeded) })
		synctest.Wait()
		require.NoError(t, c.Do(t.Context(), func(ctx context.Context) error { return ctx.Err() }))
		require.Equal(t, writeTimeout, time.Since(start))
		calls.Wait()
	})
}
