package scheduledmachine

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

func TestWhenAMachineIsLookedAtAgain(t *testing.T) {
	ahead, far, past := metav1.NewTime(dusk.Add(time.Minute)), metav1.NewTime(dusk.Add(time.Hour)), metav1.NewTime(dusk.Add(-time.Hour))
	deleting := func(s *scope) { s.sm.DeletionTimestamp = ptr.To(metav1.NewTime(dusk)) }
	for name, tt := range map[string]struct {
		change func(*scope)
		want   time.Duration
	}{
		"at the next edge": {func(s *scope) { s.sm.Status.NextCleanup = &ahead }, time.Minute},
		"on the way to it, in case the clock is put forward": {func(s *scope) { s.sm.Status.NextCleanup = &far }, 5 * time.Minute},
		"before it, when a step waits":                       {func(s *scope) { s.sm.Status.NextCleanup = &ahead; s.again(time.Second) }, time.Second},
		"never":                                              {func(*scope) {}, 0},
		"deleted, past the last known edge":                  {func(s *scope) { s.sm.Status.NextCleanup = &past; deleting(s) }, 0},
		"deleted, and a step waits":                          {func(s *scope) { s.sm.Status.NextActivation = &past; deleting(s); s.again(time.Second) }, time.Second},
		"a fault":                                            {func(s *scope) { s.fault = &Fault{Reason: v1alpha1.ReasonInvalidSchedule} }, faultRetry},
		"a fault, and a step that waits for it":              {func(s *scope) { s.fault = &Fault{}; s.again(time.Second) }, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			s := shuttingDown(t, 0)
			tt.change(s)
			require.Equal(t, tt.want, s.wakeAfter())
		})
	}
}
