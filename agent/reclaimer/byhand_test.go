package reclaimer

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/agent/node"
	"5spot.finos.org/node-reclaim/api/reclaim"
)

var byHand = reclaim.Request{Reason: Manual("lunch is over"), At: time.Date(2026, 4, 19, 21, 30, 0, 0, time.UTC)}

// linkWith is a link that will deliver these standings, one after the other.
func linkWith(standings ...node.Standing) *fakeNode {
	f := &fakeNode{views: make(chan node.View, len(standings)), node: node.Node{Name: "ws-1", UID: "1", Annotations: map[string]string{}}}
	f.bump()
	for _, s := range standings {
		f.views <- node.View{Standing: s, Node: f.copy(), Detail: "detail"}
	}
	return f
}

func TestByHandTakesTheSamePath(t *testing.T) {
	f := linkWith(node.Away, node.Present)
	outages := 2
	f.failWith(func() error {
		if outages--; outages >= 0 {
			return errors.New("connection refused")
		}
		return nil
	})
	var said []string
	n, err := ByHand(t.Context(), f, byHand, func(s string) { said = append(said, s) })
	require.NoError(t, err)
	require.Equal(t, "manual: lunch is over", n.Annotations[reclaim.AnnotationReason])
	require.Equal(t, "2026-04-19T21:30:00Z", n.Annotations[reclaim.AnnotationRequestedAt])
	require.Len(t, said, 3)
}

func TestByHandLeavesAnEarlierRequest(t *testing.T) {
	f := linkWith()
	n := f.edit(func(n *node.Node) {
		n.Annotations = reclaim.Request{Reason: reclaim.ProcessMatch("java"), At: time.Unix(0, 0)}.Annotations()
	})
	f.views = make(chan node.View, 1)
	f.views <- node.View{Standing: node.Present, Node: n}
	got, err := ByHand(t.Context(), f, byHand, func(string) {})
	require.NoError(t, err)
	require.Equal(t, "process-match: java", got.Annotations[reclaim.AnnotationReason])
	require.Empty(t, f.requests())
}

func TestByHandGivesUpWhereWaitingCannotHelp(t *testing.T) {
	for _, s := range []node.Standing{node.Gone, node.Foreign, node.NoCredential} {
		_, err := ByHand(t.Context(), linkWith(s), byHand, func(string) {})
		require.EqualError(t, err, "detail")
	}
	f := linkWith(node.Present)
	f.failWith(func() error { return node.ErrForbidden })
	_, err := ByHand(t.Context(), f, byHand, func(string) {})
	require.ErrorIs(t, err, node.ErrForbidden)
}
