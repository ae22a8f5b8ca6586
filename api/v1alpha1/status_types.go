package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Phase is a summary of where a ScheduledMachine is in its life. Conditions say why.
// +kubebuilder:validation:Enum=Pending;Active;ShuttingDown;Inactive;Disabled;Terminated;EmergencyRemove;Error
type Phase string

// Phases of a ScheduledMachine.
const (
	// PhasePending: in schedule, the machine is on its way into the cluster.
	PhasePending Phase = "Pending"
	// PhaseActive: the Node is in the cluster.
	PhaseActive Phase = "Active"
	// PhaseShuttingDown: the schedule ended, the machine is leaving gracefully.
	PhaseShuttingDown Phase = "ShuttingDown"
	// PhaseInactive: outside the schedule, no machine.
	PhaseInactive Phase = "Inactive"
	// PhaseDisabled: spec.schedule.enabled is false, or a reclaim holds the machine out; no machine.
	PhaseDisabled Phase = "Disabled"
	// PhaseTerminated: spec.killSwitch is true; no machine.
	PhaseTerminated Phase = "Terminated"
	// PhaseEmergencyRemove: the owner wants the machine back, and it is being removed without grace.
	PhaseEmergencyRemove Phase = "EmergencyRemove"
	// PhaseError: the spec cannot be carried out; the Ready condition says why.
	PhaseError Phase = "Error"
)

// Condition types of a ScheduledMachine. Their reasons are in reasons.go.
const (
	// ConditionReady: the machine is where its schedule wants it, and as the spec wants it; the first thing that is not is its reason.
	ConditionReady = "Ready"
	// ConditionStalled, present while true: nothing goes on until a person changes something. kstatus takes it for a failure.
	ConditionStalled = "Stalled"
	// ConditionScheduled: the schedule is enabled and covers the present moment. The message says until when, or from when.
	ConditionScheduled = "Scheduled"
	// ConditionMachineReady: the Machine is there and its Node is Ready.
	ConditionMachineReady = "MachineReady"
	// ConditionChildClusterReachable: the child cluster answers under its kubeconfig Secret.
	ConditionChildClusterReachable = "ChildClusterReachable"
	// ConditionNodeTainted: the Node has the taints of spec.nodeTaints.
	ConditionNodeTainted = "NodeTainted"
	// ConditionTaintOwnershipConflict, present while true: somebody else has put a taint of spec.nodeTaints on the Node, with another value.
	// It is not overwritten.
	ConditionTaintOwnershipConflict = "TaintOwnershipConflict"
	// ConditionReclaimed: the machine was taken back by its owner and is held out until released.
	ConditionReclaimed = "Reclaimed"
	// ConditionNodeIdentityMismatch, present while true: the Node that CAPI mapped to the Machine does not carry the Machine's name. Nothing is done to it.
	ConditionNodeIdentityMismatch = "NodeIdentityMismatch"
	// ConditionNotBroughtOver, present while true: the objects that the earlier version in Rust made for the machine could not be changed into what ours
	// are. The machine stays and leaves by its schedule all the same.
	ConditionNotBroughtOver = "NotBroughtOver"
	// ConditionShuttingDown: the machine is leaving its cluster. It is there only while that lasts; its reason says how far it has come, and
	// its message what it waits for and what a person can do.
	ConditionShuttingDown = "ShuttingDown"
	// ConditionAgentReady: the agent on the machine's Node watches for exactly what spec.killIfCommands says. Absent when nothing is asked for
	// and nothing is left of it on the child cluster, so that nobody waits for an agent that will never come.
	ConditionAgentReady = "AgentReady"
)

// ScheduledMachineStatus is written by the controller alone.
type ScheduledMachineStatus struct {
	// phase sums up where the machine is; the conditions say why.
	// +optional
	Phase Phase `json:"phase,omitempty"`
	// message is one sentence for a person.
	// +optional
	Message string `json:"message,omitempty"`
	// inSchedule says whether the schedule, enabled or not, covers the present moment.
	// +optional
	InSchedule bool `json:"inSchedule"`
	// nextActivation is when the schedule next begins.
	// +optional
	NextActivation *metav1.Time `json:"nextActivation,omitempty"`
	// nextCleanup is when the schedule next ends.
	// +optional
	NextCleanup *metav1.Time `json:"nextCleanup,omitempty"`
	// lastScheduledTime is when the machine was last created.
	// +optional
	LastScheduledTime *metav1.Time `json:"lastScheduledTime,omitempty"`
	// machineRef is the CAPI Machine.
	// +optional
	MachineRef *corev1.ObjectReference `json:"machineRef,omitempty"`
	// bootstrapRef is the object made from spec.bootstrapSpec.
	// +optional
	BootstrapRef *corev1.ObjectReference `json:"bootstrapRef,omitempty"`
	// infrastructureRef is the object made from spec.infrastructureSpec.
	// +optional
	InfrastructureRef *corev1.ObjectReference `json:"infrastructureRef,omitempty"`
	// nodeRef is the machine's Node in the child cluster; while that cannot be reached, as it was last seen.
	// +optional
	NodeRef *NodeReference `json:"nodeRef,omitempty"`
	// providerID is the infrastructure provider's name for the machine.
	// +optional
	ProviderID string `json:"providerID,omitempty"`
	// appliedNodeTaints are the taints on the Node that are the controller's: it claims them here before it puts them there, and removes
	// no others.
	// +optional
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	AppliedNodeTaints []NodeTaint `json:"appliedNodeTaints,omitempty"`
	// shutdown is the shutdown under way, at the end of the schedule or of the ScheduledMachine.
	// +optional
	Shutdown *ShutdownStatus `json:"shutdown,omitempty"`
	// reclaim is the last emergency removal, and the hold that follows it.
	// +optional
	Reclaim *ReclaimStatus `json:"reclaim,omitempty"`
	// termination is the last removal that spec.killSwitch brought about.
	// +optional
	Termination *Removal `json:"termination,omitempty"`
	// +optional
	// +listType=map
	// +listMapKey=type
	// conditions say what holds at present, and why.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// observedGeneration is the generation of the spec that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
}

