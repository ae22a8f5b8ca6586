package scheduledmachine

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/metrics"
)

// dusk is when the schedule of these tests ends.
var dusk = time.Date(2026, 4, 20, 18, 0, 0, 0, time.UTC)

// shuttingDown is a machine in its cluster whose schedule ended at dusk, looked at some time later. Its child cluster is out of reach.
func shuttingDown(t *testing.T, later time.Duration) *scope {
	t.Helper()
	sm := &v1alpha1.ScheduledMachine{}
	sm.Namespace, sm.Name, sm.UID = "team-a", "ws-1", "sm-1"
	sm.Spec.ClusterName = "child"
	sm.Spec.GracefulShutdownTimeout, sm.Spec.NodeDrainTimeout = "5m", "10m"
	sm.Spec.BootstrapSpec.Kind, sm.Spec.InfrastructureSpec.Kind = "K0sWorkerConfig", "RemoteMachine"
	s := &scope{sm: sm, now: dusk.Add(later), childErr: errors.New("it does not answer")}
	s.machine = capi.Machine(sm, capi.V1Beta2)
	s.machine.SetUID("m-1")
	require.NoError(t, unstructured.SetNestedField(s.machine.Object, "ws-1", "status", "nodeRef", "name"))
	s.cluster = emptyCluster(capi.V1Beta2)
	sm.Status.Shutdown = &v1alpha1.ShutdownStatus{MachineUID: "m-1", StartedAt: microtime(dusk)}
	return s
}

func TestRecordOfAShutdown(t *testing.T) {
	later := microtime(dusk.Add(time.Minute))
	for name, tt := range map[string]struct {
		change func(*v1alpha1.ScheduledMachineStatus)
		there  bool
		want   v1alpha1.ShutdownStatus
	}{
		"goes on": {
			func(status *v1alpha1.ScheduledMachineStatus) {
				status.Shutdown.DrainStartedAt = ptr.To(microtime(dusk.Add(time.Second)))
			}, true,
			v1alpha1.ShutdownStatus{MachineUID: "m-1", StartedAt: microtime(dusk), DrainStartedAt: ptr.To(microtime(dusk.Add(time.Second)))},
		},
		"is made": {
			func(status *v1alpha1.ScheduledMachineStatus) { status.Shutdown = nil }, false,
			v1alpha1.ShutdownStatus{MachineUID: "m-1", StartedAt: later},
		},
		"of an earlier Machine": {
			func(status *v1alpha1.ScheduledMachineStatus) {
				status.Shutdown.MachineUID, status.Shutdown.CordonedNodeUID = "m-0", "n-0"
			}, false,
			v1alpha1.ShutdownStatus{MachineUID: "m-1", StartedAt: later},
		},
		"begun in the future": {
			func(status *v1alpha1.ScheduledMachineStatus) {
				status.Shutdown.StartedAt = microtime(dusk.Add(time.Hour))
				status.Shutdown.DrainStartedAt = ptr.To(microtime(dusk.Add(2 * time.Hour)))
			}, true,
			v1alpha1.ShutdownStatus{MachineUID: "m-1", StartedAt: later, DrainStartedAt: &later},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := shuttingDown(t, time.Minute)
			tt.change(&s.sm.Status)
			require.Equal(t, tt.there, s.recorded())
			require.Equal(t, tt.want, *s.sm.Status.Shutdown)
		})
	}
}

func TestGracePeriod(t *testing.T) {
	for name, tt := range map[string]struct {
		later  time.Duration
		change func(*scope)
		over   bool
		wake   time.Duration
	}{
		"runs":                 {2 * time.Minute, func(*scope) {}, false, 3 * time.Minute},
		"is over":              {5 * time.Minute, func(*scope) {}, true, 0},
		"is none":              {0, func(s *scope) { s.sm.Spec.GracefulShutdownTimeout = "0s" }, true, 0},
		"of a default":         {time.Minute, func(s *scope) { s.sm.Spec.GracefulShutdownTimeout = "" }, false, 4 * time.Minute},
		"without a Node":       {0, func(s *scope) { delete(s.machine.Object, "status") }, true, 0},
		"in a leaving Cluster": {0, func(s *scope) { s.cluster.SetDeletionTimestamp(ptr.To(metav1.NewTime(dusk))) }, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := shuttingDown(t, tt.later)
			tt.change(s)
			over, err := awaitGrace(t.Context(), s)
			require.NoError(t, err)
			require.Equal(t, tt.over, over)
			require.Equal(t, tt.wake, s.wake)
			if !over {
				require.Equal(t, &notice{reason: v1alpha1.ReasonGracePeriod,
					message: "Node ws-1 is drained from 18:05:00Z on, after spec.gracefulShutdownTimeout"}, s.notice)
			}
		})
	}
}

