package reclaimer

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/agent/config"
	"5spot.finos.org/node-reclaim/agent/match"
	"5spot.finos.org/node-reclaim/agent/node"
	"5spot.finos.org/node-reclaim/agent/watch"
	"5spot.finos.org/node-reclaim/api/reclaim"
)

func TestAMatchBecomesOneRequestThatCarriesTheState(t *testing.T) {
	a := armed(t)
	at := a.run("java")
	a.await(Requested)
	require.Equal(t, []map[string]string{{
		reclaim.AnnotationRequested:   "true",
		reclaim.AnnotationReason:      "process-match: java",
		reclaim.AnnotationRequestedAt: at.UTC().Format(time.RFC3339Nano),
		reclaim.AnnotationAgentState: fmt.Sprintf(`{"state":"requested","rung":"proc-connector","configHash":%q,"version":"v1"}`,
			javaConfig.Config.Hash()),
	}}, a.requests())
	_, isArmed := a.state()
	require.False(t, isArmed, "nothing is left to be seen")
}

func TestOnlyTheFirstMatchCounts(t *testing.T) {
	a := armed(t)
	a.failWith(func() error { return errors.New("connection refused") })
	first := a.run("java")
	a.run("java")
	a.failWith(nil)
	a.await(Requested)
	require.Len(t, a.requests(), 1)
	require.Equal(t, first.UTC().Format(time.RFC3339Nano), a.annotation(reclaim.AnnotationRequestedAt))
}

func TestCase34_AnOlderRequestIsNotOverwritten(t *testing.T) {
	a := armed(t)
	a.edit(func(n *node.Node) {
		n.Annotations[reclaim.AnnotationRequested] = "true"
		n.Annotations[reclaim.AnnotationReason] = "manual: mine"
	})
	a.run("java")
	a.await(Requested)
	require.Empty(t, a.requests())
	require.Equal(t, "manual: mine", a.annotation(reclaim.AnnotationReason))
}

func TestCase37_AnOutageKeepsTheFirstMatch(t *testing.T) {
	a := start(t)
	a.see(node.Away)
	a.failWith(func() error { return errors.New("connection refused") })
	at := a.run("java")
	a.await(Requesting)
	require.Eventually(t, func() bool { return strings.Contains(a.status(), "connection refused") }, patience, time.Millisecond)

	a.failWith(nil)
	a.see(node.Present)
	a.await(Requested)
	require.Equal(t, at.UTC().Format(time.RFC3339Nano), a.annotation(reclaim.AnnotationRequestedAt))
	require.Equal(t, 1, strings.Count(a.logged(), "request not stored yet"), "one line per outage")
}

func TestCase39AFalseRequestIsReplaced(t *testing.T) {
	a := start(t)
	a.edit(func(n *node.Node) { n.Annotations[reclaim.AnnotationRequested] = "false" })
	a.see(node.Present)
	a.await(Armed)
	a.run("java")
	a.await(Requested)
	require.Equal(t, "true", a.annotation(reclaim.AnnotationRequested))
}

func TestCase40_AConflictIsReadAgainAndWrittenOnce(t *testing.T) {
	a := armed(t)
	a.edit(func(*node.Node) {}) // a heartbeat that the watch has not delivered yet
	a.run("java")
	a.await(Requested)
	require.Len(t, a.requests(), 1)
}

func TestARequestThatIsClearedArmsAgainWithASweep(t *testing.T) {
	a := armed(t)
	a.run("java")
	a.await(Requested)
	before, _ := a.state()
	a.edit(func(n *node.Node) { delete(n.Annotations, reclaim.AnnotationRequested) })
	a.see(node.Present)
	a.await(Armed)
	after, isArmed := a.state()
	require.Equal(t, before+1, after)
	require.True(t, isArmed)
	a.run("java")
	a.await(Requested)
	require.Len(t, a.requests(), 2)
}

func TestALateWatchDoesNotUndoAStoredRequest(t *testing.T) {
	a := armed(t)
	old, err := a.Get(t.Context())
	require.NoError(t, err)
	a.run("java")
	a.await(Requested)
	a.views <- node.View{Standing: node.Present, Node: old}
	a.turn()
	a.await(Requested)
	require.Len(t, a.requests(), 1)
}

func TestAMatchFromBeforeTheArmingIsOld(t *testing.T) {
	a := armed(t)
	a.matches <- watch.Match{Rule: match.Rule{Entry: "java"}, SeenAt: time.Now().Add(-time.Hour)}
	a.turn()
	a.await(Armed)
	require.Empty(t, a.requests())
}

func TestAPendingRequestDiesWithItsNode(t *testing.T) {
	for name, replace := range map[string]func(a *agent){
		"replaced": func(a *agent) {
			a.edit(func(n *node.Node) { n.UID = "uid-2" })
			a.see(node.Present)
		},
		"gone, and there again": func(a *agent) {
			a.see(node.Gone)
			a.await(Standby)
			a.edit(func(n *node.Node) { n.UID = "uid-2" })
			a.see(node.Present)
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := armed(t)
			a.failWith(func() error { return errors.New("connection refused") })
			a.run("java")
			a.await(Requesting)
			replace(a)
			a.await(Armed)
			a.failWith(nil)
			a.turn()
			require.Empty(t, a.requests())
		})
	}
}

