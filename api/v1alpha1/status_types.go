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

// Condition types of a ScheduledMachine.
const (
	// ConditionReady: the machine is where its schedule wants it.
	ConditionReady = "Ready"
	// ConditionChildClusterReachable: the child cluster answers under its kubeconfig Secret.
	ConditionChildClusterReachable = "ChildClusterReachable"
	// ConditionReclaimed: the machine was taken back by its owner and is held out until released.
	ConditionReclaimed = "Reclaimed"
	// ConditionNodeIdentityMismatch: the Node that CAPI mapped to the Machine does not carry the Machine's name. Nothing is done to it.
	ConditionNodeIdentityMismatch = "NodeIdentityMismatch"
	// ConditionShuttingDown: the machine is leaving its cluster. It is there only while that lasts; its reason says how far it has come, and
	// its message what it waits for and what a person can do.
	ConditionShuttingDown = "ShuttingDown"
	// ConditionAgentReady: the agent on the machine's Node watches for exactly what spec.killIfCommands says. Absent when nothing is asked for
	// and nothing is left of it on the child cluster, so that nobody waits for an agent that will never come.
	ConditionAgentReady = "AgentReady"
)

// Reasons of the condition ShuttingDown, in the order in which a machine leaves.
const (
	// ReasonGracePeriod: spec.gracefulShutdownTimeout runs; nothing has been done to the Node yet.
	ReasonGracePeriod = "GracePeriod"
	// ReasonDraining: the Node is cordoned and its pods are being evicted; the message names those that are left, and why.
	ReasonDraining = "Draining"
	// ReasonChildClusterUnreachable: the drain cannot go on, but its time runs; after it the Machine is deleted all the same.
	ReasonChildClusterUnreachable = "ChildClusterUnreachable"
	// ReasonWaitingForBootstrapData: the Machine has no bootstrap data yet. Deleted before, it would leave its infrastructure object behind for ever.
	// After ten minutes it is deleted all the same.
	ReasonWaitingForBootstrapData = "WaitingForBootstrapData"
	// ReasonMachineDeleting: the Machine is deleted, and Cluster API is removing it.
	ReasonMachineDeleting = "MachineDeleting"
)

// Reasons of the condition ShuttingDown for a Machine that is deleted and does not go. The message says what to do.
const (
	// ReasonClusterGone: the Cluster does not exist any more, and Cluster API removes no Machine without it.
	ReasonClusterGone = "ClusterGone"
	// ReasonPaused: the Cluster or the Machine is paused.
	ReasonPaused = "Paused"
	// ReasonDeletionHook: somebody holds the deletion up with a pre-drain or pre-terminate annotation on the Machine.
	ReasonDeletionHook = "DeletionHook"
	// ReasonInfrastructureStuck: the infrastructure object still has a finalizer minutes after its deletion.
	ReasonInfrastructureStuck = "InfrastructureStuck"
)

// Reasons of ConditionAgentReady when it is True: the agent's own state.
const (
	// ReasonArmed: a match takes the machine out.
	ReasonArmed = "Armed"
	// ReasonRequesting: there was a match, and the Node does not say so yet.
	ReasonRequesting = "Requesting"
	// ReasonRequested: the Node asks to leave.
	ReasonRequested = "Requested"
)

// Reasons of ConditionAgentReady when it is False, or Unknown for the last two.
const (
	// ReasonInvalidEntry: an entry of spec.killIfCommands cannot be given to a node. The others are in force.
	ReasonInvalidEntry = "InvalidEntry"
	// ReasonNoNode: the machine is not in its cluster, or its Node is not surely its own.
	ReasonNoNode = "NoNode"
	// ReasonNotOurs: another controller has marked the Node or its ConfigMap as its own.
	ReasonNotOurs = "NotOurs"
	// ReasonNotProjected: the child cluster refused the label or the ConfigMap.
	ReasonNotProjected = "NotProjected"
	// ReasonLabelRefused: somebody else gave the Node's label another value.
	ReasonLabelRefused = "LabelRefused"
	// ReasonInstalling: the Node is labelled, and no agent has reported yet.
	ReasonInstalling = "Installing"
	// ReasonStateUnreadable: what the Node says of its agent is no agent's writing.
	ReasonStateUnreadable = "StateUnreadable"
	// ReasonConfigPending: the agent runs with another configuration than the one that was projected.
	ReasonConfigPending = "ConfigPending"
	// ReasonStandby: the agent has nothing that it could or should give back, or cannot see processes.
	ReasonStandby = "Standby"
	// ReasonInert: the agent has nothing to match.
	ReasonInert = "Inert"
	// ReasonRemoving: nothing is asked for any more, and what was projected is being taken off.
	ReasonRemoving = "Removing"
	// ReasonStale: the Node does not report, so what its agent last said may no longer hold.
	ReasonStale = "Stale"
	// ReasonUnreachable: the child cluster does not answer.
	ReasonUnreachable = "Unreachable"
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
	// nodeRef is the machine's Node in the child cluster.
	// +optional
	NodeRef *NodeReference `json:"nodeRef,omitempty"`
	// providerID is the infrastructure provider's name for the machine.
	// +optional
	ProviderID string `json:"providerID,omitempty"`
	// appliedNodeTaints are the taints on the Node that the controller put there.
	// +optional
	// +kubebuilder:validation:MaxItems=50
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
