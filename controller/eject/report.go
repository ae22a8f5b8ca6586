package eject

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// Reasons of events.
const (
	ReasonEmergencyReclaim         = v1alpha1.ReasonEmergencyReclaim
	ReasonEmergencyReclaimDisabled = "EmergencyReclaimDisabledSchedule"
)

// recordEvent stores the one event of this removal. Its name is derived from the record, so that a second attempt finds it there.
func (r *Reconciler) recordEvent(ctx context.Context, s *scope) (time.Duration, error) {
	record := s.sm.Status.Reclaim
	if record.EventRecordedAt != nil {
		return 0, nil
	}
	note := fmt.Sprintf("Node %s asked to leave (%s): removing it without grace, reclaim %s", record.NodeName, record.Reason, record.ID)
	if err := r.warn(ctx, s.sm, record.ID, ReasonEmergencyReclaim, note); err != nil {
		return 0, err
	}
	record.EventRecordedAt = microtime(r.Now())
	return 0, nil
}

func (r *Reconciler) recordDisabled(ctx context.Context, sm *v1alpha1.ScheduledMachine) error {
	return r.warn(ctx, sm, sm.Status.Reclaim.ID+".disabled", ReasonEmergencyReclaimDisabled,
		"The schedule was disabled, so that the machine stays with its owner. "+wayBack(sm))
}

// warn creates an event itself, at once, rather than through a recorder: a recorder sends later, may drop, and would write again after a
// restart.
func (r *Reconciler) warn(ctx context.Context, sm *v1alpha1.ScheduledMachine, id, reason, note string) error {
	event := &eventsv1.Event{
		ObjectMeta:          metav1.ObjectMeta{Namespace: sm.Namespace, Name: sm.Name + "." + id},
		EventTime:           metav1.NewMicroTime(r.Now()),
		ReportingController: "5spot.finos.org/eject",
		ReportingInstance:   r.Instance,
		Action:              "Reclaim",
		Reason:              reason,
		Note:                note,
		Type:                corev1.EventTypeWarning,
		Regarding: corev1.ObjectReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "ScheduledMachine",
			Namespace: sm.Namespace, Name: sm.Name, UID: sm.UID,
		},
	}
	if err := r.Client.Create(ctx, event); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("recording event %s: %w", reason, err)
	}
	return nil
}

// wayBack tells the owner how the machine returns to its schedule.
func wayBack(sm *v1alpha1.ScheduledMachine) string {
	if sm.Status.Reclaim.ScheduleDisabledAt == nil {
		return fmt.Sprintf("To give it back: kubectl -n %s annotate sm %s %s=%s --overwrite",
			sm.Namespace, sm.Name, v1alpha1.ReleaseAnnotation, sm.Status.Reclaim.ID)
	}
	return fmt.Sprintf(`To give it back: kubectl -n %s patch sm %s --type=merge -p '{"spec":{"schedule":{"enabled":true}}}'`, sm.Namespace, sm.Name)
}

// describe derives phase, message and condition from the record.
func describe(sm *v1alpha1.ScheduledMachine) {
	record := sm.Status.Reclaim
	condition := metav1.Condition{
		Type: v1alpha1.ConditionReclaimed, Status: metav1.ConditionTrue, Reason: ReasonEmergencyReclaim,
		Message: record.Reason + ". " + wayBack(sm), ObservedGeneration: sm.Generation,
	}
	switch {
	case !record.Holds():
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, v1alpha1.ReasonReleased, "The machine was given back to its schedule"
	case record.Complete():
		sm.Status.Phase, sm.Status.Message = v1alpha1.PhaseDisabled, "Taken back by its owner ("+record.Reason+"). "+wayBack(sm)
		sm.Status.NodeRef, sm.Status.MachineRef, sm.Status.BootstrapRef, sm.Status.InfrastructureRef = nil, nil, nil, nil
	default:
		sm.Status.Phase, sm.Status.Message = v1alpha1.PhaseEmergencyRemove, "Being taken back by its owner ("+record.Reason+")"
		meta.SetStatusCondition(&sm.Status.Conditions, metav1.Condition{
			Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonEmergencyRemove,
			Message: sm.Status.Message, ObservedGeneration: sm.Generation,
		})
	}
	meta.SetStatusCondition(&sm.Status.Conditions, condition)
}
