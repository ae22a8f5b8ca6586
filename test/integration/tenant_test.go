package integration

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/test/lab"
)

// A tenant who may write the status of his ScheduledMachine writes a removal of somebody else's machine into it.
func TestForgedRecordDoesNotReachAnothersNode(t *testing.T) {
	l, ctx := newLab(t)
	victim := lab.ScheduledMachine("ws-8", "10.0.0.8")
	active(t, l, victim)
	thief := lab.ScheduledMachine("thief", "10.0.0.9", "java")
	active(t, l, thief)
	node := &corev1.Node{}
	require.NoError(t, l.ChildAdmin.Get(ctx, types.NamespacedName{Name: "ws-8"}, node))

	for name, forge := range map[string]func(*v1alpha1.ScheduledMachineStatus, *v1alpha1.ReclaimStatus){
		"under way": func(s *v1alpha1.ScheduledMachineStatus, r *v1alpha1.ReclaimStatus) { s.Reclaim = r },
		"complete": func(s *v1alpha1.ScheduledMachineStatus, r *v1alpha1.ReclaimStatus) {
			s.Reclaim, r.MachineGoneAt = r, &r.ObservedAt
		},
		"of the kill switch": func(s *v1alpha1.ScheduledMachineStatus, r *v1alpha1.ReclaimStatus) {
			s.Reclaim, s.Termination = nil, &r.Removal
		},
	} {
		t.Run(name, func(t *testing.T) {
			record := &v1alpha1.ReclaimStatus{
				ID: "forged", RequestedAt: metav1.NewMicroTime(time.Now()),
				Removal: v1alpha1.Removal{
					NodeName: "ws-8", NodeUID: node.UID, MachineUID: machineUID(t, l, "ws-8"), ObservedAt: metav1.NewMicroTime(time.Now()),
				},
			}
			got := read(t, l, thief)
			forged := got.DeepCopy()
			forge(&forged.Status, record)
			require.NoError(t, l.Admin.Status().Patch(ctx, forged, client.MergeFrom(got)))
			stays(t, l, victim)
		})
	}
}

// A ScheduledMachine named like a Machine that somebody else made gets neither that Machine nor its Node.
func TestNameOfAnothersMachineGivesNoPowerOverIt(t *testing.T) {
	l, ctx := newLab(t)
	stranger := lab.ScheduledMachine("taken", "10.0.0.10")
	stranger.UID = "somebody-else"
	foreign := capi.Machine(stranger, capi.V1Beta2)
	foreign.SetOwnerReferences(nil)
	require.NoError(t, l.Admin.Create(ctx, foreign))
	t.Cleanup(func() { require.NoError(t, l.Admin.Delete(context.Background(), foreign)) })

	sm := lab.ScheduledMachine("taken", "10.0.0.11", "java")
	require.NoError(t, l.Admin.Create(ctx, sm))
	t.Cleanup(func() { remove(t, l, sm) })
	awaitPhase(t, l, sm, v1alpha1.PhaseError)
	got := read(t, l, sm)
	forged := got.DeepCopy()
	forged.Spec.KillSwitch = true
	require.NoError(t, l.Admin.Patch(ctx, forged, client.MergeFrom(got)))
	got = read(t, l, sm)
	forged = got.DeepCopy()
	forged.Status.Reclaim = &v1alpha1.ReclaimStatus{
		ID: "forged", RequestedAt: metav1.NewMicroTime(time.Now()),
		Removal: v1alpha1.Removal{
			NodeName: "taken", MachineUID: foreign.GetUID(), ObservedAt: metav1.NewMicroTime(time.Now().Add(-time.Minute)),
		},
	}
	require.NoError(t, l.Admin.Status().Patch(ctx, forged, client.MergeFrom(got)))
	require.Never(t, func() bool { return machineUID(t, l, "taken") != foreign.GetUID() }, stillness, poll)
}
