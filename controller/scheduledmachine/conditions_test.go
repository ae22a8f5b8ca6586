package scheduledmachine

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	kstatus "sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/yaml"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/taint"
)

var noon = time.Date(2026, 4, 20, 12, 0, 0, 0, time.UTC)

// inSchedule is a ScheduledMachine that is due until 18:00 and whose child cluster answers.
func inSchedule() *scope {
	sm := &v1alpha1.ScheduledMachine{}
	sm.Name, sm.Generation = "ws-1", 3
	sm.Status.InSchedule = true
	sm.Status.NextCleanup = ptr.To(metav1.NewTime(noon.Add(6 * time.Hour)))
	s := &scope{sm: sm, before: sm.DeepCopy(), now: noon, cluster: emptyCluster(capi.V1Beta2)}
	s.setReachable(nil)
	return s
}

// withMachine gives it a Machine with that status.
func (s *scope) withMachine(t *testing.T, status string) *scope {
	t.Helper()
	s.machine = &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal([]byte("{apiVersion: cluster.x-k8s.io/v1beta2, kind: Machine, status: "+status+"}"), &s.machine.Object))
	return s
}

const (
	provisioned = "{initialization: {bootstrapDataSecretCreated: true, infrastructureProvisioned: true}}"
	v1beta1Done = "{bootstrapReady: true, infrastructureReady: true}"
)

// withNode gives it a provisioned Machine and a Node.
func (s *scope) withNode(t *testing.T, ready corev1.ConditionStatus, message string) *scope {
	t.Helper()
	s.withMachine(t, provisioned)
	s.node = &corev1.Node{}
	s.node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: ready, Message: message}}
	s.sm.Status.NodeRef = &v1alpha1.NodeReference{Name: "ws-1", UID: "n"}
	return s
}

func (s *scope) with(change func(*scope)) *scope {
	change(s)
	return s
}

