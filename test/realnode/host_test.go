package realnode

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/test/controlplane"
	"5spot.finos.org/node-reclaim/test/systemdnode"
	"5spot.finos.org/node-reclaim/test/workstation"
)

const (
	// address is what the RemoteMachine calls the host by.
	address = "192.0.2.10"
	// credentials is where a kubelet's kubeconfig lies, beside its certificate.
	credentials = "/etc/kubernetes"
)

// host is the node as k0smotron sees it: something to log in to.
type host struct {
	*systemdnode.Node
	child *controlplane.ControlPlane
}

// bootHost boots a node with containerd and these images, each a file that containerd can import. Its kubelet waits for [host.Join].
func bootHost(t *testing.T, binaries string, images ...string) *host {
	t.Helper()
	requireNoKubelet(t)
	h := &host{}
	h.Node = systemdnode.Boot(t, systemdnode.Options{
		Name:     "realnode",
		CgroupV1: cgroupV1(),
		Furnish:  func(root string) error { return os.CopyFS(root, os.DirFS("root")) },
		// runc needs both system calls, and the container of the node would be refused them.
		Args: []string{"--capability=all", "--system-call-filter=@keyring bpf", "--bind-ro=" + binaries + ":/opt/kubernetes"},
	})
	t.Cleanup(func() { h.leave(); removeCgroups(t) })
	h.Run("systemctl", "start", "containerd")
	for _, image := range images {
		content, err := os.ReadFile(image)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(h.Path("/run/image.tar"), content, 0o600))
		h.Run("ctr", "--namespace", "k8s.io", "images", "import", "/run/image.tar")
	}
	return h
}

// Join starts the kubelet, as `k0s install worker` and `k0s start` do.
func (h *host) Join(_ context.Context, nodeName, providerID string, labels map[string]string) error {
	if h.child == nil {
		return fmt.Errorf("the child cluster is not there yet")
	}
	if _, err := workstation.New(h.child, nodeName, h.Path(credentials)); err != nil {
		return err
	}
	var marks []string
	for key, value := range labels {
		marks = append(marks, key+"="+value)
	}
	slices.Sort(marks)
	arguments := fmt.Sprintf("ARGUMENTS=--hostname-override=%s --provider-id=%s --node-labels=%s\n", nodeName, providerID, strings.Join(marks, ","))
	if err := os.WriteFile(h.Path(credentials+"/kubelet.env"), []byte(arguments), 0o600); err != nil {
		return err
	}
	return h.do("systemctl", "start", "kubelet")
}

// Leave stops the kubelet and the pods, and takes the credential away, as `k0s stop` and `k0s reset` do.
func (h *host) Leave(context.Context) error {
	if err := h.do("systemctl", "stop", "kubelet"); err != nil {
		return err
	}
	if err := h.killPods(); err != nil {
		return err
	}
	return h.do("rm", "-f", credentials+"/kubelet.conf", credentials+"/kubelet.pem", credentials+"/ca.pem", credentials+"/machine-id",
		credentials+"/kubelet.env")
}

// killPods removes the containers that a stopped kubelet has left running.
func (h *host) killPods() error {
	const script = `for c in $(ctr -n k8s.io tasks list -q); do ctr -n k8s.io tasks kill -s KILL "$c" || true; done
for c in $(ctr -n k8s.io tasks list -q); do ctr -n k8s.io tasks delete -f "$c" >/dev/null 2>&1 || true; done`
	return h.do("sh", "-c", script)
}

// leave is for the end of a test, which may have come at any moment.
func (h *host) leave() {
	if h.Leader() != 0 {
		_ = h.do("systemctl", "stop", "kubelet")
		_ = h.killPods()
		_ = h.do("systemctl", "stop", "containerd")
		h.Stop()
	}
}

func (h *host) do(command ...string) error {
	if out, err := h.Enter(command...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, out)
	}
	return nil
}

// unit is a property of a unit; nothing when systemd does not answer.
func (h *host) unit(name, property string) string {
	out, _ := h.Enter("systemctl", "show", "--value", "-p", property, name).Output()
	return strings.TrimSpace(string(out))
}

func cgroupV1() bool {
	_, err := os.Stat("/sys/fs/cgroup/memory/cgroup.procs")
	return err == nil
}

// podCgroups are the cgroups of pods on this machine, which a node in a container shares.
func podCgroups() []string {
	var all []string
	for _, pattern := range []string{"/sys/fs/cgroup/kubepods*", "/sys/fs/cgroup/*/kubepods*", "/sys/fs/cgroup/*/k8s.io"} {
		found, _ := filepath.Glob(pattern)
		all = append(all, found...)
	}
	return all
}

// requireNoKubelet: the pods of a kubelet that this machine runs in earnest would be taken for the node's.
func requireNoKubelet(t *testing.T) {
	t.Helper()
	for _, dir := range podCgroups() {
		if processes, err := os.ReadFile(filepath.Join(dir, "cgroup.procs")); err == nil && len(processes) > 0 {
			controlplane.Unavailable(t, "this machine runs pods itself, in "+dir)
		}
	}
}

// removeCgroups removes what a kubelet and containerd leave in this machine's cgroups when they end.
func removeCgroups(t *testing.T) {
	t.Helper()
	for _, dir := range podCgroups() {
		out, err := exec.Command("find", dir, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";").CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	require.Empty(t, podCgroups())
}
