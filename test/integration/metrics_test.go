package integration

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/test/controlplane"
	"5spot.finos.org/node-reclaim/test/lab"
)

func TestARunningControllerTellsWhatItDoes(t *testing.T) {
	controlplane.Require(t)
	l, metrics, health := shared, freeAddress(t), freeAddress(t)
	p := startController(t, controller.kubeconfig, "--metrics-address="+metrics, "--health-address="+health)
	for _, path := range []string{"/readyz", "/healthz"} {
		require.Eventually(t, func() bool { status, _ := get(t, "http://"+health+path); return status == 200 }, patience, poll)
	}
	sm := lab.ScheduledMachine("metrics-1", "10.0.4.1", "java")
	active(t, l, sm)
	require.NoError(t, annotate(t, l, "metrics-1", "metrics-1", request...))
	awaitPhase(t, l, sm, v1alpha1.PhaseDisabled)

	families := scrape(t, metrics)
	for _, name := range []string{
		"fivespot_reconciles_total", "fivespot_scheduledmachines", "fivespot_schedule_evaluations_total", "fivespot_drains_total",
		"fivespot_evictions_total", "fivespot_leader", "fivespot_child_clusters", "fivespot_requests_total",
	} {
		require.Contains(t, families, name)
	}
	require.InDelta(t, 1, families["fivespot_leader"].GetMetric()[0].GetGauge().GetValue(), 0)
	noNames(t, families)
	correlated(t, p.log.String())
}

// scrape reads our metrics, and holds them to Prometheus's own linter.
func scrape(t *testing.T, address string) map[string]*dto.MetricFamily {
	t.Helper()
	_, text := get(t, "http://"+address+"/metrics")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	require.NoError(t, err)
	var ours []*dto.MetricFamily
	for name, family := range families {
		if strings.HasPrefix(name, "fivespot_") {
			ours = append(ours, family)
		}
	}
	problems, err := promlint.NewWithMetricFamilies(ours).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
	return families
}

// noNames: what a tenant or a node chose is no label's value, neither of our metrics nor of the libraries'.
func noNames(t *testing.T, families map[string]*dto.MetricFamily) {
	t.Helper()
	for name, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				for _, theirs := range []string{"metrics-1", "java", lab.Namespace} {
					require.NotContains(t, label.GetValue(), theirs, "%s{%s}", name, label.GetName())
				}
			}
		}
	}
}

// correlated: the lines of one reconcile carry its id.
func correlated(t *testing.T, log string) {
	t.Helper()
	for line := range strings.Lines(log) {
		var entry struct{ Controller, Name, ReconcileID string }
		require.NoError(t, json.Unmarshal([]byte(line), &entry), line)
		if entry.Controller != "" && entry.Name != "" {
			require.NotEmpty(t, entry.ReconcileID, line)
		}
	}
}
