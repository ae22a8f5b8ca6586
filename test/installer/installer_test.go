package installer

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/reclaim"
)

func TestInstaller(t *testing.T) {
	s := newStage(t)
	s.scene("label and ConfigMap make the agent run; no label, and the host is as before", installsAndRemoves)
	s.scene("another configuration needs no restart, another image one", followsChanges)
	s.scene("a pod that is replaced keeps the agent", survivesARollingUpdate)
	s.scene("a DaemonSet that is deleted takes the agent along", goesWithTheDaemonSet)
	s.scene("a DaemonSet that is deleted together with the installer's rights, too", goesWithItsRights)
	s.scene("a Node that is deleted takes the agent along", goesWithTheNode)
	s.scene("an agent that is left behind stands by until its Node is back", leftBehind)
	s.scene("a machine that was lent before is taken over", takesOver)
	s.scene("uninstall works by hand", uninstallsByHand)
}

func installsAndRemoves(s *stage) {
	p := s.start(image)
	p.awaitReady()
	require.Equal(s.t, "active", s.show("ActiveState"))
	require.Equal(s.t, "enabled", s.show("UnitFileState"))
	s.awaitAgent(`"state":"armed"`)

	before, started := s.stamps(), s.show("ActiveEnterTimestampMonotonic")
	s.setNode(func(n *corev1.Node) { n.Labels["unrelated"] = "change" }) // makes it look again
	p.stop()
	s.start(image).awaitReady()
	require.Equal(s.t, before, s.stamps(), "a second run touches nothing")
	require.Equal(s.t, started, s.show("ActiveEnterTimestampMonotonic"))

	s.unlabel()
	s.awaitPristine()
	require.Equal(s.t, "not-found", s.show("LoadState"))
}

// stamps are what a rewritten file would have another of.
func (s *stage) stamps() map[string]any {
	s.t.Helper()
	found := map[string]any{}
	for _, path := range []string{program, unitPath, reclaim.ConfigPath, record} {
		info, err := os.Stat(s.host.Path(path))
		require.NoError(s.t, err)
		found[path] = []any{info.ModTime(), info.Sys()}
	}
	return found
}

func followsChanges(s *stage) {
	p := s.start(image)
	p.awaitReady()
	pid := s.show("MainPID")
	s.configure(steam)
	c, err := reclaim.Parse("", []byte(steam))
	require.NoError(s.t, err)
	s.awaitAgent(c.Hash())
	require.Equal(s.t, pid, s.show("MainPID"))

	s.configure("match_comands = []\n")
	p.awaitRefusal(`reclaim.toml:1: unknown key "match_comands"`)
	text, err := os.ReadFile(s.host.Path(reclaim.ConfigPath))
	require.NoError(s.t, err)
	require.Equal(s.t, steam, string(text))
	require.Len(s.t, s.warnings("ReclaimAgentConfigRefused"), 1)
	s.configure(steam)
	p.awaitReady()

	p.stop()
	require.Equal(s.t, pid, s.show("MainPID"))
	s.start(nextImage).awaitReady()
	next := s.show("MainPID")
	require.NotEqual(s.t, pid, next)
	require.Equal(s.t, "0", s.show("NRestarts"))
	s.isTheSame(nextImage, program)
}

func (s *stage) isTheSame(a, b string) {
	s.t.Helper()
	s.host.Run("cmp", a, b)
}

func survivesARollingUpdate(s *stage) {
	p := s.start(image)
	p.awaitReady()
	pid := s.show("MainPID")
	p.stop()
	require.Equal(s.t, pid, s.show("MainPID"))
	require.FileExists(s.t, s.host.Path(record))
}

func goesWithTheDaemonSet(s *stage) {
	s.start(image).awaitReady()
	require.NoError(s.t, s.admin.Delete(s.t.Context(), daemonSet()))
	s.awaitPristine()
}

// What `kubectl delete -k` does: everything goes at once, the rights first.
func goesWithItsRights(s *stage) {
	s.start(image).awaitReady()
	defer s.grantAgain()
	for _, o := range rights() {
		require.NoError(s.t, s.admin.Delete(s.t.Context(), o))
	}
	require.NoError(s.t, s.admin.Delete(s.t.Context(), daemonSet()))
	s.awaitPristine()
}

// goesWithTheNode: the pod is told by its watch, long before it is told to end.
func goesWithTheNode(s *stage) {
	s.start(image).awaitReady()
	require.NoError(s.t, s.admin.Delete(s.t.Context(), s.node()))
	s.awaitPristine()
}

// leftBehind: no kubelet tells the pod to end, and none is there when the label goes.
func leftBehind(s *stage) {
	p := s.start(image)
	p.awaitReady()
	s.awaitAgent(`"state":"armed"`)
	p.kill()
	s.unlabel()
	s.awaitAgent(`"state":"standby"`)
	s.setNode(func(n *corev1.Node) { n.Labels[reclaim.LabelAgent] = reclaim.LabelAgentEnabled })
	s.awaitAgent(`"state":"armed"`)
}

func takesOver(s *stage) {
	p := s.start(image)
	p.awaitReady()
	pid := s.show("MainPID")
	p.kill()
	require.NoError(s.t, s.admin.Delete(s.t.Context(), s.node()))
	_, err := s.lent.Register(s.t.Context())
	require.NoError(s.t, err)
	s.reports(s.host.MachineID())
	s.setNode(func(n *corev1.Node) { n.Labels[reclaim.LabelAgent] = reclaim.LabelAgentEnabled })
	s.start(image).awaitReady()
	require.Equal(s.t, pid, s.show("MainPID"))

	text, err := os.ReadFile(s.host.Path(record))
	require.NoError(s.t, err)
	var r struct{ NodeUID string }
	require.NoError(s.t, json.Unmarshal(text, &r))
	n := s.node()
	require.NoError(s.t, s.admin.Get(s.t.Context(), client.ObjectKeyFromObject(n), n))
	require.Equal(s.t, string(n.UID), r.NodeUID)
}

func uninstallsByHand(s *stage) {
	require.Contains(s.t, s.host.Run(image, "uninstall"), "nothing was done")
	p := s.start(image)
	p.awaitReady()
	p.kill()
	require.NoError(s.t, os.WriteFile(s.host.Path(reclaim.ConfigPath), []byte("# mine\n"), 0o644))
	out := s.host.Run(program, "uninstall")
	require.Contains(s.t, out, "left "+reclaim.ConfigPath+": it is not as it was installed any more")
	require.Contains(s.t, out, "the agent is gone from this host")
	require.NoError(s.t, os.Remove(s.host.Path(reclaim.ConfigPath)))
	s.isPristine()
}