func TestUnreachableChildDoesNotStretchADrain(t *testing.T) {
	lost := func(at time.Time) func(*scope) {
		return func(s *scope) {
			s.sm.Spec.NodeDrainTimeout = "0s"
			s.sm.Status.Shutdown.DrainStartedAt = ptr.To(microtime(dusk))
			meta.SetStatusCondition(&s.sm.Status.Conditions, metav1.Condition{
				Type: v1alpha1.ConditionChildClusterReachable, Status: metav1.ConditionFalse, LastTransitionTime: metav1.NewTime(at),
			})
		}
	}
	for name, tt := range map[string]struct {
		later  time.Duration
		change func(*scope)
		over   bool
		wake   time.Duration
	}{
		"the drain begins":               {time.Hour, func(*scope) {}, false, 10 * time.Minute},
		"its time is over":               {time.Hour, func(s *scope) { s.sm.Status.Shutdown.DrainStartedAt = ptr.To(microtime(dusk)) }, true, 0},
		"without a bound, just lost":     {time.Hour, lost(dusk.Add(55 * time.Minute)), false, 5 * time.Minute},
		"without a bound, lost for long": {time.Hour, lost(dusk.Add(50 * time.Minute)), true, 0},
		"without a Node":                 {0, func(s *scope) { delete(s.machine.Object, "status") }, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := shuttingDown(t, tt.later)
			tt.change(s)
			over, err := (&Reconciler{}).drain(t.Context(), s)
			require.NoError(t, err)
			require.Equal(t, tt.over, over)
			require.Equal(t, tt.wake, s.wake)
			if !over {
				require.Equal(t, v1alpha1.ReasonNotConnected, s.notice.reason)
				require.Equal(t, "Node ws-1 cannot be drained: it does not answer", s.notice.message)
				require.NotNil(t, s.sm.Status.Shutdown.DrainStartedAt)
			}
		})
	}
}

func TestBootstrapDataIsWaitedForButNotForEver(t *testing.T) {
	for name, tt := range map[string]struct {
		later time.Duration
		data  string
		over  bool
	}{
		"there":       {0, "ws-1", true},
		"not yet":     {9 * time.Minute, "", false},
		"never comes": {10 * time.Minute, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := shuttingDown(t, tt.later)
			require.NoError(t, unstructured.SetNestedField(s.machine.Object, tt.data, "spec", "bootstrap", "dataSecretName"))
			over, err := awaitBootstrapData(t.Context(), s)
			require.NoError(t, err)
			require.Equal(t, tt.over, over)
			if !over {
				require.Equal(t, v1alpha1.ReasonWaitingForBootstrap, s.notice.reason)
				require.Contains(t, s.notice.message, "K0sWorkerConfig ws-1 has not written bootstrap data yet")
				require.Contains(t, s.notice.message, "deleted at 18:10:00Z all the same")
				require.Equal(t, time.Minute, s.wake)
			}
		})
	}
}

// sent records the events.
type sent []string

func (r *sent) Eventf(_, _ runtime.Object, kind, reason, _, format string, args ...any) {
	*r = append(*r, kind+" "+reason+" "+fmt.Sprintf(format, args...))
}