func TestConditions(t *testing.T) {
	conflict := taint.Plan{Conflicts: []taint.Conflict{{Wanted: v1alpha1.NodeTaint{Key: "a", Value: "1", Effect: "NoSchedule"}, There: "x"}}}
	wantsTaint := func(s *scope) {
		s.sm.Spec.NodeTaints = []v1alpha1.NodeTaint{{Key: "a", Value: "1", Effect: "NoSchedule"}}
	}
	held := &v1alpha1.ReclaimStatus{ID: "x", Removal: v1alpha1.Removal{MachineGoneAt: &metav1.MicroTime{Time: noon}}}
	for _, tt := range []struct {
		name  string
		scope *scope
		phase v1alpha1.Phase
		// conditions are the status and reason of each that is looked at.
		conditions map[string]string
		says       string
		kstatus    kstatus.Status
	}{
		{"no Machine yet", inSchedule(), v1alpha1.PhasePending,
			map[string]string{"Ready": "False Pending", "MachineReady": "False NoMachine", "Scheduled": "True InSchedule", "NodeTainted": "True NoTaints"},
			"Creating the Machine", kstatus.InProgressStatus},
		{"bootstrap not ready", inSchedule().withMachine(t, "{conditions: [{type: BootstrapConfigReady, status: 'False', message: no join token}]}"),
			v1alpha1.PhasePending, map[string]string{"Ready": "False WaitingForBootstrap", "MachineReady": "False WaitingForBootstrap"},
			"no join token", kstatus.InProgressStatus},
		{"host not set up", inSchedule().withMachine(t, "{initialization: {bootstrapDataSecretCreated: true}, conditions: [{type: InfrastructureReady, status: 'False', message: no route to host}]}"),
			v1alpha1.PhasePending, map[string]string{"Ready": "False WaitingForInfrastructure"}, "no route to host", kstatus.InProgressStatus},
		{"host not set up, v1beta1", inSchedule().withMachine(t, "{bootstrapReady: true}"),
			v1alpha1.PhasePending, map[string]string{"Ready": "False WaitingForInfrastructure"}, "Waiting for the infrastructure provider to set up the host", kstatus.InProgressStatus},
		{"Node not there", inSchedule().withMachine(t, v1beta1Done),
			v1alpha1.PhasePending, map[string]string{"Ready": "False WaitingForNode"}, "Waiting for the Node to join its cluster", kstatus.InProgressStatus},
		{"Node of the Machine gone", inSchedule().withMachine(t, provisioned).with(func(s *scope) { s.nodeGone = true }),
			v1alpha1.PhasePending, map[string]string{"Ready": "False NodeGone"}, "not in the child cluster now", kstatus.InProgressStatus},
		{"Node not Ready", inSchedule().withNode(t, corev1.ConditionUnknown, "Kubelet stopped posting node status."),
			v1alpha1.PhaseActive, map[string]string{"Ready": "False NodeNotReady", "MachineReady": "False NodeNotReady"},
			"Kubelet stopped posting node status.", kstatus.InProgressStatus},
		{"Node Ready", inSchedule().withNode(t, corev1.ConditionTrue, ""),
			v1alpha1.PhaseActive, map[string]string{"Ready": "True NodeReady", "MachineReady": "True NodeReady"}, "", kstatus.CurrentStatus},
		{"Machine being deleted", inSchedule().withNode(t, corev1.ConditionTrue, "").with(func(s *scope) {
			s.machine.SetDeletionTimestamp(&metav1.Time{Time: noon})
		}), v1alpha1.PhasePending, map[string]string{"Ready": "False MachineDeleting"}, "to be gone", kstatus.InProgressStatus},
		{"child cluster out of reach", inSchedule().withMachine(t, provisioned).with(wantsTaint).with(func(s *scope) {
			s.setReachable(errors.New("connection refused"))
			s.sm.Status.NodeRef = &v1alpha1.NodeReference{Name: "ws-1"}
		}), v1alpha1.PhaseActive, map[string]string{
			"Ready": "Unknown NotConnected", "MachineReady": "Unknown NotConnected", "NodeTainted": "Unknown NotConnected", "ChildClusterReachable": "False NotConnected",
		}, "connection refused", kstatus.InProgressStatus},
		{"taints not applied", inSchedule().withNode(t, corev1.ConditionTrue, "").with(wantsTaint).with(func(s *scope) { s.taints.Change = true }),
			v1alpha1.PhaseActive, map[string]string{"Ready": "False ApplyingTaints", "MachineReady": "True NodeReady"}, "Waiting for the Node to be Ready", kstatus.InProgressStatus},
		{"taints applied", inSchedule().withNode(t, corev1.ConditionTrue, "").with(wantsTaint),
			v1alpha1.PhaseActive, map[string]string{"Ready": "True NodeReady", "NodeTainted": "True TaintsApplied"}, "", kstatus.CurrentStatus},
		{"taint refused", inSchedule().withNode(t, corev1.ConditionTrue, "").with(wantsTaint).with(func(s *scope) { s.taintErr = errors.New("forbidden") }),
			v1alpha1.PhaseActive, map[string]string{"Ready": "False ApplyingTaints"}, "forbidden", kstatus.InProgressStatus},
		{"taint of somebody else's", inSchedule().withNode(t, corev1.ConditionTrue, "").with(wantsTaint).with(func(s *scope) { s.taints = conflict }),
			v1alpha1.PhaseActive, map[string]string{
				"Ready": "False TaintOwnershipConflict", "NodeTainted": "False TaintOwnershipConflict", "TaintOwnershipConflict": "True ValueDiffers",
			}, `a:NoSchedule is "x" on the Node and "1" in spec.nodeTaints`, kstatus.InProgressStatus},
		{"out of schedule", inSchedule().with(func(s *scope) {
			s.sm.Status.InSchedule, s.sm.Status.NextActivation = false, ptr.To(metav1.NewTime(noon.Add(time.Hour)))
		}), v1alpha1.PhaseInactive, map[string]string{"Ready": "True OutOfSchedule", "Scheduled": "False OutOfSchedule"}, "Out of schedule until 2026-04-20T13:00:00Z", kstatus.CurrentStatus},
		{"covered, and disabled", inSchedule().with(func(s *scope) { s.sm.Spec.Schedule.Enabled = ptr.To(false) }),
			v1alpha1.PhaseDisabled, map[string]string{"Ready": "True ScheduleDisabled", "Scheduled": "False ScheduleDisabled"}, "spec.schedule.enabled is false", kstatus.CurrentStatus},
		{"held out after a reclaim", inSchedule().with(func(s *scope) { s.sm.Status.Reclaim = held }),
			v1alpha1.PhaseDisabled, map[string]string{"Ready": "True EmergencyReclaim", "Scheduled": "True InSchedule"}, "Held out", kstatus.CurrentStatus},
		{"kill switch", inSchedule().with(func(s *scope) { s.sm.Spec.KillSwitch = true }),
			v1alpha1.PhaseTerminated, map[string]string{"Ready": "True KillSwitch"}, "spec.killSwitch is true", kstatus.CurrentStatus},
		{"end of the schedule", inSchedule().withNode(t, corev1.ConditionTrue, "").with(func(s *scope) { s.sm.Status.InSchedule = false }),
			v1alpha1.PhaseShuttingDown, map[string]string{"Ready": "False ShuttingDown"}, "", kstatus.InProgressStatus},
		{"a zone that does not exist", inSchedule().withNode(t, corev1.ConditionTrue, "").with(func(s *scope) {
			s.fault = errors.Join(&Fault{Reason: v1alpha1.ReasonInvalidSchedule, Message: "spec.schedule.timezone: no zone Mars/Phobos"})
		}), v1alpha1.PhaseError, map[string]string{
			"Ready": "False InvalidSchedule", "Scheduled": "Unknown InvalidSchedule", "Stalled": "True InvalidSchedule", "MachineReady": "True NodeReady",
		}, "no zone Mars/Phobos", kstatus.FailedStatus},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.scope.conclude()
			status := tt.scope.sm.Status
			require.Equal(t, tt.phase, status.Phase)
			for kind, want := range tt.conditions {
				c := meta.FindStatusCondition(status.Conditions, kind)
				require.NotNil(t, c, kind)
				require.Equal(t, want, string(c.Status)+" "+c.Reason, kind)
			}
			for _, c := range status.Conditions {
				require.NotEmpty(t, c.Reason, c.Type)
				require.NotEqual(t, metav1.ConditionStatus(""), c.Status, c.Type)
			}
			require.Contains(t, meta.FindStatusCondition(status.Conditions, "Ready").Message, tt.says)
			if status.Reclaim == nil { // then the message is eject's
				require.Contains(t, status.Message, tt.says)
			}
			require.EqualValues(t, 3, meta.FindStatusCondition(status.Conditions, "Ready").ObservedGeneration)
			require.Equal(t, tt.kstatus, kstatusOf(t, tt.scope.sm))
		})
	}
}

