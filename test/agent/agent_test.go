// Package agent runs the agent as a process: against a real API server, with a kubelet's credential, and on the real kernel's process events.
package agent

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/agent/proctest"
	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/test/controlplane"
	"5spot.finos.org/node-reclaim/test/workstation"
)

const (
	patience = 30 * time.Second
	poll     = 20 * time.Millisecond
)

// owner is a program that nobody else on this machine runs.
func owner(n int) string { return fmt.Sprintf("own%d-%d", n, os.Getpid()) }

// lent is a workstation that has joined, with an agent on it.
type lent struct {
	*workstation.Workstation
	t     *testing.T
	cp    *controlplane.ControlPlane
	admin client.Client
	agent *workstation.Agent
	// binary is the path of the agent's program.
	binary string
}

func TestAgent(t *testing.T) {
	proctest.NeedRoot(t)
	cp := controlplane.ForTest(t, controlplane.Options{})
	admin, err := client.New(cp.Config, client.Options{})
	require.NoError(t, err)
	binary, err := workstation.BuildAgent(t.Context(), t.TempDir())
	require.NoError(t, err)
	for i, part := range []struct {
		name  string
		flags []string
		run   func(*lent, string)
	}{
		{"a program that starts makes the machine leave, again and again", nil, leavesAgainAndAgain},
		{"a program that runs already is found by a sweep", []string{"--poll"}, findsWhatRuns},
		{"an orphan waits for its Node", nil, waitsForItsNode},
		{"the owner asks by hand", nil, asksByHand},
		{"Case 37: a request outlives an outage", nil, survivesAnOutage},
	} {
		t.Run(part.name, func(t *testing.T) {
			l := &lent{t: t, cp: cp, admin: admin, binary: binary}
			l.join(fmt.Sprintf("ws-%d", i), owner(i), part.flags...)
			part.run(l, owner(i))
		})
	}
}

func (l *lent) join(name, command string, flags ...string) {
	l.t.Helper()
	var err error
	l.Workstation, err = workstation.New(l.cp, name, l.t.TempDir())
	require.NoError(l.t, err)
	require.NoError(l.t, l.Match(command))
	_, err = l.Register(l.t.Context())
	require.NoError(l.t, err)
	l.agent, err = l.StartAgent(l.binary, flags...)
	require.NoError(l.t, err)
	l.t.Cleanup(l.stop)
}

// stop: an agent ends well when it is told to.
func (l *lent) stop() {
	err := l.agent.Stop()
	log, _ := l.agent.Log()
	if l.t.Failed() {
		l.t.Log(log)
	}
	require.NoError(l.t, err, "%s", log)
}

func (l *lent) node() (*corev1.Node, error) {
	n := &corev1.Node{}
	return n, l.admin.Get(context.Background(), client.ObjectKey{Name: l.Name}, n)
}

// await waits until the agent says on its Node that it is in that state.
func (l *lent) await(state string) *corev1.Node {
	l.t.Helper()
	var found *corev1.Node
	require.EventuallyWithT(l.t, func(c *assert.CollectT) {
		n, err := l.node()
		require.NoError(c, err)
		require.Contains(c, n.Annotations[reclaim.AnnotationAgentState], `"state":"`+state+`"`)
		found = n
	}, patience, poll)
	return found
}

func (l *lent) awaitLog(text string) {
	l.t.Helper()
	require.Eventually(l.t, func() bool {
		log, err := l.agent.Log()
		return err == nil && strings.Contains(log, text)
	}, patience, poll, text)
}

// clear is the controller's last step.
func (l *lent) clear(n *corev1.Node) {
	l.t.Helper()
	patch := client.MergeFrom(n.DeepCopy())
	for _, key := range []string{reclaim.AnnotationRequested, reclaim.AnnotationReason, reclaim.AnnotationRequestedAt} {
		delete(n.Annotations, key)
	}
	require.NoError(l.t, l.admin.Patch(l.t.Context(), n, patch))
}

func leavesAgainAndAgain(l *lent, command string) {
	l.await("armed")
	began := time.Now()
	proctest.Sleeper(l.t, command)
	n := l.await("requested")
	request, there := reclaim.RequestFrom(n.Annotations, time.Now())
	require.True(l.t, there)
	require.Equal(l.t, "process-match: "+command, request.Reason)
	require.WithinRange(l.t, request.At, began.Truncate(time.Second), time.Now())
	require.Contains(l.t, n.Annotations[reclaim.AnnotationAgentState], `"rung":"proc-connector"`)
	l.awaitLog("match.source=exec")

	l.clear(n) // the program still runs: whoever takes the machine back has it leave again, on purpose
	l.awaitLog("match.source=sweep")
	second, there := reclaim.RequestFrom(l.await("requested").Annotations, time.Now())
	require.True(l.t, there)
	require.True(l.t, second.At.After(request.At))
}

func findsWhatRuns(l *lent, command string) {
	l.await("armed")
	proctest.Sleeper(l.t, command)
	n := l.await("requested")
	require.Contains(l.t, n.Annotations[reclaim.AnnotationAgentState], `"rung":"sweep (asked for)"`)
	l.awaitLog("match.source=sweep")
}

func waitsForItsNode(l *lent, command string) {
	n := l.await("armed")
	require.NoError(l.t, l.admin.Delete(l.t.Context(), n))
	l.awaitLog("state=standby")
	proctest.Sleeper(l.t, command)
	_, err := l.Register(l.t.Context())
	require.NoError(l.t, err)
	l.await("requested") // the sweep at arming finds it
}

func asksByHand(l *lent, _ string) {
	l.await("armed")
	out, err := l.Ask(l.t.Context(), l.binary, "reclaim", "lunch", "is", "over")
	require.NoError(l.t, err, out)
	require.Equal(l.t, "Node "+l.Name+": asked to leave (manual: lunch is over)\n", out)
	l.await("requested")

	out, err = l.Ask(l.t.Context(), l.binary, "reclaim")
	require.NoError(l.t, err, out)
	require.Equal(l.t, "Node "+l.Name+": had been asked to leave before (manual: lunch is over)\n", out)

	out, err = l.Ask(l.t.Context(), l.binary, "status")
	require.NoError(l.t, err, out)
	require.Regexp(l.t, `agent: +requested, by proc-connector, version test`, out)
	require.Regexp(l.t, `request: +manual: lunch is over, since 20`, out)
}

func survivesAnOutage(l *lent, command string) {
	l.await("armed")
	require.NoError(l.t, l.cp.StopAPIServer())
	proctest.Sleeper(l.t, command)
	l.awaitLog("state=requesting")
	seen := time.Now()
	require.NoError(l.t, l.cp.StartAPIServer())
	request, there := reclaim.RequestFrom(l.await("requested").Annotations, time.Now())
	require.True(l.t, there)
	require.False(l.t, request.At.After(seen), "the first match's time counts")
}
