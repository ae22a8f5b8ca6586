package eject

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/metrics"
)

var start = time.Date(2026, 4, 19, 21, 30, 0, 0, time.UTC)

func after(seconds int) *metav1.MicroTime {
	return microtime(start.Add(time.Duration(seconds) * time.Second))
}

func newReconciler(t *testing.T, objects ...client.Object) *Reconciler {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	require.NoError(t, eventsv1.AddToScheme(scheme))
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.ScheduledMachine{}).Build()
	counted, err := metrics.New(prometheus.NewRegistry(), time.Now)
	require.NoError(t, err)
	return &Reconciler{Client: c, Live: c, Events: events.NewFakeRecorder(100), Metrics: counted, Now: time.Now}
}

// begun is a ScheduledMachine with a removal that two replicas know.
func begun() *v1alpha1.ScheduledMachine {
	sm := &v1alpha1.ScheduledMachine{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "ws-1", UID: "u-1"}}
	sm.Spec.KillIfCommands = []string{"java"}
	sm.Status.Reclaim = &v1alpha1.ReclaimStatus{
		ID:      "r-1",
		Removal: v1alpha1.Removal{NodeName: "ws-1", NodeUID: "n-1", MachineUID: "m-1", ObservedAt: *after(0)},
	}
	return sm
}

func scopeOf(t *testing.T, r *Reconciler) *scope {
	t.Helper()
	s := &scope{sm: begun()}
	require.NoError(t, r.refresh(t.Context(), s))
	return s
}

func TestWhatOneReplicaStoredAnotherThatIsLateDoesNotReplace(t *testing.T) {
	r := newReconciler(t, begun())
	late, leader := scopeOf(t, r), scopeOf(t, r)
	record := leader.sm.Status.Reclaim
	record.NodeDeletedAt, record.PodsDeletedAt, record.PodsDeleted = after(1), after(1), 10
	record.MachineGoneAt, record.ReleasedAt = after(5), after(60)
	require.NoError(t, r.save(t.Context(), leader))

	record = late.sm.Status.Reclaim
	record.NodeDeletedAt, record.PodsDeletedAt, record.PodsDeleted = after(2), after(2), 0
	record.CordonedAt = after(2)
	require.NoError(t, r.save(t.Context(), late))

	stored := scopeOf(t, r).sm.Status.Reclaim
	require.True(t, stored.NodeDeletedAt.Equal(after(1)))
	require.EqualValues(t, 10, stored.PodsDeleted)
	require.True(t, stored.ReleasedAt.Equal(after(60)), "the hold came back")
	require.True(t, stored.CordonedAt.Equal(after(2)), "what only the late one saw is kept")
}

func TestAnotherRemovalIsNeverOverwritten(t *testing.T) {
	for name, change := range map[string]func(*v1alpha1.ScheduledMachine){
		"another reclaim":     func(sm *v1alpha1.ScheduledMachine) { sm.Status.Reclaim.ID = "r-2" },
		"another termination": func(sm *v1alpha1.ScheduledMachine) { sm.Status.Termination = &v1alpha1.Removal{MachineUID: "m-2"} },
	} {
		t.Run(name, func(t *testing.T) {
			r := newReconciler(t, begun())
			late, leader := scopeOf(t, r), scopeOf(t, r)
			change(leader.stored)
			require.NoError(t, r.Client.Status().Update(t.Context(), leader.stored))
			late.sm.Status.Reclaim.CordonedAt = after(2)
			require.ErrorIs(t, r.save(t.Context(), late), errChanged)
			require.Nil(t, scopeOf(t, r).sm.Status.Reclaim.CordonedAt)
		})
	}
}

// Until it is recorded, an order that the owner takes back is off.
func TestAnOrderTakenBackIsNotRecorded(t *testing.T) {
	for name, tt := range map[string]struct {
		order, takeBack func(*v1alpha1.ScheduledMachine)
	}{
		"request": {
			func(sm *v1alpha1.ScheduledMachine) { sm.Status = begun().Status },
			func(sm *v1alpha1.ScheduledMachine) { sm.Spec.KillIfCommands = nil },
		},
		"kill switch": {
			func(sm *v1alpha1.ScheduledMachine) { sm.Status.Termination = &v1alpha1.Removal{MachineUID: "m-1"} },
			func(sm *v1alpha1.ScheduledMachine) { sm.Spec.KillSwitch = false },
		},
	} {
		t.Run(name, func(t *testing.T) {
			sm := begun()
			sm.Spec.KillSwitch, sm.Status = true, v1alpha1.ScheduledMachineStatus{}
			r := newReconciler(t, sm)
			s, owner := scopeOf(t, r), scopeOf(t, r)
			tt.takeBack(owner.stored)
			require.NoError(t, r.Client.Update(t.Context(), owner.stored))
			tt.order(s.sm)
			require.ErrorIs(t, r.save(t.Context(), s), errChanged)
		})
	}
}
