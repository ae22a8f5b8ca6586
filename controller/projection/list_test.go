package projection

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/child"
)

// A list is made anew when the spec has changed, and forgotten with its machine.
func TestListsAreRemembered(t *testing.T) {
	key := child.ClusterKey{Namespace: "team", Name: "child"}
	java := machineNamed("ws-1", "java")
	java.UID, java.Generation = "1", 1
	silent := machineNamed("ws-2")
	silent.UID = "2"
	var l lists
	project := func(machines ...*v1alpha1.ScheduledMachine) map[types.UID]remembered {
		t.Helper()
		made, err := l.project(key, machines)
		require.NoError(t, err)
		return made
	}

	first := project(java, silent)
	require.Len(t, first, 1, "who asks for nothing has no list")
	require.Same(t, first["1"].list, project(java, silent)["1"].list)

	java.Spec.KillIfCommands, java.Generation = []string{"idea"}, 2
	second := project(java, silent)["1"].list
	require.Equal(t, []string{"idea"}, second.config.MatchCommands)

	require.Empty(t, project(silent))
	require.Empty(t, l.of)
}
