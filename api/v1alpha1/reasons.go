package v1alpha1

// Reasons of the condition Ready. Its message says more.
const (
	// ReasonNodeReady: in schedule, and the Node is Ready.
	ReasonNodeReady = "NodeReady"
	// ReasonPending: in schedule, and the machine is on its way.
	ReasonPending = "Pending"
	// ReasonShuttingDown: the machine is leaving its cluster.
	ReasonShuttingDown = "ShuttingDown"
	// ReasonEmergencyRemove: the owner is taking the machine back.
	ReasonEmergencyRemove = "EmergencyRemove"
	// ReasonKillSwitch: no machine, because spec.killSwitch is true.
	ReasonKillSwitch = "KillSwitch"
)

// Reasons of the conditions Ready and Stalled: a person has to change something.
const (
	// ReasonInvalidSchedule: spec.schedule names a zone that does not exist, or cron text that has no meaning. Also of Scheduled, which is
	// then Unknown.
	ReasonInvalidSchedule = "InvalidSchedule"
	// ReasonInvalidSpec: another part of the spec cannot be carried out.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonNameTaken: an object of the name exists that was not made for this ScheduledMachine. It is left alone.
	ReasonNameTaken = "NameTaken"
	// ReasonOtherName: the earlier version in Rust made a Machine for this ScheduledMachine under another name. It is left alone, and no other is made.
	ReasonOtherName = "OtherName"
	// ReasonKindNotServed: the management cluster does not know the kind of spec.bootstrapSpec or spec.infrastructureSpec.
	ReasonKindNotServed = "KindNotServed"
	// ReasonRefused: the management cluster's API server refused an object. Also of NotBroughtOver.
	ReasonRefused = "Refused"
)

// Reasons of the condition Scheduled. All but ReasonInSchedule are also Ready's, when there is no machine for that reason.
const (
	// ReasonInSchedule: the schedule covers the present moment.
	ReasonInSchedule = "InSchedule"
	// ReasonOutOfSchedule: it does not.
	ReasonOutOfSchedule = "OutOfSchedule"
	// ReasonScheduleDisabled: spec.schedule.enabled is false.
	ReasonScheduleDisabled = "ScheduleDisabled"
)

// Reasons of the condition MachineReady. Where they say why there is no Ready Node yet, they are also Ready's.
const (
	// ReasonNoMachine: there is no Machine.
	ReasonNoMachine = "NoMachine"
	// ReasonMachineDeleting: the Machine is being deleted.
	ReasonMachineDeleting = "MachineDeleting"
	// ReasonWaitingForBootstrap: the bootstrap provider has not made the join data yet.
	ReasonWaitingForBootstrap = "WaitingForBootstrap"
	// ReasonWaitingForInfrastructure: the infrastructure provider has not reached or set up the host yet.
	ReasonWaitingForInfrastructure = "WaitingForInfrastructure"
	// ReasonWaitingForNode: the host is set up, and its Node has not joined yet.
	ReasonWaitingForNode = "WaitingForNode"
	// ReasonNodeGone: Cluster API has seen the Node, and it is not there now.
	ReasonNodeGone = "NodeGone"
	// ReasonNodeNotReady: the Node is there and its kubelet says that it is not Ready, or says nothing any more.
	ReasonNodeNotReady = "NodeNotReady"
	// ReasonNodeIdentityMismatch: see the condition of this name.
	ReasonNodeIdentityMismatch = "NodeIdentityMismatch"
)

// Reasons of the condition ChildClusterReachable.
const (
	// ReasonConnected: the child cluster answers.
	ReasonConnected = "Connected"
	// ReasonNotConnected: it does not, or its kubeconfig Secret is missing or refused. Conditions about the Node are Unknown meanwhile, with
	// the same reason.
	ReasonNotConnected = "NotConnected"
)

// Reasons of the condition NodeTainted.
const (
	// ReasonTaintsApplied: the Node has all taints of spec.nodeTaints.
	ReasonTaintsApplied = "TaintsApplied"
	// ReasonNoTaints: spec.nodeTaints is empty.
	ReasonNoTaints = "NoTaints"
	// ReasonNoNode: there is no Node to put them on.
	ReasonNoNode = "NoNode"
	// ReasonApplyingTaints: they are about to be put on the Node, when it is Ready.
	ReasonApplyingTaints = "ApplyingTaints"
	// ReasonTaintOwnershipConflict: see the condition of this name; the other taints are on the Node.
	ReasonTaintOwnershipConflict = "TaintOwnershipConflict"
)

// ReasonValueDiffers is the reason of the condition TaintOwnershipConflict.
const ReasonValueDiffers = "ValueDiffers"

// ReasonNodeNotOurs is the reason of the condition NodeIdentityMismatch.
const ReasonNodeNotOurs = "NodeNotOurs"

// Reasons of the condition Reclaimed.
const (
	// ReasonEmergencyReclaim: the owner took the machine back.
	ReasonEmergencyReclaim = "EmergencyReclaim"
	// ReasonReleased: the machine was given back to its schedule.
	ReasonReleased = "Released"
)

// Reasons of the condition ShuttingDown, in the order in which a machine leaves. While the child cluster cannot be drained because it is out of
// reach, it is ReasonNotConnected; for the sake of bootstrap data, without which the infrastructure object would stay for ever,
// a Machine is kept for ten minutes, with ReasonWaitingForBootstrap; at the end, it is ReasonMachineDeleting.
const (
	// ReasonGracePeriod: spec.gracefulShutdownTimeout runs; nothing has been done to the Node yet.
	ReasonGracePeriod = "GracePeriod"
	// ReasonDraining: the Node is cordoned and its pods are being evicted; the message names those that are left, and why.
	ReasonDraining = "Draining"
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

// Reasons of events that are no condition's.
const (
	// ReasonDeletedBeforeBootstrap: the kill switch or an emergency deleted a Machine without bootstrap data, so that its infrastructure object may
	// stay for ever.
	ReasonDeletedBeforeBootstrap = "DeletedBeforeBootstrap"
	// ReasonDrainTimedOut: nodeDrainTimeout was over before the Node was empty. The Machine is deleted with the pods that the event names.
	ReasonDrainTimedOut = "DrainTimedOut"
)

// Reasons of the condition AgentReady when it is True: the agent's own state.
const (
	// ReasonArmed: a match takes the machine out.
	ReasonArmed = "Armed"
	// ReasonRequesting: there was a match, and the Node does not say so yet.
	ReasonRequesting = "Requesting"
	// ReasonRequested: the Node asks to leave.
	ReasonRequested = "Requested"
)

// Reasons of the condition AgentReady when it is False, or Unknown for the last two. ReasonNoNode is one of the first: the machine is not in its
// cluster, or its Node is not surely its own.
const (
	// ReasonInvalidEntry: an entry of spec.killIfCommands cannot be given to a node. The others are in force.
	ReasonInvalidEntry = "InvalidEntry"
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
