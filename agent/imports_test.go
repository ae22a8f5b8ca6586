package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The agent runs on a machine that belongs to somebody else: the typed clientset alone would double its size in memory and on disk.
func TestTheAgentStaysLight(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	for dependency := range strings.Lines(string(out)) {
		for _, heavy := range []string{
			"k8s.io/api/",
			"k8s.io/client-go/kubernetes",
			"k8s.io/client-go/informers",
			"k8s.io/client-go/dynamic",
			"sigs.k8s.io/controller-runtime",
			"5spot.finos.org/node-reclaim/controller",
			"5spot.finos.org/node-reclaim/api/v1alpha1",
		} {
			require.False(t, strings.HasPrefix(dependency, heavy), "the agent imports %s", dependency)
		}
	}
}
