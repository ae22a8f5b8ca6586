package cluster

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/test/controlplane"
)

const (
	patience  = 30 * time.Second
	poll      = 10 * time.Millisecond
	installer = "installer"
)

// fixture is a real API server, and a Cluster with rights that can be taken away.
type fixture struct {
	t     *testing.T
	cp    *controlplane.ControlPlane
	admin client.Client
	*Cluster
}

func newFixture(t *testing.T) *fixture {
	cp := controlplane.ForTest(t, controlplane.Options{})
	admin, err := client.New(cp.Config, client.Options{})
	require.NoError(t, err)
	user, err := cp.User(installer)
	require.NoError(t, err)
	f := &fixture{t: t, cp: cp, admin: admin}
	f.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: reclaim.Namespace}})
	for _, o := range f.rights() {
		f.create(o)
	}
	f.Cluster = f.connect(user.Config())
	return f
}

func (f *fixture) connect(config *rest.Config) *Cluster {
	c, err := Connect(Options{Config: config, NodeName: "ws-1", Namespace: reclaim.Namespace, DaemonSet: "agent", Version: "test", Clock: clock.RealClock{}})
	require.NoError(f.t, err)
	return c
}

func (f *fixture) create(o client.Object) {
	f.t.Helper()
	require.NoError(f.t, f.admin.Create(f.t.Context(), o))
}

func (f *fixture) remove(o client.Object) {
	f.t.Helper()
	require.NoError(f.t, f.admin.Delete(f.t.Context(), o))
}

func (f *fixture) rights() []client.Object {
	meta := metav1.ObjectMeta{Name: installer}
	return []client.Object{
		&rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"", "apps"}, Resources: []string{"nodes", "daemonsets", "configmaps"}, Verbs: []string{"get", "watch"}},
			{APIGroups: []string{""}, Resources: []string{"events"}, Verbs: []string{"create"}},
		}},
		&rbacv1.ClusterRoleBinding{ObjectMeta: meta, Subjects: []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: installer}},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: installer}},
	}
}

// run lets the watches run, and gives what ends them.
func (f *fixture) run() (end func()) {
	ctx, cancel := context.WithCancel(f.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); f.Run(ctx) }()
	return func() { cancel(); <-done }
}

func ownNode() *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "ws-1", Labels: map[string]string{"a": "1"}}}
}

func ownSet() *appsv1.DaemonSet {
	labels := map[string]string{"app": "agent"}
	return &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: reclaim.Namespace, Name: "agent"}, Spec: appsv1.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
			NodeSelector: map[string]string{"a": "1"}, Containers: []corev1.Container{{Name: "c", Image: "i"}}}},
	}}
}

func ownConfig() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: reclaim.Namespace, Name: "reclaim-agent-ws-1"},
		Data: map[string]string{reclaim.ConfigKey: "text"}}
}

func TestOnAnAPIServer(t *testing.T) {
	f := newFixture(t)
	v := f.Look(t.Context())
	require.NoError(t, v.Fault)
	require.Equal(t, []Sight{Absent, Absent, Absent}, []Sight{v.Node.Sight, v.DaemonSet.Sight, v.ConfigMap.Sight})
	since := v.Node.AbsentSince
	v = f.Look(t.Context())
	require.Equal(t, since, v.Node.AbsentSince, "missed since the first time")
	require.True(t, v.Node.At.After(since))

	defer f.run()()
	n := ownNode()
	f.create(n)
	f.create(ownSet())
	f.create(ownConfig())
	n.Status.NodeInfo.MachineID = "id"
	require.NoError(t, f.admin.Status().Update(t.Context(), n))
	v = f.Look(t.Context())
	require.NoError(t, v.Fault)
	require.Equal(t, "id", v.Node.MachineID)
	require.Equal(t, string(n.UID), v.Node.UID)
	require.True(t, v.DaemonSet.Selects(v.Node.Labels))
	require.False(t, v.DaemonSet.Selects(map[string]string{"a": "2"}))
	require.Equal(t, ConfigMap{Sight: There, At: v.ConfigMap.At, Text: "text", HasKey: true}, v.ConfigMap)

	f.warnsOnce(n)
	f.hasTheLastWord(n)
}

func (f *fixture) warnsOnce(n *corev1.Node) {
	require.NoError(f.t, f.Warn(f.t.Context(), "Reason", "why"))
	require.NoError(f.t, f.Warn(f.t.Context(), "Reason", "why"))
	events := &corev1.EventList{}
	require.NoError(f.t, f.admin.List(f.t.Context(), events))
	require.Len(f.t, events.Items, 1)
	e := events.Items[0]
	require.Equal(f.t, []string{"Node", "ws-1", string(n.UID), "Warning", "Reason", "why"},
		[]string{e.InvolvedObject.Kind, e.InvolvedObject.Name, string(e.InvolvedObject.UID), e.Type, e.Reason, e.Message})
}

// hasTheLastWord: once nothing may be asked any more, the watches that are open still tell that the label and the DaemonSet went.
func (f *fixture) hasTheLastWord(n *corev1.Node) {
	f.awaitWatches(n)
	for _, o := range f.rights() {
		f.remove(o)
	}
	require.Eventually(f.t, func() bool { return f.Look(f.t.Context()).Fault != nil }, patience, poll, "the rights are not gone")
	f.patch(n, `{"metadata":{"labels":{"a":null}}}`)
	f.remove(ownSet())
	require.EventuallyWithT(f.t, func(c *assert.CollectT) {
		v := f.Look(f.t.Context())
		require.ErrorContains(c, v.Fault, `reading Node ws-1: the API server says: nodes "ws-1" is forbidden`)
		require.Equal(c, There, v.Node.Sight)
		require.Empty(c, v.Node.Labels)
		require.Equal(c, Absent, v.DaemonSet.Sight)
	}, patience, poll)
	f.remove(n)
	require.Eventually(f.t, func() bool { return f.Look(f.t.Context()).Node.Sight == Absent }, patience, poll)
}

// awaitWatches waits until both watches have told something that no look has asked for.
func (f *fixture) awaitWatches(n *corev1.Node) {
	f.t.Helper()
	asked := f.known().DaemonSet.At
	f.patch(n, `{"metadata":{"labels":{"a":"2"}}}`)
	f.patch(ownSet(), `{"metadata":{"annotations":{"x":"y"}}}`)
	require.Eventually(f.t, func() bool {
		v := f.known()
		return v.Node.Labels["a"] == "2" && v.DaemonSet.At.After(asked)
	}, patience, poll)
}

func (f *fixture) known() View {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.view
}

func (f *fixture) patch(o client.Object, patch string) {
	f.t.Helper()
	require.NoError(f.t, f.admin.Patch(f.t.Context(), o, client.RawPatch(types.MergePatchType, []byte(patch))))
}

func TestAnAPIServerThatIsAway(t *testing.T) {
	c, err := Connect(Options{Config: &rest.Config{Host: "https://127.0.0.1:1"}, NodeName: "ws-1", Namespace: "n", DaemonSet: "d", Clock: clock.RealClock{}})
	require.NoError(t, err)
	v := c.Look(t.Context())
	require.ErrorContains(t, v.Fault, "reading Node ws-1")
	require.ErrorContains(t, v.Fault, "reading DaemonSet n/d")
	require.ErrorContains(t, v.Fault, "reading ConfigMap 5spot-system/reclaim-agent-ws-1")
	require.Equal(t, Unknown, v.Node.Sight)
}