func TestAPendingRequestOutlivesALostCredential(t *testing.T) {
	a := armed(t)
	a.failWith(func() error { return node.ErrNoCredential })
	at := a.run("java")
	a.await(Requesting)
	a.see(node.NoCredential)
	a.await(Standby)
	a.failWith(nil)
	a.see(node.Present)
	a.await(Requested)
	require.Equal(t, at.UTC().Format(time.RFC3339Nano), a.annotation(reclaim.AnnotationRequestedAt))
}

func TestStandbyIsIdleAndEndsByItself(t *testing.T) {
	for _, s := range []node.Standing{node.Gone, node.Foreign, node.NoCredential} {
		t.Run(string(s), func(t *testing.T) {
			a := armed(t)
			a.see(s)
			a.await(Standby)
			_, isArmed := a.state()
			require.False(t, isArmed)
			a.run("java") // still in flight when the observer was disarmed
			a.turn()
			a.await(Standby)

			a.see(node.Present)
			a.await(Armed)
			require.Empty(t, a.requests())
		})
	}
}

func TestAMissingLabelCountsOnlyWithTheInstaller(t *testing.T) {
	for _, installed := range []bool{true, false} {
		t.Run(fmt.Sprintf("installed %t", installed), func(t *testing.T) {
			a := armed(t, func(a *agent) { a.installed = installed })
			a.edit(func(n *node.Node) { n.Labels = nil })
			a.see(node.Present)
			if !installed {
				a.turn()
				a.await(Armed)
				return
			}
			a.await(Standby)
			require.Eventually(t, func() bool { return strings.Contains(a.annotation(reclaim.AnnotationAgentState), "standby") },
				patience, time.Millisecond)
			a.edit(func(n *node.Node) { delete(n.Annotations, reclaim.AnnotationAgentState) })
			a.see(node.Present)
			a.turn()
			require.Empty(t, a.annotation(reclaim.AnnotationAgentState), "what the controller cleaned up stays away")
		})
	}
}

func TestA403StaysInRequestingLoudly(t *testing.T) {
	a := armed(t)
	a.failWith(func() error { return fmt.Errorf("patching: %w: policy says no", node.ErrForbidden) })
	a.run("java")
	require.Eventually(t, func() bool { return strings.Contains(a.status(), "policy says no") }, patience, time.Millisecond)
	a.await(Requesting)
	require.Contains(t, a.logged(), "level=ERROR msg=\"REQUEST REFUSED")
	a.failWith(nil)
	a.await(Requested)
}

func TestANewConfigurationArmsAgain(t *testing.T) {
	a := armed(t)
	before, _ := a.state()
	a.config <- config.Snapshot{Config: reclaim.Config{MatchCommands: []string{"idea"}}, Present: true}
	a.turn()
	after, _ := a.state()
	require.Equal(t, before+1, after)

	a.config <- config.Snapshot{Config: reclaim.Config{MatchCommands: []string{"idea"}}, Present: true, Fault: errors.New("reclaim.toml:1: no")}
	a.turn()
	same, _ := a.state()
	require.Equal(t, after, same, "a bad file changes nothing")
	require.Contains(t, a.status(), "configuration refused: reclaim.toml:1: no")

	a.config <- emptyConfig
	a.await(Inert)
	_, isArmed := a.state()
	require.False(t, isArmed)
}

func TestTheStateAnnotationIsWrittenOnChangeOnly(t *testing.T) {
	a := armed(t)
	a.see(node.Present)
	a.see(node.Away)
	a.see(node.Present)
	a.turn()
	require.Len(t, a.patches, 1)
	a.rungs <- watch.Rung{Name: "sweep", Why: "no ACK within 1s"}
	require.Eventually(t, func() bool {
		return strings.Contains(a.annotation(reclaim.AnnotationAgentState), `"rung":"sweep (no ACK within 1s)"`)
	}, patience, time.Millisecond)
}

func TestTheServiceManagerIsTold(t *testing.T) {
	a := armed(t)
	require.Equal(t, "armed: 1 commands, 0 argument substrings; proc-connector; Node ws-1", a.status())
	a.turn()
	a.with(func() {
		require.Equal(t, 1, a.ready)
		require.Positive(t, a.fed)
	})
	a.see(node.Away)
	a.turn()
	require.Contains(t, a.status(), "API server does not answer")
	a.run("java")
	require.NotContains(t, a.status(), "\n")
}

// The observer may be sent home before it has found out how it would watch.
func TestAnAgentThatNeverWatchedIsReadyToo(t *testing.T) {
	a := start(t, func(a *agent) { a.noRung = true })
	a.turn()
	a.with(func() { require.Zero(t, a.ready, "armed, but nobody knows how") })
	a.see(node.Gone)
	a.await(Standby)
	a.turn()
	a.with(func() { require.Equal(t, 1, a.ready) })
}
