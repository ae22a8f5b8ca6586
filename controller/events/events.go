// Package events holds the events on a ScheduledMachine that are sent through a recorder. Those of an emergency are not among them: they
// must be stored exactly once, and eject stores them itself.
package events

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		note = "The machine went from " + string(before) + " to " + string(phase)
	}
	send(to, sm, kind, string(phase), note)
}

// Faults reports what is wrong that was not before, or that is wrong in another way now. A fault that stays is not reported again.
func Faults(to events.EventRecorder, sm *v1alpha1.ScheduledMachine, before []metav1.Condition) {
	for _, kind := range []string{v1alpha1.ConditionNodeIdentityMismatch, v1alpha1.ConditionTaintOwnershipConflict, v1alpha1.ConditionNotBroughtOver} {
		was, is := meta.FindStatusCondition(before, kind), meta.FindStatusCondition(sm.Status.Conditions, kind)
		if is != nil && (was == nil || was.Message != is.Message) {
			send(to, sm, corev1.EventTypeWarning, kind, is.Message)
		}
	}
}

// DrainTimedOut reports that a Node's drain was given up; last is what it waited for then.
func DrainTimedOut(to events.EventRecorder, sm *v1alpha1.ScheduledMachine, node, last string) {
	note := "The drain of Node " + node + " is out of time, and its Machine is deleted with whatever is left there"
	if last != "" {
		note += ". Last seen: " + last
	}
	send(to, sm, corev1.EventTypeWarning, v1alpha1.ReasonDrainTimedOut, note)
}

// noteLimit is what the API server takes, in bytes. A recorder does not cut, and what is refused is lost.
const noteLimit = 1024

func send(to events.EventRecorder, sm *v1alpha1.ScheduledMachine, kind, reason, note string) {
	to.Eventf(sm, nil, kind, reason, "Reconcile", "%s", strings.ToValidUTF8(note[:min(len(note), noteLimit)], ""))
}
