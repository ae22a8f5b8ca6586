package scheduledmachine

import (
	"cmp"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/taint"
)

// verdict is what a condition says.
type verdict struct {
	status          metav1.ConditionStatus
	reason, message string
}

func yes(reason, message string) verdict { return verdict{metav1.ConditionTrue, reason, message} }
func no(reason, message string) verdict  { return verdict{metav1.ConditionFalse, reason, message} }
func unknown(reason, message string) verdict {
	return verdict{metav1.ConditionUnknown, reason, message}
}

func (s *scope) set(kind string, v verdict) {
	meta.SetStatusCondition(&s.sm.Status.Conditions, metav1.Condition{
		Type: kind, Status: v.status, Reason: v.reason, Message: short(v.message), ObservedGeneration: s.sm.Generation,
	})
}

// setWhileTrue sets a condition that is only there while something is wrong.
func (s *scope) setWhileTrue(kind string, holds bool, reason, message string) {
	if holds {
		s.set(kind, yes(reason, message))
		return
	}
	meta.RemoveStatusCondition(&s.sm.Status.Conditions, kind)
}

// condition is what a condition said last; the zero verdict when it was never set.
func (s *scope) condition(kind string) verdict {
	c := meta.FindStatusCondition(s.sm.Status.Conditions, kind)
	if c == nil {
		return verdict{}
	}
	return verdict{c.Status, c.Reason, c.Message}
}

func (s *scope) setReachable(err error) {
	if err != nil {
		s.set(v1alpha1.ConditionChildClusterReachable, no(v1alpha1.ReasonNotConnected, reclaim.CleanReason(err.Error())))
		return
	}
	s.set(v1alpha1.ConditionChildClusterReachable, yes(v1alpha1.ReasonConnected, ""))
}

func (s *scope) scheduled() verdict {
	status := s.sm.Status
	switch {
	case s.faultReason() == v1alpha1.ReasonInvalidSchedule:
		return unknown(v1alpha1.ReasonInvalidSchedule, s.fault.Error())
	case !s.enabled():
		return no(v1alpha1.ReasonScheduleDisabled, "spec.schedule.enabled is false")
	case status.InSchedule:
		return yes(v1alpha1.ReasonInSchedule, when("In schedule until ", status.NextCleanup, "Always in schedule"))
	}
	return no(v1alpha1.ReasonOutOfSchedule, when("Out of schedule until ", status.NextActivation, "Out of schedule for good"))
}

func when(before string, edge *metav1.Time, otherwise string) string {
	if edge == nil {
		return otherwise
	}
	return before + edge.UTC().Format(time.RFC3339)
}

// machineReady follows the Machine on its way to a Ready Node and names the first thing that it waits for, in Cluster API's words where
// those say more.
func (s *scope) machineReady() verdict {
	if s.machine == nil {
		return no(v1alpha1.ReasonNoMachine, "There is no Machine")
	}
	if s.machine.GetDeletionTimestamp() != nil {
		return no(v1alpha1.ReasonMachineDeleting, s.progress())
	}
	if ready, why := capi.BootstrapReady(s.machine); !ready {
		return no(v1alpha1.ReasonWaitingForBootstrap, cmp.Or(why, "Waiting for the bootstrap provider to make the data that the host joins with"))
	}
	if ready, why := capi.InfrastructureReady(s.machine); !ready {
		return no(v1alpha1.ReasonWaitingForInfrastructure, cmp.Or(why, "Waiting for the infrastructure provider to set up the host"))
	}
	return s.nodeVerdict()
}

func (s *scope) nodeVerdict() verdict {
	mismatch, reachable := s.condition(v1alpha1.ConditionNodeIdentityMismatch), s.condition(v1alpha1.ConditionChildClusterReachable)
	switch {
	case mismatch.status == metav1.ConditionTrue:
		return no(v1alpha1.ReasonNodeIdentityMismatch, mismatch.message)
	case reachable.status == metav1.ConditionFalse:
		return unknown(v1alpha1.ReasonNotConnected, reachable.message)
	case s.nodeGone:
		return no(v1alpha1.ReasonNodeGone, "Cluster API has seen the Node, and it is not in the child cluster now")
	case s.node == nil:
		return no(v1alpha1.ReasonWaitingForNode, "Waiting for the Node to join its cluster")
	case !nodeReady(s.node):
		message := "Its kubelet has not reported yet"
		if c := readyCondition(s.node); c != nil {
			message = reclaim.CleanReason(c.Message) // a node's text
		}
		return no(v1alpha1.ReasonNodeNotReady, message)
	}
	return yes(v1alpha1.ReasonNodeReady, "")
}

func (s *scope) nodeTainted() verdict {
	reachable := s.condition(v1alpha1.ConditionChildClusterReachable)
	switch {
	case len(s.sm.Spec.NodeTaints) == 0 && len(s.sm.Status.AppliedNodeTaints) == 0:
		return yes(v1alpha1.ReasonNoTaints, "spec.nodeTaints is empty")
	case s.machine == nil || s.node == nil && reachable.status == metav1.ConditionTrue:
		return no(v1alpha1.ReasonNoNode, "There is no Node to put them on")
	case s.node == nil:
		return unknown(v1alpha1.ReasonNotConnected, reachable.message)
	case s.taintErr != nil:
		return no(v1alpha1.ReasonApplyingTaints, s.taintErr.Error())
	case s.taints.Change:
		return no(v1alpha1.ReasonApplyingTaints, "Waiting for the Node to be Ready and its taints to be stored")
	case len(s.taints.Conflicts) > 0:
		return no(v1alpha1.ReasonTaintOwnershipConflict, taint.Describe(s.taints.Conflicts))
	}
	return yes(v1alpha1.ReasonTaintsApplied, "")
}

// setTaintConflict leaves the condition as it is while the Node cannot be looked at.
func (s *scope) setTaintConflict() {
	if s.node == nil && s.machine != nil && !s.nodeGone {
		return
	}
	s.setWhileTrue(v1alpha1.ConditionTaintOwnershipConflict, len(s.taints.Conflicts) > 0, v1alpha1.ReasonValueDiffers,
		taint.Describe(s.taints.Conflicts)+". It is not overwritten: correct spec.nodeTaints, or remove the taint from the Node")
}

// ready sums up: the phase, and in phase Active the first condition that does not hold.
func (s *scope) ready(message string) verdict {
	switch s.sm.Status.Phase {
	case v1alpha1.PhaseError:
		return no(s.faultReason(), message)
	case v1alpha1.PhaseShuttingDown:
		return no(v1alpha1.ReasonShuttingDown, message)
	case v1alpha1.PhaseTerminated:
		return yes(v1alpha1.ReasonKillSwitch, message)
	case v1alpha1.PhaseInactive:
		return yes(v1alpha1.ReasonOutOfSchedule, s.scheduled().message)
	case v1alpha1.PhaseDisabled:
		if s.sm.Status.Reclaim.Holds() {
			return yes(v1alpha1.ReasonEmergencyReclaim, message)
		}
		return yes(v1alpha1.ReasonScheduleDisabled, message)
	}
	if s.machine == nil {
		return no(v1alpha1.ReasonPending, message)
	}
	for _, v := range []verdict{s.machineReady(), s.nodeTainted()} {
		if v.status != metav1.ConditionTrue {
			return v
		}
	}
	return yes(v1alpha1.ReasonNodeReady, "")
}

// faultReason is empty when no person has to mend anything.
func (s *scope) faultReason() string {
	var fault *Fault
	if errors.As(s.fault, &fault) {
		return fault.Reason
	}
	return ""
}
