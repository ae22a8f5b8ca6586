package integration

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/schedule"
	"5spot.finos.org/node-reclaim/test/controlplane"
	"5spot.finos.org/node-reclaim/test/lab"
)

// forge writes a ScheduledMachine's status as a tenant may who has the permission.
func forge(ctx context.Context, t *testing.T, l *lab.Lab, sm *v1alpha1.ScheduledMachine, change func(*v1alpha1.ScheduledMachineStatus)) {
	t.Helper()
	got := read(t, l, sm)
	forged := got.DeepCopy()
	change(&forged.Status)
	require.NoError(t, l.Admin.Status().Patch(ctx, forged, client.MergeFrom(got)))
}

// unmanaged makes a child cluster that Cluster API leaves alone, because it is paused: what its Machines say is for the test to say.
func unmanaged(t *testing.T, l *lab.Lab, name string) {
	t.Helper()
	secret(t, l, name, func(*api.Cluster, *api.AuthInfo) {})
	served, err := l.Admin.RESTMapper().RESTMapping(schema.GroupKind{Group: capi.Group, Kind: "Cluster"})
	require.NoError(t, err)
	cluster := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"paused": true}}}
	cluster.SetGroupVersionKind(served.GroupVersionKind)
	cluster.SetNamespace(lab.Namespace)
	cluster.SetName(name)
	require.NoError(t, l.Admin.Create(t.Context(), cluster))
}

// machineSays writes a Machine's status, as Cluster API does.
func machineSays(t *testing.T, l *lab.Lab, name, status string) {
	t.Helper()
	require.Eventually(t, func() bool { return machineOf(t, l, name) != nil }, patience, poll, "no Machine")
	ctx := context.Background()
	require.NoError(t, l.Admin.Patch(ctx, machineOf(t, l, name), mergePatch(`{"spec":{"bootstrap":{"dataSecretName":"x"}}}`)))
	require.NoError(t, l.Admin.Status().Patch(ctx, machineOf(t, l, name), mergePatch(`{"status":`+status+`}`)))
}

const setUp = `"initialization":{"bootstrapDataSecretCreated":true,"infrastructureProvisioned":true}`

// readyNode registers a Node that is Ready, and removes it after the test.
func readyNode(t *testing.T, l *lab.Lab, name string) *corev1.Node {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{
		Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady"}},
	}}
	require.NoError(t, l.ChildAdmin.Create(t.Context(), node))
	t.Cleanup(func() { require.NoError(t, client.IgnoreNotFound(l.ChildAdmin.Delete(context.Background(), node))) })
	return node
}

func untouched(t *testing.T, l *lab.Lab, node *corev1.Node) {
	t.Helper()
	require.Never(t, func() bool {
		got := &corev1.Node{}
		require.NoError(t, l.ChildAdmin.Get(context.Background(), client.ObjectKeyFromObject(node), got))
		return got.ResourceVersion != node.ResourceVersion
	}, stillness, poll, "Node %s was written", node.Name)
}

