// Package events holds the events on a ScheduledMachine that are sent through a recorder. Those of an emergency are not among them: they
// must be stored exactly once, and eject stores them itself.
package events

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// Phase reports that the phase is no longer what it was before; its reason is the new phase.
func Phase(to events.EventRecorder, sm *v1alpha1.ScheduledMachine, before v1alpha1.Phase) {
	phase := sm.Status.Phase
	if phase == before {
		return
	}
	kind := corev1.EventTypeNormal
	if phase == v1alpha1.PhaseError || phase == v1alpha1.PhaseEmergencyRemove {
		kind = corev1.EventTypeWarning
	}
	note := sm.Status.Message
	if note == "" {
		note = "The phase was " + string(before)
	}
	to.Eventf(sm, nil, kind, string(phase), "Reconcile", "%s", note)
}
