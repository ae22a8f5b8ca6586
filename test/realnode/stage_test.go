package realnode

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/agent/installer"
	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/manager"
	"5spot.finos.org/node-reclaim/systemd"
	"5spot.finos.org/node-reclaim/test/controlplane"
	"5spot.finos.org/node-reclaim/test/lab"
	"5spot.finos.org/node-reclaim/test/logbuffer"
	"5spot.finos.org/node-reclaim/test/stubk0smotron"
)

const (
	node      = "ws-1"
	agentUnit = systemd.UnitName
	daemonSet = "5spot-reclaim-agent"

	// patience is long because two cores may carry two control planes, a node and a build.
	patience = 3 * time.Minute
	poll     = 20 * time.Millisecond
	// stillness is how long a test watches that nothing happens: eight sweeps.
	stillness = 2 * time.Second
)

// stage is everything that takes part.
type stage struct {
	*testing.T
	lab     *lab.Lab
	host    *host
	overlay string
	// log is the controller's and the stand-in's.
	log *logbuffer.Buffer
}

// newStage brings everything up, with the node agent's manifests on the child and no machine lent yet.
func newStage(t *testing.T) *stage {
	t.Helper()
	binaries := controlplane.RequireNode(t)
	idler := buildIdler(t)
	s := &stage{T: t, log: &logbuffer.Buffer{}}
	ctrl.SetLogger(logr.FromSlogHandler(slog.NewTextHandler(s.log, nil))) // the first to set it has it
	s.host = bootHost(t, binaries, archive(t, idlerImage, idler, "idler", "java"), agentImage(t, "localhost/5spot-reclaim-agent:latest"))
	require.NoError(t, os.WriteFile(s.host.Path("/root/java"), idler, 0o700))
	s.startLab()
	s.startController()
	s.overlay = s.writeOverlay()
	s.kubectl("apply", "-k", s.overlay)
	return s
}

// within is the stage in a part of the test.
func (s *stage) within(t *testing.T) *stage {
	part := *s
	part.T = t
	return &part
}

func (s *stage) startLab() {
	s.Helper()
	real := stubk0smotron.Host{Real: s.host}
	l, err := lab.StartForKubelets(s.Context(), stubk0smotron.Options{Host: func(string) stubk0smotron.Host { return real }}, func(string) {})
	require.NoError(s, err)
	s.Cleanup(func() { require.NoError(s, l.Stop()) })
	s.lab, s.host.child = l, l.Child
}

func (s *stage) startController() {
	s.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- manager.Run(ctx, s.lab.Management.Config,
			manager.Options{PodKillWait: 10 * time.Second, HealthAddress: "0", MetricsAddress: "0", LogFormat: "text", LogTo: s.log})
	}()
	s.Cleanup(func() {
		cancel()
		require.NoError(s, <-ended)
		if s.Failed() {
			s.Log("controller:\n" + s.log.String())
		}
	})
}

// writeOverlay is deploy/node-agent for a cluster without kube-proxy: the pod is told where the API server is.
func (s *stage) writeOverlay() string {
	s.Helper()
	dir := s.TempDir()
	base, err := filepath.Rel(dir, filepath.Join(controlplane.Root(), "deploy", "node-agent"))
	require.NoError(s, err)
	address, port, err := net.SplitHostPort(strings.TrimPrefix(s.lab.Child.Config.Host, "https://"))
	require.NoError(s, err)
	text := fmt.Sprintf(`resources: [%s]
patches:
  - target: {kind: DaemonSet}
    patch: |
      - {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: KUBERNETES_SERVICE_HOST, value: %q}}
      - {op: add, path: /spec/template/spec/containers/0/env/-, value: {name: KUBERNETES_SERVICE_PORT, value: %q}}
`, base, address, port)
	require.NoError(s, os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600))
	return dir
}

func (s *stage) kubectl(args ...string) string {
	s.Helper()
	out, err := s.lab.Child.RunKubectl(s.Context(), args...)
	require.NoError(s, err)
	return out
}

// await gives the moment at which something has become true.
func (s *stage) await(what string, done func() bool) time.Time {
	s.Helper()
	if !assertEventually(done) {
		s.explain()
		require.FailNow(s, "in vain: "+what)
	}
	return time.Now()
}

func assertEventually(done func() bool) bool {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for !done() {
		select {
		case <-deadline.C:
			return false
		case <-tick.C:
		}
	}
	return true
}

// explain shows what a failure is usually about.
func (s *stage) explain() {
	pods, _ := s.lab.Child.RunKubectl(context.Background(), "get", "pods,nodes,configmaps", "-A", "-o", "wide", "--show-labels")
	events, _ := s.lab.Child.RunKubectl(context.Background(), "get", "events", "-A")
	log, _ := s.host.Enter("sh", "-c", "tail -n 20 /var/log/pods/"+reclaim.Namespace+"_*/*/*.log").CombinedOutput()
	machines, _ := s.lab.Management.RunKubectl(context.Background(), "get", "sm,machines,events", "-A")
	unit, _ := s.host.Enter("systemctl", "status", agentUnit, "kubelet", "--lines=20", "--no-pager").CombinedOutput()
	s.Logf("%s\n\n%s\n\n%s\n\n%s\n\n%s", pods, events, log, machines, unit)
}

