package integration

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/test/lab"
)

// A node chooses its labels, addresses and providerID when it registers; all but its name.
func TestNodeThatPretendsToBeAnotherIsNobodysNode(t *testing.T) {
	l, ctx := newLab(t)
	victim := lab.ScheduledMachine("identity-1", "10.0.9.1", "java")
	active(t, l, victim)
	imposter(ctx, t, l, "identity-1")
	stays(t, l, victim)
	require.True(t, nodeExists(t, l, "imposter"), "it is not ours to remove")

	mapping := mergePatch(`{"status":{"nodeRef":{"name":"imposter"}}}`)
	require.Eventually(t, func() bool { // Cluster API may put it right in between
		_ = l.Admin.Status().Patch(ctx, machineOf(t, l, "identity-1"), mapping)
		return meta.IsStatusConditionTrue(read(t, l, victim).Status.Conditions, v1alpha1.ConditionNodeIdentityMismatch)
	}, patience, poll)
	require.Never(t, func() bool { return !nodeExists(t, l, "imposter") || !nodeExists(t, l, "identity-1") }, stillness, poll)
	require.Nil(t, read(t, l, victim).Status.Reclaim)
}

// imposter registers a Node that looks like the one of that name, and asks to leave.
func imposter(ctx context.Context, t *testing.T, l *lab.Lab, as string) {
	t.Helper()
	genuine := &corev1.Node{}
	require.NoError(t, l.ChildAdmin.Get(ctx, types.NamespacedName{Name: as}, genuine))
	user, err := l.Child.Node("imposter")
	require.NoError(t, err)
	kubelet, err := client.New(user.Config(), client.Options{})
	require.NoError(t, err)
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: "imposter", Labels: genuine.Labels, Annotations: map[string]string{reclaim.AnnotationRequested: "true"},
		},
		Spec:   corev1.NodeSpec{ProviderID: genuine.Spec.ProviderID},
		Status: corev1.NodeStatus{Addresses: genuine.Status.Addresses},
	}
	require.NoError(t, kubelet.Create(ctx, node))
	t.Cleanup(func() { require.NoError(t, client.IgnoreNotFound(l.ChildAdmin.Delete(context.Background(), node))) })
}

// Without the Node, the attach/detach controller takes a volume as mounted for six minutes more.
func TestNodeWithVolumesInUseGoesWhenTheyAreOrThreeSecondsLater(t *testing.T) {
	l, ctx := newLab(t)
	sm := lab.ScheduledMachine("volumes-1", "10.0.9.2", "java")
	active(t, l, sm)
	node := &corev1.Node{}
	require.NoError(t, l.ChildAdmin.Get(ctx, types.NamespacedName{Name: "volumes-1"}, node))
	require.NoError(t, l.ChildAdmin.Status().Patch(ctx, node, mergePatch(`{"status":{"volumesInUse":["kubernetes.io/csi/disk-1"]}}`)))
	require.NoError(t, annotate(t, l, "volumes-1", "volumes-1", request...))
	awaitPhase(t, l, sm, v1alpha1.PhaseDisabled)
	record := read(t, l, sm).Status.Reclaim
	require.NotNil(t, record.CordonedAt)
	require.GreaterOrEqual(t, record.NodeDeletedAt.Sub(record.ObservedAt.Time), 3*time.Second)
	require.Less(t, record.PodsDeletedAt.Sub(record.ObservedAt.Time), 3*time.Second, "the pods do not wait for the Node")
}