// The way of a Machine to its Node, step by step, as Cluster API tells it.
func TestConditionSaysWhatTheMachineWaitsFor(t *testing.T) {
	l, ctx := newLab(t)
	unmanaged(t, l, "step-by-step")
	sm := tainted("ws-50", "10.0.0.50", "dedicated=lent:NoSchedule")
	sm.Spec.ClusterName = "step-by-step"
	require.NoError(t, l.Admin.Create(ctx, sm))
	t.Cleanup(func() { remove(t, l, sm) })

	awaitCondition(t, l, sm, v1alpha1.ConditionMachineReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForBootstrap)
	machineSays(t, l, sm.Name, `{"initialization":{"bootstrapDataSecretCreated":true}}`)
	awaitCondition(t, l, sm, v1alpha1.ConditionMachineReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForInfrastructure)
	machineSays(t, l, sm.Name, `{`+setUp+`}`)
	awaitCondition(t, l, sm, v1alpha1.ConditionMachineReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForNode)

	node := readyNode(t, l, sm.Name)
	untouched(t, l, node) // unmapped: it may be anybody's
	node.Status.Conditions[0].Status, node.Status.Conditions[0].Message = corev1.ConditionFalse, "container runtime is down"
	require.NoError(t, l.ChildAdmin.Status().Update(ctx, node))
	machineSays(t, l, sm.Name, `{"nodeRef":{"name":"ws-50"},`+setUp+`}`)
	awaitCondition(t, l, sm, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonNodeNotReady)
	awaitPhase(t, l, sm, v1alpha1.PhaseActive)
	untouched(t, l, node) // no taints before it is Ready

	node.Status.Conditions[0].Status = corev1.ConditionTrue
	require.NoError(t, l.ChildAdmin.Status().Update(ctx, node))
	awaitCondition(t, l, sm, v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonNodeReady)
	awaitTaints(t, l, sm.Name, "dedicated=lent:NoSchedule")

	require.NoError(t, l.ChildAdmin.Delete(ctx, node))
	awaitCondition(t, l, sm, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonNodeGone)
	require.Nil(t, read(t, l, sm).Status.AppliedNodeTaints)
	for _, phase := range []v1alpha1.Phase{v1alpha1.PhasePending, v1alpha1.PhaseActive} {
		require.LessOrEqual(t, eventsOf(t, l, sm)[string(phase)], 2, "one event per transition")
	}
}

func TestMismatchedNodeIsLeftAlone(t *testing.T) {
	l, ctx := newLab(t)
	unmanaged(t, l, "mismatch")
	sm := tainted("ws-51", "10.0.0.51", "dedicated=lent:NoSchedule")
	sm.Spec.ClusterName = "mismatch"
	require.NoError(t, l.Admin.Create(ctx, sm))
	t.Cleanup(func() { remove(t, l, sm) })
	node := readyNode(t, l, "somebody-elses")
	machineSays(t, l, sm.Name, `{"nodeRef":{"name":"somebody-elses"},`+setUp+`}`)
	awaitCondition(t, l, sm, v1alpha1.ConditionNodeIdentityMismatch, metav1.ConditionTrue, v1alpha1.ReasonNodeNotOurs)
	awaitCondition(t, l, sm, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonNodeIdentityMismatch)
	untouched(t, l, node)
	require.Equal(t, 1, eventsOf(t, l, sm)[v1alpha1.ConditionNodeIdentityMismatch])
	require.Nil(t, read(t, l, sm).Status.NodeRef)

	machineSays(t, l, sm.Name, `{"nodeRef":{"name":"ws-51"},`+setUp+`}`)
	awaitCondition(t, l, sm, v1alpha1.ConditionMachineReady, metav1.ConditionFalse, v1alpha1.ReasonNodeGone)
	require.Nil(t, meta.FindStatusCondition(read(t, l, sm).Status.Conditions, v1alpha1.ConditionNodeIdentityMismatch))
}

// Where hosts keep their names, two Machines can claim one Node. Neither gets it until one claim is gone.
func TestNodeClaimedTwiceIsLeftAlone(t *testing.T) {
	l, ctx := newLab(t)
	unmanaged(t, l, "claimed-twice")
	var both []*v1alpha1.ScheduledMachine
	for _, name := range []string{"ws-52", "ws-53"} {
		sm := tainted(name, "10.0.0.52", "dedicated=lent:NoSchedule")
		sm.Spec.ClusterName = "claimed-twice"
		sm.Spec.BootstrapSpec.Spec = runtime.RawExtension{Raw: []byte(`{"version":"v1.37.2+k0s.0","useSystemHostname":true}`)}
		require.NoError(t, l.Admin.Create(ctx, sm))
		t.Cleanup(func() { remove(t, l, sm) })
		both = append(both, sm)
		machineSays(t, l, name, `{"nodeRef":{"name":"desk-7"},`+setUp+`}`)
	}
	for _, sm := range both {
		awaitCondition(t, l, sm, v1alpha1.ConditionNodeIdentityMismatch, metav1.ConditionTrue, v1alpha1.ReasonNodeNotOurs)
	}
	untouched(t, l, readyNode(t, l, "desk-7"))

	machineSays(t, l, "ws-53", `{"nodeRef":null,`+setUp+`}`)
	awaitCondition(t, l, both[0], v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonNodeReady)
	awaitTaints(t, l, "desk-7", "dedicated=lent:NoSchedule")
}

