// Package installer runs the installer as a process on a real systemd and against a real API server, with no more rights than its pod
// has: no capability, the mounts that it needs, and its ServiceAccount.
package installer

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/test/controlplane"
	"5spot.finos.org/node-reclaim/test/systemdnode"
	"5spot.finos.org/node-reclaim/test/workstation"
)

const (
	patience = 2 * time.Minute
	poll     = 50 * time.Millisecond

	nodeName  = "ws-1"
	setName   = "5spot-reclaim-agent"
	program   = "/usr/local/bin/5spot-reclaim-agent"
	unit      = "5spot-reclaim-agent.service"
	unitPath  = "/etc/systemd/system/" + unit
	linkPath  = "/etc/systemd/system/multi-user.target.wants/" + unit
	record    = "/var/lib/5spot-reclaim-agent/installed.json"
	image     = "/opt/image/5spot-reclaim-agent"
	nextImage = "/opt/next/5spot-reclaim-agent"

	java  = "match_commands = [\"java\"]\n"
	steam = "match_commands = [\"steam\"]\n"
)

// stage is a host with systemd that has joined a cluster.
type stage struct {
	t     *testing.T
	host  *systemdnode.Node
	cp    *controlplane.ControlPlane
	admin client.Client
	lent  *workstation.Workstation
	// pristine is the host before anything was installed.
	pristine map[string]string
	pods     int
}

// newStage has the two directories that a pod's mounts make, the kubelet's credential for the agent, and two images of the installer.
func newStage(t *testing.T) *stage {
	cp := controlplane.ForTest(t, controlplane.Options{})
	s := &stage{t: t, cp: cp, host: systemdnode.Boot(t, systemdnode.Options{Name: nodeName, Furnish: furnish})}
	var err error
	s.admin, err = client.New(cp.Config, client.Options{})
	require.NoError(t, err)
	s.lent, err = workstation.New(cp, nodeName, s.host.Path("/var/lib/k0s"))
	require.NoError(t, err)
	s.buildImages()
	s.grant()
	s.pristine = s.files()
	return s
}

func furnish(root string) error {
	for _, dir := range []string{"etc/5spot", "var/lib/5spot-reclaim-agent", "var/lib/k0s", filepath.Dir(image), filepath.Dir(nextImage)} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// buildImages: the second differs in a byte behind its end, which the loader does not mind.
func (s *stage) buildImages() {
	_, err := workstation.BuildAgent(s.t.Context(), s.host.Path(filepath.Dir(image)))
	require.NoError(s.t, err)
	content, err := os.ReadFile(s.host.Path(image))
	require.NoError(s.t, err)
	require.NoError(s.t, os.WriteFile(s.host.Path(nextImage), append(content, 0), 0o755))
}

func (s *stage) files() map[string]string { return s.host.Files("/usr/local/bin", "/etc", "/var/lib") }

// grant makes the ServiceAccount with its rights, and puts its token where a pod finds it.
func (s *stage) grant() {
	s.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: reclaim.Namespace}})
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: reclaim.Namespace, Name: setName}}
	s.create(account)
	s.grantAgain()
	token := &authenticationv1.TokenRequest{}
	require.NoError(s.t, s.admin.SubResource("token").Create(s.t.Context(), account, token))
	secrets := s.host.Path("/run/secrets/kubernetes.io/serviceaccount")
	require.NoError(s.t, os.MkdirAll(secrets, 0o755))
	require.NoError(s.t, os.WriteFile(filepath.Join(secrets, "token"), []byte(token.Status.Token), 0o600))
	require.NoError(s.t, os.WriteFile(filepath.Join(secrets, "ca.crt"), s.cp.Config.CAData, 0o600))
}

func (s *stage) grantAgain() {
	for _, o := range rights() {
		s.create(o)
	}
}

// rights are what the installer needs, and no more.
func rights() []client.Object {
	read := []string{"get", "watch"}
	nodes := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: setName},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: read}}}
	binding := &rbacv1.ClusterRoleBinding{ObjectMeta: nodes.ObjectMeta, Subjects: subjects(),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: setName}}
	own := rightsIn(reclaim.Namespace,
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: read},
		rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"daemonsets"}, ResourceNames: []string{setName}, Verbs: read})
	events := rightsIn("default", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create"}})
	return append(append([]client.Object{nodes, binding}, own...), events...)
}

func rightsIn(namespace string, rules ...rbacv1.PolicyRule) []client.Object {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: setName}
	return []client.Object{&rbacv1.Role{ObjectMeta: meta, Rules: rules}, &rbacv1.RoleBinding{ObjectMeta: meta, Subjects: subjects(),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: setName}}}
}

func subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: reclaim.Namespace, Name: setName}}
}

func (s *stage) create(o client.Object) {
	s.t.Helper()
	require.NoError(s.t, s.admin.Create(s.t.Context(), o))
}

