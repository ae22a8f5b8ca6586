package integration

import (
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/test/controlplane"
	"5spot.finos.org/node-reclaim/test/lab"
)

// failover is what is promised between a leader's death and a Node that the next one has removed.
const failover = 5 * time.Second

// replica is one of several controllers.
type replica struct {
	*process
	metrics, health string
}

func startReplica(t *testing.T, kubeconfig []byte) *replica {
	t.Helper()
	r := &replica{metrics: freeAddress(t), health: freeAddress(t)}
	r.process = startController(t, kubeconfig, "--leader-elect", "--metrics-address="+r.metrics, "--health-address="+r.health)
	require.Eventually(t, func() bool { status, _ := get(t, "http://"+r.health+"/readyz"); return status == http.StatusOK }, patience, poll)
	return r
}

func (r *replica) says(t *testing.T, line string) bool {
	t.Helper()
	_, text := get(t, "http://"+r.metrics+"/metrics")
	return strings.Contains(text, "\n"+line+"\n")
}

func TestStandbyFinishesWhatAKilledLeaderBegan(t *testing.T) {
	controlplane.Require(t)
	l := shared
	fuse := newFuse(t, controller.config, func(r *http.Request, body string) bool {
		return strings.HasSuffix(r.URL.Path, "/status") && strings.Contains(body, `"reclaim":{`)
	})
	leader := startReplica(t, fuse.kubeconfig(t))
	require.Eventually(t, func() bool { return leader.says(t, "fivespot_leader 1") }, patience, poll)
	standby := startReplica(t, controller.kubeconfig)
	sm := lab.ScheduledMachine("leader-1", "10.0.6.1", "java")
	active(t, l, sm)
	require.Eventually(t, func() bool { return standby.says(t, `fivespot_child_clusters{state="connected"} 1`) }, patience, poll)
	require.True(t, standby.says(t, "fivespot_leader 0"))

	killed := make(chan time.Time, 1)
	fuse.arm(func() {
		_ = leader.cmd.Process.Signal(syscall.SIGKILL)
		killed <- time.Now()
	})
	require.NoError(t, annotate(t, l, "leader-1", "leader-1", request...))
	at := <-killed
	awaitPhase(t, l, sm, v1alpha1.PhaseDisabled)
	got := read(t, l, sm)
	took := got.Status.Reclaim.NodeDeletedAt.Sub(at)
	t.Logf("from SIGKILL of the leader until the standby had removed the Node: %s", took.Round(time.Millisecond))
	require.Less(t, took, failover)
	require.False(t, *got.Spec.Schedule.Enabled)
	require.False(t, nodeExists(t, l, "leader-1"))
	require.Equal(t, 1, eventsOf(t, l, sm)["EmergencyReclaim"])
	remove(t, l, sm) // while there is a leader
	stopsAndReleases(t, l, standby)
}

// stopsAndReleases: after SIGTERM nobody has to wait for the Lease to run out.
func stopsAndReleases(t *testing.T, l *lab.Lab, leader *replica) {
	t.Helper()
	before := time.Now()
	leader.signal(syscall.SIGTERM)
	took := time.Since(before)
	t.Logf("from SIGTERM until the process had ended: %s", took.Round(time.Millisecond))
	require.Less(t, took, 2*time.Second)
	require.True(t, leader.cmd.ProcessState.Success(), leader.cmd.ProcessState)
	lease := &coordinationv1.Lease{}
	require.NoError(t, l.Admin.Get(t.Context(), types.NamespacedName{Namespace: ownNamespace, Name: "5spot-controller"}, lease))
	require.Empty(t, *lease.Spec.HolderIdentity)
}