func TestWhatAdmissionCannotSeeIsAConditionAndRecovers(t *testing.T) {
	l, ctx := newLab(t)
	for name, tt := range map[string]struct{ bad, good, says string }{
		"zone": {`{"timezone":"Mars/Phobos"}`, `{"timezone":"Europe/Zurich"}`, "spec.schedule.timezone"},
		"cron": {
			`{"cron":"61 * * * *","daysOfWeek":null,"hoursOfDay":null}`,
			`{"cron":"* * * * *","daysOfWeek":null,"hoursOfDay":null}`, "spec.schedule.cron",
		},
	} {
		t.Run(name, func(t *testing.T) {
			sm := lab.ScheduledMachine("bad-"+name, "10.0.0.54")
			active(t, l, sm)
			uid := machineUID(t, l, sm.Name)
			require.NoError(t, l.Admin.Patch(ctx, read(t, l, sm), mergePatch(`{"spec":{"schedule":`+tt.bad+`}}`)))
			awaitPhase(t, l, sm, v1alpha1.PhaseError)
			awaitCondition(t, l, sm, v1alpha1.ConditionReady, metav1.ConditionFalse, v1alpha1.ReasonInvalidSchedule)
			awaitCondition(t, l, sm, v1alpha1.ConditionStalled, metav1.ConditionTrue, v1alpha1.ReasonInvalidSchedule)
			got := read(t, l, sm)
			require.Contains(t, got.Status.Message, tt.says)
			require.Equal(t, got.Generation, got.Status.ObservedGeneration)
			require.Never(t, func() bool {
				return machineUID(t, l, sm.Name) != uid || read(t, l, sm).ResourceVersion != got.ResourceVersion
			}, stillness, poll, "a bad schedule neither removes the machine nor keeps the controller busy")

			require.NoError(t, l.Admin.Patch(ctx, read(t, l, sm), mergePatch(`{"spec":{"schedule":`+tt.good+`}}`)))
			awaitPhase(t, l, sm, v1alpha1.PhaseActive)
			require.Nil(t, meta.FindStatusCondition(read(t, l, sm).Status.Conditions, v1alpha1.ConditionStalled))
			require.Equal(t, uid, machineUID(t, l, sm.Name))
			require.Equal(t, 1, eventsOf(t, l, sm)[string(v1alpha1.PhaseError)])
		})
	}
}

func TestKubectlWaitsForReady(t *testing.T) {
	l, ctx := newLab(t)
	sm := lab.ScheduledMachine("ws-55", "10.0.0.55")
	require.NoError(t, l.Admin.Create(ctx, sm))
	t.Cleanup(func() { remove(t, l, sm) })
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, l.Management.Kubeconfig, 0o600))
	out, err := exec.CommandContext(ctx, l.Management.Kubectl(), "--kubeconfig="+file, "--cache-dir="+t.TempDir(), "--namespace="+sm.Namespace,
		"wait", "--for=condition=Ready", "--timeout="+patience.String(), "scheduledmachine/"+sm.Name).CombinedOutput()
	require.NoError(t, err, string(out))
	require.Equal(t, v1alpha1.PhaseActive, read(t, l, sm).Status.Phase)
}

// Objects as they were written for the version before this one.
func TestObjectsOfTheFieldBehave(t *testing.T) {
	l, ctx := newLab(t)
	for _, file := range []string{"basic.yaml", "weekend-cron.yaml", "tainted.yaml"} {
		t.Run(file, func(t *testing.T) {
			sm := fieldObject(t, file)
			require.NoError(t, l.Admin.Create(ctx, sm))
			t.Cleanup(func() { remove(t, l, sm.DeepCopy()) })
			parsed, err := schedule.Parse(sm.Spec.Schedule)
			require.NoError(t, err)
			require.Eventually(t, func() bool {
				status := read(t, l, sm).Status
				covered := parsed.Active(time.Now())
				return status.InSchedule == covered && status.Phase == phaseOf(sm, covered) && status.NextActivation != nil && status.NextCleanup != nil
			}, patience, poll, "status: %v", read(t, l, sm).Status)
		})
	}
}