// machine is the ScheduledMachine as it is stored.
func (s *stage) machine() *v1alpha1.ScheduledMachine {
	s.Helper()
	sm := lab.ScheduledMachine(node, address)
	require.NoError(s, s.lab.Admin.Get(context.Background(), client.ObjectKeyFromObject(sm), sm))
	return sm
}

// patch changes the ScheduledMachine's spec.
func (s *stage) patch(spec map[string]any) {
	s.Helper()
	text, err := json.Marshal(map[string]any{"spec": spec})
	require.NoError(s, err)
	require.NoError(s, s.lab.Admin.Patch(s.Context(), lab.ScheduledMachine(node, address), client.RawPatch(types.MergePatchType, text)))
}

// killIf sets killIfCommands.
func (s *stage) killIf(commands ...string) {
	s.Helper()
	s.patch(map[string]any{"killIfCommands": commands})
}

// node is the Node as it is stored; nil when there is none.
func (s *stage) node() *corev1.Node {
	s.Helper()
	n := &corev1.Node{}
	err := s.lab.ChildAdmin.Get(context.Background(), types.NamespacedName{Name: node}, n)
	if apierrors.IsNotFound(err) {
		return nil
	}
	require.NoError(s, err)
	return n
}

func (s *stage) labelled() bool {
	n := s.node()
	return n != nil && n.Labels[reclaim.LabelAgent] == reclaim.LabelAgentEnabled
}

// agentState is what the agent says of itself on its Node.
func (s *stage) agentState() reclaim.AgentState {
	var state reclaim.AgentState
	if n := s.node(); n != nil {
		_ = json.Unmarshal([]byte(n.Annotations[reclaim.AnnotationAgentState]), &state) // nothing said is the zero state
	}
	return state
}

func (s *stage) phaseIs(phase v1alpha1.Phase) func() bool {
	return func() bool { return s.machine().Status.Phase == phase }
}

// active says that systemd runs the agent.
func (s *stage) active() bool { return s.host.unit(agentUnit, "ActiveState") == "active" }

// armed says that the agent watches for this Node.
func (s *stage) armed() bool { return s.active() && s.agentState().State == "armed" }

// life identifies one run of the agent: it changes with a restart, however short.
func (s *stage) life() string {
	return s.host.unit(agentUnit, "MainPID") + " since " + s.host.unit(agentUnit, "ActiveEnterTimestampMonotonic") + ", restarts " + s.host.unit(agentUnit, "NRestarts")
}

// ready says that all of the DaemonSet's pods are the current ones and ready, and that there is one.
func (s *stage) ready() bool {
	out, err := s.lab.Child.RunKubectl(context.Background(), "-n", reclaim.Namespace, "get", "daemonset", daemonSet, "-o",
		"jsonpath={.metadata.generation} {.status.observedGeneration} {.status.desiredNumberScheduled} {.status.updatedNumberScheduled} {.status.numberReady}")
	var generation, observed, desired, updated, ready int
	_, _ = fmt.Sscan(out, &generation, &observed, &desired, &updated, &ready)
	return err == nil && generation == observed && desired == 1 && updated == 1 && ready == 1
}

// pod is the name of the installer's pod that is there to stay.
func (s *stage) pod() string {
	var pods corev1.PodList
	require.NoError(s, s.lab.ChildAdmin.List(context.Background(), &pods, client.InNamespace(reclaim.Namespace)))
	for _, pod := range pods.Items {
		if pod.DeletionTimestamp == nil {
			return pod.Name
		}
	}
	return ""
}

// apply puts an object onto the child; it goes with this part of the test.
func (s *stage) apply(manifest string) {
	s.Helper()
	path := filepath.Join(s.TempDir(), "manifest.yaml")
	require.NoError(s, os.WriteFile(path, []byte(manifest), 0o600))
	s.kubectl("apply", "-f", path)
	s.Cleanup(func() {
		_, _ = s.lab.Child.RunKubectl(context.Background(), "delete", "-f", path, "--force", "--grace-period=0")
	})
}

func (s *stage) requested() bool {
	n := s.node()
	return n == nil || n.Annotations[reclaim.AnnotationRequested] != ""
}

// installed says that something of the agent is on the host.
func (s *stage) installed() bool {
	_, err := os.Lstat(s.host.Path(installer.RecordPath))
	return err == nil
}

// runs says that a process of that command name is on the host, in a pod or not. No program is asked: its arguments would match.
func (s *stage) runs(comm string) bool {
	files, _ := filepath.Glob(s.host.Path("/proc/[0-9]*/comm"))
	for _, file := range files {
		if name, _ := os.ReadFile(file); strings.TrimSpace(string(name)) == comm { // one that has ended has no name
			return true
		}
	}
	return false
}