func TestDrainThatRanOutOfTimeIsReportedOnce(t *testing.T) {
	const gone = "Warning DrainTimedOut The drain of Node ws-1 is out of time, and its Machine is deleted with whatever is left there"
	for name, tt := range map[string]struct {
		drained metrics.Drain
		last    notice
		want    sent
	}{
		"with pods left":    {metrics.DrainTimedOut, notice{reason: v1alpha1.ReasonDraining, message: "pods left: 2"}, sent{gone + ". Last seen: pods left: 2"}},
		"out of reach":      {metrics.DrainTimedOut, notice{reason: v1alpha1.ReasonNotConnected, message: "no answer"}, sent{gone + ". Last seen: no answer"}},
		"never looked at":   {metrics.DrainTimedOut, notice{reason: v1alpha1.ReasonGracePeriod, message: "grace"}, sent{gone}},
		"deleted before":    {metrics.DrainTimedOut, notice{reason: v1alpha1.ReasonMachineDeleting, message: "deleting"}, nil},
		"drained":           {metrics.Drained, notice{reason: v1alpha1.ReasonDraining, message: "pods left: 2"}, nil},
		"without any drain": {"", notice{reason: v1alpha1.ReasonGracePeriod}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := shuttingDown(t, time.Hour)
			s.drained = tt.drained
			s.set(v1alpha1.ConditionShuttingDown, yes(tt.last.reason, tt.last.message))
			counted, err := metrics.New(prometheus.NewRegistry(), time.Now)
			require.NoError(t, err)
			var events sent
			(&Reconciler{Events: &events, Metrics: counted}).reportDrain(s)
			require.Equal(t, tt.want, events)
		})
	}
}

// The child cluster's texts must not become a status that the API server refuses, for then nothing would ever be stored again.
func TestNoticeIsCutToWhatAConditionTakes(t *testing.T) {
	s := &scope{sm: &v1alpha1.ScheduledMachine{}}
	long := make([]byte, 100_000)
	for i := range long {
		long[i] = "é"[i%2]
	}
	s.wait(v1alpha1.ReasonDraining, "x%s", long)
	require.Len(t, s.notice.message, noticeLimit-1)
	require.NotContains(t, s.notice.message, "\uFFFD")
}

func TestWhoIsHandedOver(t *testing.T) {
	underWay := &v1alpha1.ReclaimStatus{ID: "x"}
	held := &v1alpha1.ReclaimStatus{ID: "x", Removal: v1alpha1.Removal{MachineGoneAt: ptr.To(microtime(dusk))}}
	for name, tt := range map[string]struct {
		change func(*scope)
		want   bool
	}{
		"nobody":                        {func(*scope) {}, false},
		"an emergency":                  {func(s *scope) { s.sm.Status.Reclaim = underWay }, true},
		"a hold":                        {func(s *scope) { s.sm.Status.Reclaim = held }, false},
		"a kill":                        {func(s *scope) { s.sm.Spec.KillSwitch = true }, true},
		"a kill that was taken back":    {func(s *scope) { s.sm.Status.Termination = &v1alpha1.Removal{MachineUID: "m-1"} }, true},
		"a kill switch with no Machine": {func(s *scope) { s.sm.Spec.KillSwitch, s.machine = true, nil }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := shuttingDown(t, 0)
			tt.change(s)
			require.Equal(t, tt.want, s.handedOver())
		})
	}
}

// An emergency removal describes itself; a shutdown that it met must not write over that, unless only a person can end what it waits for.
func TestEmergencyIsNotDescribedByTheShutdown(t *testing.T) {
	s := shuttingDown(t, 0)
	s.sm.Status.Reclaim, s.sm.Status.Phase = &v1alpha1.ReclaimStatus{ID: "x"}, v1alpha1.PhaseEmergencyRemove
	s.wait(v1alpha1.ReasonMachineDeleting, "waiting")
	before := s.sm.DeepCopy()
	s.conclude()
	require.Equal(t, before, s.sm)
	s.stuck(v1alpha1.ReasonPaused, "paused")
	s.conclude()
	require.Equal(t, v1alpha1.PhaseEmergencyRemove, s.sm.Status.Phase)
	require.True(t, meta.IsStatusConditionTrue(s.sm.Status.Conditions, v1alpha1.ConditionShuttingDown))
}
