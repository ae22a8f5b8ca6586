package projection

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"5spot.finos.org/node-reclaim/api/reclaim"
)

func TestHeartbeatsWakeNobody(t *testing.T) {
	beat := labelled("ws-1", func(n *corev1.Node) { n.Status.Conditions[0].LastHeartbeatTime = metav1.NewTime(time.Unix(1, 0)) })
	require.False(t, nodeMatters(labelled("ws-1"), beat))
	for name, node := range map[string]*corev1.Node{
		"gone":       nil,
		"replaced":   labelled("ws-1", func(n *corev1.Node) { n.UID = "another" }),
		"silent":     labelled("ws-1", asleep),
		"state":      labelled("ws-1", annotated(reclaim.AnnotationAgentState, "{}")),
		"mark":       labelled("ws-1", markedBy("another")),
		"label":      labelled("ws-1", label("never")),
		"label gone": nodeNamed("ws-1", markedBy(mark)),
	} {
		require.True(t, nodeMatters(labelled("ws-1"), node), name)
	}
	require.True(t, nodeMatters(nil, labelled("ws-1")), "came")
}
