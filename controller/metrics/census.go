package metrics

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// Sources are what is counted at the moment of a scrape, so that no gauge can be stale.
type Sources struct {
	// Phases are the phases of all ScheduledMachines.
	Phases func() []v1alpha1.Phase
	// Children are how many child clusters are connected, and how many should be but are not.
	Children func() (connected, lost int)
	// Leader says that this replica acts, and does not stand by.
	Leader func() bool
	// Suspended says that no removal begins because a Node asks for it.
	Suspended bool
}

// phases are the label's values. A status without a phase is of a machine that no reconcile has seen: Pending.
func phases() []v1alpha1.Phase {
	return []v1alpha1.Phase{
		v1alpha1.PhasePending, v1alpha1.PhaseActive, v1alpha1.PhaseShuttingDown, v1alpha1.PhaseInactive, v1alpha1.PhaseDisabled,
		v1alpha1.PhaseTerminated, v1alpha1.PhaseEmergencyRemove, v1alpha1.PhaseError,
	}
}

// Census registers the metrics that are counted from sources.
func Census(registry prometheus.Registerer, sources Sources) error {
	c := &census{
		sources:   sources,
		machines:  gauge("scheduledmachines", "ScheduledMachines by phase.", "phase"),
		children:  gauge("child_clusters", "Child clusters that ScheduledMachines name: connected, or lost.", "state"),
		leader:    gauge("leader", "1 on the replica that acts, 0 on one that stands by."),
		suspended: gauge("eject_suspended", "1 while --suspend-eject keeps removals from beginning."),
	}
	if err := registry.Register(c); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	return nil
}

func gauge(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, labels, nil)
}

type census struct {
	sources                               Sources
	machines, children, leader, suspended *prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c *census) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{c.machines, c.children, c.leader, c.suspended} {
		to <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *census) Collect(to chan<- prometheus.Metric) {
	send := func(desc *prometheus.Desc, value int, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, float64(value), labels...)
	}
	counts := map[v1alpha1.Phase]int{}
	for _, phase := range c.sources.Phases() {
		if phase == "" {
			phase = v1alpha1.PhasePending
		}
		counts[phase]++
	}
	for _, phase := range phases() {
		send(c.machines, counts[phase], string(phase))
	}
	connected, lost := c.sources.Children()
	send(c.children, connected, "connected")
	send(c.children, lost, "lost")
	send(c.leader, number(c.sources.Leader()))
	send(c.suspended, number(c.sources.Suspended))
}

func number(is bool) int {
	if is {
		return 1
	}
	return 0
}
