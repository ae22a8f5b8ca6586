package realnode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/agent/installer"
	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/test/lab"
)

// hostDirectories are those that the installer's pod is mounted, and their parents where it makes them.
var hostDirectories = []string{"/usr/local/bin", "/etc", "/var/lib"}

// The whole life of one node, in the order in which it may happen. Each step begins where the last has ended.
func TestANodeThatAsksForTheAgent(t *testing.T) {
	s := newStage(t)
	require.NoError(t, s.lab.Admin.Create(t.Context(), lab.ScheduledMachine(node, address)))
	s.await("the machine is lent", func() bool { return s.phaseIs(v1alpha1.PhaseActive)() && s.node() != nil })
	require.False(t, s.labelled())
	clean := s.files()

	for _, step := range []struct {
		name string
		run  func(*stage)
	}{
		{"opting in installs the agent", (*stage).optsIn},
		{"the configuration follows the spec", (*stage).followsTheSpec},
		{"java in a pod is not the owner's", (*stage).ignoresPods},
		{"a rolling update keeps the agent", (*stage).survivesARollingUpdate},
		{"a pod deleted by force keeps the agent", (*stage).survivesAForcedDelete},
		{"a dead kubelet keeps the agent", (*stage).survivesADeadKubelet},
		{"java on the host takes the node out", (*stage).leaves},
		{"the owner's release brings it back", (*stage).comesBack},
		{"opting out leaves the host clean", func(s *stage) { s.optsOut(clean) }},
		{"deleting the manifests leaves no agent", func(s *stage) { s.losesTheManifests(clean) }},
		{"a deleted Node leaves no agent", func(s *stage) { s.losesItsNode(clean) }},
	} {
		if !t.Run(step.name, func(t *testing.T) { step.run(s.within(t)) }) {
			return
		}
	}
}

func (s *stage) optsIn() {
	s.killIf("java")
	labelled := s.await("the label", s.labelled)
	active := s.await("the unit is active", s.active)
	s.figure("label → unit active", labelled, active)
	s.await("the agent is armed, and the pod says so", func() bool { return s.armed() && s.ready() })
}

func (s *stage) followsTheSpec() {
	before := s.agentState().ConfigHash
	changed := time.Now()
	s.killIf("java", "idea")
	inForce := s.await("the agent has another configuration", func() bool { return s.agentState().ConfigHash != before })
	s.figure("spec change → config in force", changed, inForce)
	text, err := os.ReadFile(s.host.Path(reclaim.ConfigPath))
	require.NoError(s, err)
	require.Contains(s, string(text), "idea")
}

func (s *stage) ignoresPods() {
	s.apply(`
apiVersion: v1
kind: Pod
metadata: {name: java, namespace: default}
spec:
  hostNetwork: true
  nodeName: ` + node + `
  tolerations: [{operator: Exists}]
  automountServiceAccountToken: false
  containers: [{name: java, image: "` + idlerImage + `", imagePullPolicy: Never, command: [/java]}]
`)
	s.await("java runs in the pod", func() bool { return s.runs("java") })
	require.Never(s, s.requested, stillness, poll)
	s.host.Run("/usr/local/bin/5spot-reclaim-agent", "check") // exit code 0: nothing would make this machine leave
}

func (s *stage) survivesARollingUpdate() {
	before := s.life()
	s.kubectl("-n", reclaim.Namespace, "rollout", "restart", "daemonset", daemonSet)
	s.await("the new pod is ready", s.ready)
	require.Equal(s, before, s.life())
}

func (s *stage) survivesAForcedDelete() {
	before, pod := s.life(), s.pod()
	s.kubectl("-n", reclaim.Namespace, "delete", "pod", pod, "--force", "--grace-period=0")
	s.await("another pod is ready", func() bool { return s.pod() != pod && s.ready() })
	require.Equal(s, before, s.life())
}

// Without a kubelet no container is stopped or started. The installer that runs goes on.
func (s *stage) survivesADeadKubelet() {
	before, pod := s.life(), s.pod()
	s.host.Run("systemctl", "kill", "--signal=KILL", "kubelet")
	s.await("the kubelet is dead", func() bool { return s.host.unit("kubelet", "ActiveState") == "failed" })
	hash := s.agentState().ConfigHash
	s.killIf("java")
	s.await("the configuration follows all the same", func() bool { return s.agentState().ConfigHash != hash })
	s.host.Run("systemctl", "start", "kubelet")
	s.await("the pod is ready again", s.ready)
	require.Equal(s, pod, s.pod())
	require.Equal(s, before, s.life())
}

func (s *stage) leaves() {
	started := time.Now()
	s.host.Run("systemctl", "start", "owner")
	gone := s.await("the Node is out", func() bool { return s.node() == nil })
	s.figure("java → Node out", started, gone)
	s.await("the machine is not lent any more", s.phaseIs(v1alpha1.PhaseDisabled))
	require.False(s, *s.machine().Spec.Schedule.Enabled)
	require.Contains(s, s.machine().Status.Message, "java")
}

// What was left on the host, if anything, is harmless, and is taken over.
func (s *stage) comesBack() {
	s.host.Run("systemctl", "stop", "owner")
	s.patch(map[string]any{"schedule": map[string]any{"enabled": true}})
	s.killIf("java")
	s.await("the agent is armed again", func() bool { return s.armed() && s.ready() })
}

func (s *stage) optsOut(clean map[string]string) {
	s.killIf()
	unlabelled := s.await("the label is gone", func() bool { return !s.labelled() })
	gone := s.await("the record is gone, which is last", func() bool { return !s.installed() })
	s.figure("unlabel → host clean", unlabelled, gone)
	s.requireClean(clean)
}

func (s *stage) losesTheManifests(clean map[string]string) {
	s.installAgain()
	s.kubectl("delete", "-k", s.overlay)
	s.await("the agent is gone", func() bool { return !s.installed() })
	s.requireClean(clean)
}

func (s *stage) losesItsNode(clean map[string]string) {
	s.installAgain()
	s.kubectl("delete", "node", node)
	s.await("the agent is gone", func() bool { return !s.installed() })
	s.requireClean(clean)
}

func (s *stage) installAgain() {
	s.kubectl("apply", "-k", s.overlay)
	s.killIf("java")
	s.await("the agent is armed", func() bool { return s.armed() && s.ready() })
}

// figure prints what took how long.
func (s *stage) figure(what string, from, to time.Time) {
	s.Logf("%-32s %6d ms", what, to.Sub(from).Milliseconds())
}

// files is what is on the host, but for what the kubelet's own work changes.
func (s *stage) files() map[string]string {
	found := s.host.Files(hostDirectories...)
	for path := range found {
		// The directories that the pod was mounted stay, empty.
		if path == filepath.Dir(reclaim.ConfigPath) || path == filepath.Dir(installer.RecordPath) || strings.HasPrefix(path, "/etc/kubernetes") {
			delete(found, path)
		}
	}
	return found
}

func (s *stage) requireClean(clean map[string]string) {
	s.Helper()
	require.Equal(s, clean, s.files())
	require.Equal(s, "not-found", s.host.unit(agentUnit, "LoadState"))
	require.Equal(s, "inactive", s.host.unit(agentUnit, "ActiveState"))
}
