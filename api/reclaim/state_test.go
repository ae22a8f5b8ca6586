package reclaim_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/api/reclaim"
)

func TestAgentStateIsANodesTextAndNotTrusted(t *testing.T) {
	got, err := reclaim.ParseAgentState(`{"state":"armed","rung":"sweep\n\u001b[31m","configHash":"ab","version":"v1","later":true}`)
	require.NoError(t, err)
	require.Equal(t, reclaim.AgentState{State: "armed", Rung: "sweep??[31m", ConfigHash: "ab", Version: "v1"}, got)
	for text, fault := range map[string]string{
		"": "not JSON", "null": `unknown state ""`, "[]": "not JSON", `{"state":1}`: "not JSON", `{"state":"fine\n"}`: `unknown state "fine?"`,
		`{"state":"armed","rung":"` + strings.Repeat("x", 5000) + `"}`: "at most 4096",
	} {
		_, err := reclaim.ParseAgentState(text)
		require.ErrorContains(t, err, fault)
	}
}

func TestBroadSubstringsAreShortPlainWords(t *testing.T) {
	require.Equal(t, []string{"java", "pycharm"},
		reclaim.Project([]string{"java", "go", "pycharm", "intellij", "/bin/java", "a b", "idea.sh"}).BroadSubstrings())
}
