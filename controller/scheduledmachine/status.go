package scheduledmachine

import (
	"cmp"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/events"
)

// faultRetry is when a fault that a person has to mend is looked at again.
const faultRetry = 30 * time.Second

// save stores the status when it changed. A conflict means that the object is newer than what was decided on: its watch event is on the
// way and brings the next reconcile.
func (r *Reconciler) save(ctx context.Context, s *scope) error {
	if s.finished || equality.Semantic.DeepEqual(s.before.Status, s.sm.Status) {
		return nil
	}
	if err := r.Client.Status().Update(ctx, s.sm); err != nil {
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil
		}
		return fmt.Errorf("storing status: %w", err)
	}
	events.Phase(r.Events, s.sm, s.before.Status.Phase)
	events.Faults(r.Events, s.sm, s.before.Status.Conditions)
	return nil
}

// conclude derives phase, refs and conditions from what the reconcile found.
func (s *scope) conclude() {
	if retry(s.fault) {
		s.mention(s.fault)
		return // an API error says nothing about the machine
	}
	if s.ejecting() {
		if s.notice != nil && s.notice.stuck {
			s.setShuttingDown()
		}
		return // eject describes its own work
	}
	status := &s.sm.Status
	status.ObservedGeneration = s.sm.Generation
	if s.machine == nil && s.fault == nil {
		status.Shutdown = nil
	}
	s.setShuttingDown()
	s.setRefs()
	var message string
	if s.fault != nil {
		status.Phase, message = v1alpha1.PhaseError, short(s.fault.Error())
	} else {
		status.Phase, message = s.phase()
	}
	if status.Phase != v1alpha1.PhaseDisabled || !status.Reclaim.Holds() || s.before.Status.Phase != v1alpha1.PhaseDisabled {
		status.Message = message // otherwise eject's says how to come back
	}
	s.setConditions(message)
	if status.Message == "" {
		status.Message = s.condition(v1alpha1.ConditionReady).message
	}
}

// mention tells of an answer of the API server that nobody would hear of otherwise, because no phase says that anything is amiss. Conflicts are
// everyday.
func (s *scope) mention(err error) {
	status := &s.sm.Status
	if apierrors.IsConflict(err) || apierrors.ReasonForError(err) == metav1.StatusReasonUnknown || s.machine != nil || s.ejecting() {
		return
	}
	status.Phase = cmp.Or(status.Phase, v1alpha1.PhasePending)
	status.Message = short("Tried again: " + err.Error())
}

func (s *scope) setConditions(message string) {
	if !s.deleting() { // the schedule is not looked at any more, and the Node is left as it is
		s.set(v1alpha1.ConditionScheduled, s.scheduled())
		s.set(v1alpha1.ConditionNodeTainted, s.nodeTainted())
		s.setTaintConflict()
	}
	s.set(v1alpha1.ConditionMachineReady, s.machineReady())
	s.setNotBroughtOver()
	s.setWhileTrue(v1alpha1.ConditionStalled, s.fault != nil, s.faultReason(), message)
	s.set(v1alpha1.ConditionReady, s.ready(message))
}

func (s *scope) phase() (v1alpha1.Phase, string) {
	switch {
	case s.deleting():
		return v1alpha1.PhaseShuttingDown, s.progress()
	case s.wanted() && s.machine != nil && s.machine.GetDeletionTimestamp() != nil:
		return v1alpha1.PhasePending, "The previous Machine is not gone yet. " + s.progress()
	case s.wanted() && s.sm.Status.NodeRef != nil:
		return v1alpha1.PhaseActive, ""
	case s.machine != nil && !s.wanted():
		return v1alpha1.PhaseShuttingDown, s.progress()
	case s.due():
		return v1alpha1.PhasePending, s.pending()
	case s.sm.Spec.KillSwitch:
		return v1alpha1.PhaseTerminated, "spec.killSwitch is true"
	case s.sm.Status.Reclaim.Holds():
		return v1alpha1.PhaseDisabled, cmp.Or(s.condition(v1alpha1.ConditionReclaimed).message, "Held out after a reclaim")
	case !s.enabled():
		return v1alpha1.PhaseDisabled, "spec.schedule.enabled is false"
	}
	return v1alpha1.PhaseInactive, ""
}

// pending says what a machine waits for that is in schedule and not in its cluster.
func (s *scope) pending() string {
	switch {
	case s.cluster == nil:
		return fmt.Sprintf("Cluster %s does not exist; the Machine is made when it does", s.sm.Spec.ClusterName)
	case s.clusterLeaves():
		return fmt.Sprintf("Cluster %s is being deleted; no Machine is made for it", s.sm.Spec.ClusterName)
	case capi.Paused(s.cluster):
		return fmt.Sprintf("Cluster %s is paused, so no Node joins it. %s", s.sm.Spec.ClusterName, resume)
	case s.machine == nil:
		return cmp.Or(s.leaving, "Creating the Machine")
	}
	return s.machineReady().message
}

// setRefs names the three objects while there is a Machine.
func (s *scope) setRefs() {
	status := &s.sm.Status
	status.MachineRef, status.BootstrapRef, status.InfrastructureRef = nil, nil, nil
	if s.machine == nil {
		status.ProviderID = ""
		return
	}
	status.MachineRef = refTo(s.machine)
	status.MachineRef.UID = s.machine.GetUID()
	if bootstrap, err := s.bootstrap(); err == nil {
		status.BootstrapRef = refTo(bootstrap)
	}
	if infrastructure, err := s.infrastructure(); err == nil {
		status.InfrastructureRef = refTo(infrastructure)
	}
}

func refTo(object *unstructured.Unstructured) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: object.GetAPIVersion(), Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName()}
}

// wakeAfter is the time to the next edge of the schedule, or to what a step waits for; everything else wakes us by a watch.
func (s *scope) wakeAfter() time.Duration {
	if s.fault != nil {
		s.again(faultRetry)
	}
	if s.deleting() {
		return s.wake // the edges were not read again, and may be over
	}
	for _, edge := range []*metav1.Time{s.sm.Status.NextActivation, s.sm.Status.NextCleanup} {
		if edge != nil {
			s.again(min(edge.Sub(s.now), lookAgain))
		}
	}
	return s.wake
}

// lookAgain is the longest wait for an edge: timers do not count the time that a machine sleeps, nor by how much its clock is put forward.
const lookAgain = 5 * time.Minute