// scene is one part of a test: a fresh Node, DaemonSet and ConfigMap. It has to leave the host as it found it.
func (s *stage) scene(name string, run func(*stage)) {
	s.t.Run(name, func(t *testing.T) {
		part := *s
		part.t = t
		defer func() { s.pods = part.pods }()
		defer part.clear()
		_, err := part.lent.Register(t.Context())
		require.NoError(t, err)
		part.setNode(func(n *corev1.Node) { n.Labels[reclaim.LabelAgent] = reclaim.LabelAgentEnabled })
		part.reports(part.host.MachineID())
		part.create(part.configMap())
		part.create(daemonSet())
		run(&part)
	})
}

// clear removes the objects, and what is left of the agent by hand.
func (s *stage) clear() {
	ctx := context.WithoutCancel(s.t.Context())
	for _, o := range []client.Object{s.node(), s.configMap(), daemonSet()} {
		require.NoError(s.t, client.IgnoreNotFound(s.admin.Delete(ctx, o)))
	}
	s.host.Run(image, "uninstall")
	s.isPristine()
}

func (s *stage) isPristine() {
	s.t.Helper()
	now := s.files()
	maps.DeleteFunc(now, func(path, what string) bool { return s.pristine[path] == what })
	require.Empty(s.t, now, "left on the host")
	require.Len(s.t, s.files(), len(s.pristine), "missing on the host")
}

func (s *stage) awaitPristine() {
	s.t.Helper()
	require.Eventually(s.t, func() bool { return maps.Equal(s.pristine, s.files()) }, patience, poll, "%s", s.journal())
}

func (s *stage) node() *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}
}

// setNode changes the Node as the controller would.
func (s *stage) setNode(change func(*corev1.Node)) {
	s.t.Helper()
	n := s.node()
	require.NoError(s.t, s.admin.Get(s.t.Context(), client.ObjectKeyFromObject(n), n))
	patch := client.MergeFrom(n.DeepCopy())
	if n.Labels == nil {
		n.Labels = map[string]string{}
	}
	change(n)
	require.NoError(s.t, s.admin.Patch(s.t.Context(), n, patch))
}

func (s *stage) unlabel() {
	s.t.Helper()
	s.setNode(func(n *corev1.Node) { delete(n.Labels, reclaim.LabelAgent) })
}

// reports has the kubelet report a machine id.
func (s *stage) reports(machineID string) {
	s.t.Helper()
	n := s.node()
	require.NoError(s.t, s.admin.Get(s.t.Context(), client.ObjectKeyFromObject(n), n))
	require.NoError(s.t, s.lent.Report(s.t.Context(), n, machineID))
}

func (s *stage) configMap() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: reclaim.Namespace, Name: reclaim.ConfigMapName(nodeName)},
		Data: map[string]string{reclaim.ConfigKey: java}}
}

func (s *stage) configure(text string) {
	s.t.Helper()
	m := s.configMap()
	m.Data[reclaim.ConfigKey] = text
	require.NoError(s.t, s.admin.Update(s.t.Context(), m))
}

func daemonSet() *appsv1.DaemonSet {
	labels := map[string]string{"app": setName}
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: reclaim.Namespace, Name: setName},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					NodeSelector: map[string]string{reclaim.LabelAgent: reclaim.LabelAgentEnabled},
					Containers:   []corev1.Container{{Name: "sync", Image: "5spot-reclaim-agent"}},
				},
			},
		},
	}
}

// awaitAgent waits until the agent itself says something on its Node.
func (s *stage) awaitAgent(text string) {
	s.t.Helper()
	require.EventuallyWithT(s.t, func(c *assert.CollectT) {
		n := s.node()
		require.NoError(c, s.admin.Get(context.Background(), client.ObjectKeyFromObject(n), n))
		require.Contains(c, n.Annotations[reclaim.AnnotationAgentState], text)
	}, patience, poll, "%s", s.journal())
}

// warnings are the events on the Node with that reason.
func (s *stage) warnings(reason string) []string {
	s.t.Helper()
	events := &corev1.EventList{}
	require.NoError(s.t, s.admin.List(s.t.Context(), events, client.InNamespace("default")))
	n := s.node()
	require.NoError(s.t, s.admin.Get(s.t.Context(), client.ObjectKeyFromObject(n), n))
	var found []string
	for _, e := range events.Items {
		if e.InvolvedObject.UID == n.UID && e.Reason == reason && e.Type == corev1.EventTypeWarning {
			found = append(found, e.Message)
		}
	}
	return found
}

// show is a property of the agent's unit.
func (s *stage) show(property string) string {
	s.t.Helper()
	return s.host.Run("systemctl", "show", "--value", "-p", property, unit)
}

func (s *stage) journal() string {
	out, _ := s.host.Enter("journalctl", "--no-pager", "-n", "60", "-u", unit, "-u", "pod-*").CombinedOutput()
	return string(out)
}

// environment is the pod's.
func (s *stage) environment() []string {
	s.t.Helper()
	server, err := url.Parse(s.cp.Config.Host)
	require.NoError(s.t, err)
	address, port, err := net.SplitHostPort(server.Host)
	require.NoError(s.t, err)
	return []string{"KUBERNETES_SERVICE_HOST=" + address, "KUBERNETES_SERVICE_PORT=" + port, "NODE_NAME=" + nodeName,
		fmt.Sprintf("POD_NAMESPACE=%s", reclaim.Namespace)}
}
