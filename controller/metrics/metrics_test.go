package metrics_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/metrics"
)

func newMetrics(t *testing.T, now func() time.Time) (*metrics.Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	m, err := metrics.New(registry, now)
	require.NoError(t, err)
	return m, registry
}

func expect(t *testing.T, registry *prometheus.Registry, metric, samples string) {
	t.Helper()
	var want strings.Builder
	for line := range strings.Lines(samples) {
		want.WriteString(strings.TrimSpace(line) + "\n")
	}
	require.NoError(t, testutil.GatherAndCompare(registry, strings.NewReader(want.String()), metric))
}

func TestAStepOfARemovalIsCountedOnceWithItsTime(t *testing.T) {
	m, registry := newMetrics(t, time.Now)
	at := func(d time.Duration) *metav1.MicroTime { return new(metav1.NewMicroTime(time.Unix(1000, 0).Add(d))) }
	before := &v1alpha1.ScheduledMachineStatus{}
	after := &v1alpha1.ScheduledMachineStatus{Reclaim: &v1alpha1.ReclaimStatus{
		ID: "r-1", RequestedAt: *at(-2 * time.Second), Removal: v1alpha1.Removal{ObservedAt: *at(0)},
	}}
	m.Steps(before, after)
	before = after.DeepCopy()
	after.Reclaim.NodeDeletedAt = at(200 * time.Millisecond)
	m.Steps(before, after)
	m.Steps(after, after)
	require.Equal(t, map[string]float64{"request/node_deleted": 0.2}, sums(t, registry, "fivespot_removal_step_seconds"))
	require.Equal(t, map[string]float64{"": 2}, sums(t, registry, "fivespot_reclaim_observed_seconds"))
	expect(t, registry, "fivespot_requests_total", `
		# HELP fivespot_requests_total Requests of Nodes to leave: accepted; ignored, because nobody opted in; or suspended by --suspend-eject.
		# TYPE fivespot_requests_total counter
		fivespot_requests_total{outcome="accepted"} 1
		fivespot_requests_total{outcome="ignored"} 0
		fivespot_requests_total{outcome="suspended"} 0
	`)
}

// sums are a histogram's, by the values of its labels.
func sums(t *testing.T, registry *prometheus.Registry, name string) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	sums := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetValue())
			}
			sums[strings.Join(labels, "/")] += metric.GetHistogram().GetSampleSum()
		}
	}
	return sums
}

func TestErrorsAreCountedByKind(t *testing.T) {
	resource := schema.GroupResource{Resource: "nodes"}
	for kind, err := range map[string]error{
		"conflict":   apierrors.NewConflict(resource, "ws-1", nil),
		"permission": apierrors.NewForbidden(resource, "ws-1", nil),
		"timeout":    errors.Join(errors.New("deleting pods"), context.DeadlineExceeded),
		"other":      errors.New("ws-1 is on fire"),
	} {
		t.Run(kind, func(t *testing.T) {
			m, registry := newMetrics(t, time.Now)
			failing := m.Reconciler("eject", reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) { return ctrl.Result{}, err }))
			_, got := failing.Reconcile(t.Context(), ctrl.Request{})
			require.Equal(t, err, got)
			expect(t, registry, "fivespot_errors_total", `
				# HELP fivespot_errors_total Errors that reconciles ended with, by controller and kind.
				# TYPE fivespot_errors_total counter
				fivespot_errors_total{controller="eject",kind="`+kind+`"} 1
			`)
		})
	}
}

func TestAReconcileThatNeverEndsIsStuck(t *testing.T) {
	now := time.Unix(1000, 0)
	m, _ := newMetrics(t, func() time.Time { return now })
	look := m.Reconciler("eject", reconcile.Func(func(context.Context, ctrl.Request) (ctrl.Result, error) {
		now = now.Add(time.Minute)
		require.NoError(t, m.Stuck(time.Minute))
		now = now.Add(time.Second)
		require.ErrorContains(t, m.Stuck(time.Minute), "1m1s")
		return ctrl.Result{}, nil
	}))
	_, err := look.Reconcile(t.Context(), ctrl.Request{})
	require.NoError(t, err)
	require.NoError(t, m.Stuck(0), "it has ended")
}

func TestCensusCountsWhatThereIsNow(t *testing.T) {
	registry := prometheus.NewRegistry()
	machines := []v1alpha1.Phase{v1alpha1.PhaseActive, v1alpha1.PhaseActive, ""}
	require.NoError(t, metrics.Census(registry, metrics.Sources{
		Phases:   func() []v1alpha1.Phase { return machines },
		Children: func() (int, int) { return 3, 1 },
		Leader:   func() bool { return true },
	}))
	expect(t, registry, "fivespot_child_clusters", `
		# HELP fivespot_child_clusters Child clusters that ScheduledMachines name: connected, or lost.
		# TYPE fivespot_child_clusters gauge
		fivespot_child_clusters{state="connected"} 3
		fivespot_child_clusters{state="lost"} 1
	`)
	machines = machines[1:]
	expect(t, registry, "fivespot_scheduledmachines", `
		# HELP fivespot_scheduledmachines ScheduledMachines by phase.
		# TYPE fivespot_scheduledmachines gauge
		fivespot_scheduledmachines{phase="Active"} 1
		fivespot_scheduledmachines{phase="Disabled"} 0
		fivespot_scheduledmachines{phase="EmergencyRemove"} 0
		fivespot_scheduledmachines{phase="Error"} 0
		fivespot_scheduledmachines{phase="Inactive"} 0
		fivespot_scheduledmachines{phase="Pending"} 1
		fivespot_scheduledmachines{phase="ShuttingDown"} 0
		fivespot_scheduledmachines{phase="Terminated"} 0
	`)
}
