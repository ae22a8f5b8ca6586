// Package manifests holds what is under deploy/ against real API servers.
package manifests

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/test/controlplane"
	"5spot.finos.org/node-reclaim/test/lab"
	"5spot.finos.org/node-reclaim/test/stubk0smotron"
)

const (
	nodeAgent          = "deploy/node-agent"
	clusterResourceSet = nodeAgent + "/clusterresourceset"
	installer          = "5spot-reclaim-agent"

	patience = 2 * time.Minute
	poll     = 100 * time.Millisecond
)

func TestTheNodeAgentIsCleanOnAnAPIServer(t *testing.T) {
	child := controlplane.ForTest(t, controlplane.Options{})
	// A dry run puts nothing into a namespace that is not there; the controller makes it, too.
	kubectl(t, child, "apply", "-f", nodeAgent+"/namespace.yaml")
	out := kubectl(t, child, "apply", "-k", nodeAgent, "--dry-run=server", "--validate=strict")
	require.NotContains(t, out, "Warning")
	require.Contains(t, out, "daemonset.apps/5spot-reclaim-agent created (server dry run)")
}

func TestWhatTheInstallerMayDo(t *testing.T) {
	child := controlplane.ForTest(t, controlplane.Options{})
	kubectl(t, child, "apply", "-k", nodeAgent)
	for request, want := range map[string]string{
		"get node/ws-1":    "yes",
		"watch nodes":      "yes",
		"patch node/ws-1":  "no",
		"update node/ws-1": "no",
		"get configmap/reclaim-agent-ws-1 -n 5spot-system":                               "yes",
		"watch configmaps -n 5spot-system":                                               "yes",
		"patch configmaps -n 5spot-system":                                               "no",
		"get configmaps -n kube-system":                                                  "no",
		"get secrets -n 5spot-system":                                                    "no",
		"get daemonset/5spot-reclaim-agent -n 5spot-system":                              "yes",
		"get daemonset/another -n 5spot-system":                                          "no",
		"patch daemonset/5spot-reclaim-agent -n 5spot-system":                            "no",
		"create events -n default":                                                       "yes",
		"create events -n kube-system":                                                   "no",
		"create pods -n 5spot-system":                                                    "no",
		"create serviceaccounts/5spot-reclaim-agent --subresource=token -n 5spot-system": "no",
	} {
		args := append([]string{"auth", "can-i", "--as=system:serviceaccount:5spot-system:" + installer}, strings.Fields(request)...)
		out, _ := child.RunKubectl(t.Context(), args...) // it fails when the answer is no
		require.Equal(t, want, lastLine(out), request)
	}
}

// The rest of the manifests gives the pod as little as it can do with; a change here is a change of what the host is exposed to.
func TestThePodIsUnprivileged(t *testing.T) {
	var daemonSet appsv1.DaemonSet
	content, err := os.ReadFile(filepath.Join(controlplane.Root(), nodeAgent, "daemonset.yaml"))
	require.NoError(t, err)
	require.NoError(t, yaml.UnmarshalStrict(content, &daemonSet))

	pod := daemonSet.Spec.Template.Spec
	require.False(t, pod.HostPID)
	require.False(t, pod.HostIPC)
	require.Empty(t, pod.InitContainers)
	require.Len(t, pod.Containers, 1)
	security := pod.Containers[0].SecurityContext
	require.False(t, *security.Privileged)
	require.False(t, *security.AllowPrivilegeEscalation)
	require.True(t, *security.ReadOnlyRootFilesystem)
	require.Equal(t, &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}, security.Capabilities)
	require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type)
	require.Equal(t, reclaim.LabelAgentEnabled, pod.NodeSelector[reclaim.LabelAgent])
	var paths []string
	for i, volume := range pod.Volumes {
		if volume.EmptyDir != nil {
			continue
		}
		paths = append(paths, volume.HostPath.Path)
		require.Equal(t, volume.HostPath.Path, pod.Containers[0].VolumeMounts[i].MountPath, "each at its own path")
	}
	require.Equal(t, []string{"/usr/local/bin", "/etc/systemd/system", "/etc/5spot", "/var/lib/5spot-reclaim-agent", "/run/systemd",
		"/etc/machine-id"}, paths, "nothing that the host's users may write to")
}

func TestTheClusterResourceSetHoldsTheNodeAgent(t *testing.T) {
	kustomize := exec.CommandContext(t.Context(), filepath.Join(controlplane.Require(t), controlplane.KubectlBinary), "kustomize", nodeAgent)
	kustomize.Dir = controlplane.Root()
	rendered, err := kustomize.Output()
	require.NoError(t, err)
	held, err := os.ReadFile(filepath.Join(controlplane.Root(), clusterResourceSet, "node-agent.yaml"))
	require.NoError(t, err)
	require.Equal(t, string(rendered), string(held), "run `make generate`")
}

func TestClusterAPIPutsTheNodeAgentOntoALabelledChild(t *testing.T) {
	controlplane.Require(t)
	l, err := lab.Start(t.Context(), stubk0smotron.Options{}, func(string) {})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Stop()) })

	require.NotContains(t, kubectl(t, l.Management, "apply", "-n", lab.Namespace, "-k", clusterResourceSet), "Warning")
	kubectl(t, l.Management, "label", "-n", lab.Namespace, "cluster", lab.Cluster, "5spot.finos.org/node-agent=enabled")
	key := client.ObjectKey{Namespace: "5spot-system", Name: installer}
	require.Eventually(t, func() bool {
		return l.ChildAdmin.Get(context.Background(), key, &appsv1.DaemonSet{}) == nil
	}, patience, poll, "no DaemonSet on the child")
}

func kubectl(t *testing.T, on *controlplane.ControlPlane, args ...string) string {
	t.Helper()
	out, err := on.RunKubectl(t.Context(), args...)
	require.NoError(t, err)
	return out
}

func lastLine(text string) string { return text[strings.LastIndex(text, "\n")+1:] }
