// Package metrics holds every metric of the controller, and whatever is needed to keep them true. Labels take values from the lists in this
// package alone: nothing that a node, a tenant or a user wrote becomes one.
package metrics

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Outcome is what became of a request of a Node.
type Outcome string

// Outcomes of requests.
const (
	Accepted  Outcome = "accepted"
	Ignored   Outcome = "ignored"
	Suspended Outcome = "suspended"
)

// Drain is how a graceful drain ended.
type Drain string

// Ends of drains.
const (
	Drained       Drain = "drained"
	DrainTimedOut Drain = "timed_out"
)

// Eviction is what the API server made of one eviction.
type Eviction string

// Answers to evictions. A refused one is asked for again: a PodDisruptionBudget does not allow it now.
const (
	Evicted         Eviction = "evicted"
	EvictionRefused Eviction = "refused"
	EvictionFailed  Eviction = "failed"
)

// Metrics are the controller's. Constructed once for each process.
type Metrics struct {
	reconciles, errors                       *prometheus.CounterVec
	evaluations, requests, drains, evictions *prometheus.CounterVec
	requested, steps                         *prometheus.HistogramVec
	running                                  running
}

// stopwatch are the bounds, in seconds, of the steps of a removal, around what is promised: five seconds for the Node.
func stopwatch() []float64 {
	return []float64{0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3, 4, 5, 7.5, 10, 15, 30, 60, 300}
}

// New makes the metrics and registers them.
func New(registry prometheus.Registerer, now func() time.Time) (*Metrics, error) {
	m := &Metrics{
		reconciles: counter("reconciles_total", "Reconciles that ended, by controller and result.", "controller", "result"),
		errors:     counter("errors_total", "Errors that reconciles ended with, by controller and kind.", "controller", "kind"),
		evaluations: counter("schedule_evaluations_total",
			"Schedules evaluated, by what they said: active, inactive, or invalid for one that does not parse.", "result"),
		requests: counter("requests_total",
			"Requests of Nodes to leave: accepted; ignored, because nobody opted in; or suspended by --suspend-eject.", "outcome"),
		drains:    counter("drains_total", "Graceful drains that ended: drained, or timed_out with pods left. One that an emergency cuts short is not among them.", "result"),
		evictions: counter("evictions_total", "Evictions asked for in graceful drains: evicted, refused for now, or failed.", "result"),
		requested: histogram("reclaim_observed_seconds",
			"Time from a Node's request, by the node's clock in whole seconds, until the controller saw it."),
		steps: histogram("removal_step_seconds",
			"Time from when the controller saw that a machine has to go until a step of its removal was done, by cause and step.", "cause", "step"),
		running: running{now: now, since: map[int64]time.Time{}},
	}
	m.zero()
	for _, collector := range []prometheus.Collector{
		m.reconciles, m.errors, m.evaluations, m.requests, m.drains, m.evictions, m.requested, m.steps,
	} {
		if err := registry.Register(collector); err != nil {
			return nil, fmt.Errorf("registering metrics: %w", err)
		}
	}
	return m, nil
}

// zero makes counters of known labels exist before their first count: a rate needs the step from 0 to 1.
func (m *Metrics) zero() {
	for _, outcome := range []Outcome{Accepted, Ignored, Suspended} {
		m.requests.WithLabelValues(string(outcome))
	}
	for _, result := range []string{"active", "inactive", "invalid"} {
		m.evaluations.WithLabelValues(result)
	}
	for _, result := range []Drain{Drained, DrainTimedOut} {
		m.drains.WithLabelValues(string(result))
	}
	for _, result := range []Eviction{Evicted, EvictionRefused, EvictionFailed} {
		m.evictions.WithLabelValues(string(result))
	}
}

// Evaluated counts one evaluation of a schedule.
func (m *Metrics) Evaluated(active bool, err error) {
	result := "inactive"
	switch {
	case err != nil:
		result = "invalid"
	case active:
		result = "active"
	}
	m.evaluations.WithLabelValues(result).Inc()
}

// Request counts a request, once.
func (m *Metrics) Request(outcome Outcome) { m.requests.WithLabelValues(string(outcome)).Inc() }

// Drain counts a drain that ended.
func (m *Metrics) Drain(end Drain) { m.drains.WithLabelValues(string(end)).Inc() }

// Eviction counts an eviction that was answered.
func (m *Metrics) Eviction(answer Eviction) { m.evictions.WithLabelValues(string(answer)).Inc() }

const namespace = "fivespot"

func counter(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
}

func histogram(name, help string, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Namespace: namespace, Name: name, Help: help, Buckets: stopwatch()}, labels)
}