func phaseOf(sm *v1alpha1.ScheduledMachine, covered bool) v1alpha1.Phase {
	switch {
	case sm.Spec.KillSwitch:
		return v1alpha1.PhaseTerminated
	case covered:
		return v1alpha1.PhasePending // its cluster does not exist here
	}
	return v1alpha1.PhaseInactive
}

func fieldObject(t *testing.T, file string) *v1alpha1.ScheduledMachine {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(controlplane.Root(), "testdata", "scheduledmachines", file))
	require.NoError(t, err)
	sm := &v1alpha1.ScheduledMachine{}
	require.NoError(t, yaml.UnmarshalStrict(data, sm))
	sm.Namespace = lab.Namespace
	return sm
}

// The one with taints, on a host of the lab and in schedule.
func TestTaintsOfAFieldObjectAreApplied(t *testing.T) {
	l, _ := newLab(t)
	sm := lab.ScheduledMachine("ws-56", "10.0.0.56")
	sm.Spec.NodeTaints = fieldObject(t, "tainted.yaml").Spec.NodeTaints
	active(t, l, sm)
	awaitTaints(t, l, "ws-56", "example.org/shared:PreferNoSchedule", "workload:NoExecute", "workload=batch:NoSchedule")
}

// Whatever a tenant writes into his own object, the machine of another stays, and so does his own status in the end.
func TestForgedObjectDoesNotReachAnothersMachine(t *testing.T) {
	l, ctx := newLab(t)
	victim := lab.ScheduledMachine("ws-57", "10.0.0.57", "java")
	active(t, l, victim)
	uid, victims := machineUID(t, l, victim.Name), read(t, l, victim)
	for name, tt := range map[string]struct {
		object string
		status func(*v1alpha1.ScheduledMachineStatus)
	}{
		"labels":      {object: `{"metadata":{"labels":{"5spot.finos.org/scheduled-machine":"ws-57","cluster.x-k8s.io/cluster-name":"team-a-child"}}}`},
		"annotations": {object: `{"metadata":{"annotations":{"5spot.finos.org/scheduled-machine-uid":"` + string(victims.UID) + `","5spot.finos.org/release":"x"}}}`},
		"machine": {status: func(s *v1alpha1.ScheduledMachineStatus) {
			s.MachineRef, s.BootstrapRef, s.InfrastructureRef = victims.Status.MachineRef, victims.Status.BootstrapRef, victims.Status.InfrastructureRef
		}},
		"node": {status: func(s *v1alpha1.ScheduledMachineStatus) {
			s.NodeRef, s.ProviderID = victims.Status.NodeRef, victims.Status.ProviderID
		}},
		"phase": {status: func(s *v1alpha1.ScheduledMachineStatus) { *s = victims.Status }},
	} {
		t.Run(name, func(t *testing.T) {
			thief := lab.ScheduledMachine("thief-"+name, "10.0.0.58", "java")
			require.NoError(t, l.Admin.Create(ctx, thief))
			t.Cleanup(func() { remove(t, l, thief) })
			awaitPhase(t, l, thief, v1alpha1.PhaseActive)
			if tt.object != "" {
				require.NoError(t, l.Admin.Patch(ctx, read(t, l, thief), mergePatch(tt.object)))
			} else {
				forge(ctx, t, l, thief, tt.status)
				require.Eventually(t, func() bool {
					status := read(t, l, thief).Status
					return status.MachineRef != nil && status.MachineRef.Name == thief.Name && status.NodeRef != nil && status.NodeRef.Name == thief.Name
				}, patience, poll, "the forged status stays")
			}
			require.NoError(t, l.Admin.Patch(ctx, read(t, l, thief), mergePatch(`{"spec":{"killSwitch":true}}`)))
			awaitPhase(t, l, thief, v1alpha1.PhaseTerminated)
			require.Equal(t, uid, machineUID(t, l, victim.Name))
			require.True(t, nodeExists(t, l, victim.Name))
			require.Len(t, podsOf(t, l, victim.Name), podsOn)
		})
	}
	stays(t, l, victim)
}