// NodeReference names a Node of the child cluster.
type NodeReference struct {
	// name of the Node.
	Name string `json:"name"`
	// uid of the Node; a later Node of the same name has another.
	// +optional
	UID types.UID `json:"uid,omitempty"`
}

// ShutdownStatus is the durable record of a graceful shutdown, so that a controller that is restarted goes on with it and its timeouts do not
// start anew. Times have microseconds.
type ShutdownStatus struct {
	// machineUID is the Machine that leaves; one of the same name that comes later is not shut down by this record.
	MachineUID types.UID `json:"machineUID"`
	// startedAt is when the machine had to go; gracefulShutdownTimeout runs from here.
	StartedAt metav1.MicroTime `json:"startedAt"`
	// drainStartedAt is when gracefulShutdownTimeout was over; nodeDrainTimeout runs from here.
	// +optional
	DrainStartedAt *metav1.MicroTime `json:"drainStartedAt,omitempty"`
	// cordonedNodeUID is the Node that was cordoned for this shutdown, noted before it was done. Empty when somebody else had cordoned it: such
	// a cordon is not undone when the machine stays after all.
	// +optional
	CordonedNodeUID types.UID `json:"cordonedNodeUID,omitempty"`
}

// ReclaimStatus is the durable record of one emergency removal. It is written before anything is deleted, so that a
// restart at any point resumes it, and stays as a hold until the owner releases the machine.
type ReclaimStatus struct {
	// id identifies this removal; the value of the release annotation.
	ID string `json:"id"`

	Removal `json:",inline"`

	// reason is the node's text, cut to 256 printable bytes.
	// +optional
	Reason string `json:"reason,omitempty"`
	// requestedAt is the agent's time, or the time of observation when that was missing, garbled or in the future.
	RequestedAt metav1.MicroTime `json:"requestedAt"`
	// scheduleDisabledAt is when spec.schedule.enabled was set to false. Unset under afterReclaim: Hold.
	// +optional
	ScheduleDisabledAt *metav1.MicroTime `json:"scheduleDisabledAt,omitempty"`
	// scheduleDisabledGeneration is metadata.generation after that; only a later spec can be the owner's way back.
	// +optional
	ScheduleDisabledGeneration int64 `json:"scheduleDisabledGeneration,omitempty"`
	// eventRecordedAt is when the EmergencyReclaim event was stored.
	// +optional
	EventRecordedAt *metav1.MicroTime `json:"eventRecordedAt,omitempty"`
	// annotationsClearedAt is when the request was known to be off the Node; last on the child cluster.
	// +optional
	AnnotationsClearedAt *metav1.MicroTime `json:"annotationsClearedAt,omitempty"`
	// releasedAt is when the owner gave the machine back to its schedule. Until then it is held out.
	// +optional
	ReleasedAt *metav1.MicroTime `json:"releasedAt,omitempty"`
}

// Removal says what is being removed without grace, and when each step was done. Times have microseconds.
type Removal struct {
	// nodeName is the Machine's Node.
	// +optional
	NodeName string `json:"nodeName,omitempty"`
	// nodeUID is that Node's UID; a later Node of the same name has another.
	// +optional
	NodeUID types.UID `json:"nodeUID,omitempty"`
	// machineUID is the Machine to delete, never one of the same name that came later.
	// +optional
	MachineUID types.UID `json:"machineUID,omitempty"`
	// podsDeleted is how many pods were deleted.
	// +optional
	PodsDeleted int32 `json:"podsDeleted,omitempty"`
	// observedAt is when the controller saw that the machine has to go.
	ObservedAt metav1.MicroTime `json:"observedAt"`
	// cordonedAt is when the Node was marked unschedulable.
	// +optional
	CordonedAt *metav1.MicroTime `json:"cordonedAt,omitempty"`
	// podsDeletedAt is when the last pod's DELETE was accepted.
	// +optional
	PodsDeletedAt *metav1.MicroTime `json:"podsDeletedAt,omitempty"`
	// nodeDeletedAt is when the Node was gone.
	// +optional
	NodeDeletedAt *metav1.MicroTime `json:"nodeDeletedAt,omitempty"`
	// podsGoneAt is when the last deleted pod was gone from the API, or the wait for that was given up.
	// +optional
	PodsGoneAt *metav1.MicroTime `json:"podsGoneAt,omitempty"`
	// machineDeletedAt is when the Machine's DELETE was accepted.
	// +optional
	MachineDeletedAt *metav1.MicroTime `json:"machineDeletedAt,omitempty"`
	// machineGoneAt is when the Machine was gone; the removal is then complete.
	// +optional
	MachineGoneAt *metav1.MicroTime `json:"machineGoneAt,omitempty"`
}

// Complete says that the Machine is gone.
func (r *ReclaimStatus) Complete() bool { return r != nil && r.MachineGoneAt != nil }

// UnderWay says that a removal has begun and that its Machine is not known to be gone.
func (r *Removal) UnderWay() bool { return r != nil && r.MachineGoneAt == nil }

// Holds says that the machine must stay out of the cluster.
func (r *ReclaimStatus) Holds() bool { return r != nil && r.ReleasedAt == nil }
