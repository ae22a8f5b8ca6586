package events_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/events"
)

// notes records them.
type notes []string

func (n *notes) Eventf(_, _ runtime.Object, _, reason, _, format string, args ...any) {
	*n = append(*n, reason+": "+fmt.Sprintf(format, args...))
}

// Pods and PodDisruptionBudgets have names of any length, and a webhook says what it likes.
func TestNoteIsCutToWhatTheAPIServerTakes(t *testing.T) {
	long := strings.Repeat("é", 2000)
	sm := &v1alpha1.ScheduledMachine{}
	sm.Status.Phase, sm.Status.Message = v1alpha1.PhaseError, long
	sm.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionNotBroughtOver, Message: long}}
	var sent notes
	events.Phase(&sent, sm, v1alpha1.PhasePending)
	events.Faults(&sent, sm, nil)
	events.DrainTimedOut(&sent, sm, "ws-1", long)
	require.Len(t, sent, 3)
	for _, note := range sent {
		reason, text, _ := strings.Cut(note, ": ")
		require.LessOrEqual(t, len(text), 1024, reason)
		require.Greater(t, len(text), 1000, reason)
		require.True(t, utf8.ValidString(text), reason)
	}
}