func kstatusOf(t *testing.T, sm *v1alpha1.ScheduledMachine) kstatus.Status {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(sm)
	require.NoError(t, err)
	result, err := kstatus.Compute(&unstructured.Unstructured{Object: content})
	require.NoError(t, err)
	return result.Status
}

func TestConditionsThatAreOnlyThereWhileTrueGoAgain(t *testing.T) {
	s := inSchedule().withNode(t, corev1.ConditionTrue, "")
	s.taints.Conflicts = []taint.Conflict{{}}
	s.fault = &Fault{Reason: v1alpha1.ReasonInvalidSpec}
	s.conclude()
	require.NotNil(t, meta.FindStatusCondition(s.sm.Status.Conditions, v1alpha1.ConditionTaintOwnershipConflict))
	require.NotNil(t, meta.FindStatusCondition(s.sm.Status.Conditions, v1alpha1.ConditionStalled))
	s.fault, s.taints = nil, taint.Plan{}
	s.conclude()
	require.Nil(t, meta.FindStatusCondition(s.sm.Status.Conditions, v1alpha1.ConditionTaintOwnershipConflict))
	require.Nil(t, meta.FindStatusCondition(s.sm.Status.Conditions, v1alpha1.ConditionStalled))
}

func TestConflictIsNotForgottenWhileItCannotBeLookedAt(t *testing.T) {
	s := inSchedule().withNode(t, corev1.ConditionTrue, "")
	s.taints.Conflicts = []taint.Conflict{{}}
	s.conclude()
	s.node, s.taints = nil, taint.Plan{}
	s.setReachable(errors.New("connection refused"))
	s.conclude()
	require.NotNil(t, meta.FindStatusCondition(s.sm.Status.Conditions, v1alpha1.ConditionTaintOwnershipConflict))
}

func TestHeartbeatsDoNotMatter(t *testing.T) {
	node := inSchedule().withNode(t, corev1.ConditionTrue, "").node
	beat := node.DeepCopy()
	beat.ResourceVersion = "2"
	beat.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(noon)
	beat.Annotations = map[string]string{"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
	require.False(t, nodeMatters(node, beat))
	for name, change := range map[string]func(*corev1.Node){
		"Ready":      func(n *corev1.Node) { n.Status.Conditions[0].Status = corev1.ConditionUnknown },
		"taints":     func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: "a", Effect: "NoSchedule"}} },
		"UID":        func(n *corev1.Node) { n.UID = "another" },
		"providerID": func(n *corev1.Node) { n.Spec.ProviderID = "remote-machine://10.0.0.1:22" },
	} {
		changed := node.DeepCopy()
		change(changed)
		require.True(t, nodeMatters(node, changed), name)
	}
	require.True(t, nodeMatters(nil, node))
	require.True(t, nodeMatters(node, nil))
}
