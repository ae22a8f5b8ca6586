package reclaimer

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/agent/node"
	"5spot.finos.org/node-reclaim/api/reclaim"
)

func TestTheLastWordIsThatNobodyWatches(t *testing.T) {
	a := armed(t)
	a.stop()
	require.JSONEq(t, fmt.Sprintf(`{"state":"standby","rung":"none (stopped)","configHash":%q,"version":"v1"}`, javaConfig.Config.Hash()),
		a.annotation(reclaim.AnnotationAgentState))
}

// Whoever opts a Node out cleans up after the agent, which must not write to it once more.
func TestNoLastWordToANodeThatIsNotAsked(t *testing.T) {
	for name, before := range map[string]func(*agent){
		"opted out": func(a *agent) {
			a.edit(func(n *node.Node) { n.Labels, n.Annotations = map[string]string{}, map[string]string{} })
			a.see(node.Present)
			a.await(Standby)
		},
		"gone": func(a *agent) { a.see(node.Gone); a.await(Standby) },
	} {
		t.Run(name, func(t *testing.T) {
			a := armed(t, func(a *agent) { a.installed = true })
			before(a)
			a.turn()
			patches := len(a.patches)
			a.stop()
			require.Len(t, a.patches, patches)
		})
	}
}
