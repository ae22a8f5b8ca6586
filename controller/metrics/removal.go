package metrics

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// Steps is the stopwatch of removals: told of a status before and after it was stored, it counts the steps that are new in it. A step is stored
// once, whichever replica sees it, so it is counted once.
func (m *Metrics) Steps(before, after *v1alpha1.ScheduledMachineStatus) {
	if reclaim := after.Reclaim; reclaim != nil {
		last := &v1alpha1.Removal{}
		if before.Reclaim != nil && before.Reclaim.ID == reclaim.ID {
			last = &before.Reclaim.Removal
		} else {
			m.Request(Accepted)
			m.requested.WithLabelValues().Observe(max(0, reclaim.ObservedAt.Sub(reclaim.RequestedAt.Time)).Seconds())
		}
		m.newSteps("request", last, &reclaim.Removal)
	}
	if termination := after.Termination; termination != nil {
		last := &v1alpha1.Removal{}
		if before.Termination != nil && before.Termination.MachineUID == termination.MachineUID {
			last = before.Termination
		}
		m.newSteps("kill_switch", last, termination)
	}
}

func (m *Metrics) newSteps(cause string, before, after *v1alpha1.Removal) {
	was, is := stepsOf(before), stepsOf(after)
	for step, at := range is {
		if at == nil || was[step] != nil {
			continue
		}
		m.steps.WithLabelValues(cause, step).Observe(since(after.ObservedAt.Time, at))
	}
}

func since(start time.Time, at *metav1.MicroTime) float64 { return max(0, at.Sub(start)).Seconds() }

func stepsOf(r *v1alpha1.Removal) map[string]*metav1.MicroTime {
	return map[string]*metav1.MicroTime{
		"pods_deleted":    r.PodsDeletedAt,
		"node_deleted":    r.NodeDeletedAt,
		"pods_gone":       r.PodsGoneAt,
		"machine_deleted": r.MachineDeletedAt,
		"machine_gone":    r.MachineGoneAt,
	}
}
