package eject

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The replica that takes over may have another clock than the one that made the record.
func TestAClockThatIsFarOffDoesNotStretchARemoval(t *testing.T) {
	observed := time.Date(2026, 4, 20, 18, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		later, limit time.Duration
		want         bool
	}{
		"under way":      {time.Second, 10 * time.Second, true},
		"over":           {10 * time.Second, 10 * time.Second, false},
		"none":           {0, 0, false},
		"slightly early": {-time.Second, 10 * time.Second, true},
		"an hour early":  {-time.Hour, 10 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Reconciler{Now: func() time.Time { return observed.Add(tt.later) }}
			require.Equal(t, tt.want, r.within(*microtime(observed), tt.limit))
		})
	}
}
