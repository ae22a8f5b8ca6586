package integration

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/child"
	"5spot.finos.org/node-reclaim/test/lab"
	"5spot.finos.org/node-reclaim/test/stubk0smotron"
)

// lentTo puts a ScheduledMachine into another Cluster than the lab's; the child behind it is the same.
func lentTo(cluster string) func(*v1alpha1.ScheduledMachine) {
	return func(sm *v1alpha1.ScheduledMachine) { sm.Spec.ClusterName = cluster }
}

func createCluster(t *testing.T, name string) *unstructured.Unstructured {
	t.Helper()
	key := types.NamespacedName{Namespace: lab.Namespace, Name: name}
	require.NoError(t, stubk0smotron.CreateCluster(t.Context(), shared.Admin, key, shared.Child.Kubeconfig))
	cluster := &unstructured.Unstructured{}
	cluster.SetGroupVersionKind(capi.V1Beta2.ClusterKind())
	require.NoError(t, shared.Admin.Get(t.Context(), key, cluster))
	return cluster
}

func pause(t *testing.T, cluster *unstructured.Unstructured, paused string) {
	t.Helper()
	require.NoError(t, shared.Admin.Patch(t.Context(), cluster.DeepCopy(), mergePatch(`{"spec":{"paused":`+paused+`}}`)))
}

func TestDeletionThatCannotEndSaysWhyAndGoesOn(t *testing.T) {
	newLab(t)
	t.Run("paused Cluster", func(t *testing.T) {
		t.Parallel()
		cluster := createCluster(t, "life-paused")
		l := begin(t, "stuck-paused", address(180, true), "0s", "0s", lentTo("life-paused")).active()
		pause(t, cluster, "true")
		l.scheduleEnds()
		l.says(v1alpha1.ReasonPaused, "Cluster life-paused is paused")
		pause(t, cluster, "false")
		l.awaits(v1alpha1.PhaseInactive)
	})
	t.Run("hook of somebody else", func(t *testing.T) {
		t.Parallel()
		const hook = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/backup"
		l := begin(t, "stuck-hook", address(181, true), "0s", "0s").active()
		require.NoError(t, l.Admin.Patch(t.Context(), machineOf(t, l.Lab, l.name), mergePatch(`{"metadata":{"annotations":{"`+hook+`":""}}}`)))
		l.scheduleEnds()
		l.says(v1alpha1.ReasonDeletionHook, hook)
		require.Contains(t, machineOf(t, l.Lab, l.name).GetAnnotations(), hook, "it is not ours to remove")
		require.NoError(t, l.Admin.Patch(t.Context(), machineOf(t, l.Lab, l.name), mergePatch(`{"metadata":{"annotations":{"`+hook+`":null}}}`)))
		l.awaits(v1alpha1.PhaseInactive)
	})
	t.Run("no bootstrap data yet", func(t *testing.T) {
		t.Parallel()
		cluster := createCluster(t, "life-slow")
		pause(t, cluster, "true")
		l := begin(t, "stuck-slow", address(182, true), "0s", "0s", lentTo("life-slow"))
		require.Eventually(t, func() bool { return machineUID(t, l.Lab, l.name) != "" }, patience, poll)
		l.scheduleEnds()
		l.says(v1alpha1.ReasonWaitingForBootstrap, "K0sWorkerConfig stuck-slow has not written bootstrap data yet")
		require.Nil(t, machineOf(t, l.Lab, l.name).GetDeletionTimestamp())
		pause(t, cluster, "false")
		l.awaits(v1alpha1.PhaseInactive)
	})
	t.Run("child cluster out of reach", func(t *testing.T) {
		t.Parallel()
		createCluster(t, "life-lost")
		l := begin(t, "stuck-lost", address(183, false), "0s", "5s", lentTo("life-lost")).active()
		restore := breakKubeconfig(t, "life-lost")
		l.scheduleEnds()
		l.says(v1alpha1.ReasonNotConnected, "Node stuck-lost cannot be drained")
		require.Eventually(t, func() bool {
			machine := machineOf(t, l.Lab, l.name)
			return machine == nil || machine.GetDeletionTimestamp() != nil
		}, patience, poll, "the drain has no end")
		restore()
	})
}

// breakKubeconfig makes a Cluster's kubeconfig useless, until the returned function is called.
func breakKubeconfig(t *testing.T, cluster string) (restore func()) {
	t.Helper()
	secret := &corev1.Secret{}
	require.NoError(t, shared.Admin.Get(t.Context(), types.NamespacedName{Namespace: lab.Namespace, Name: cluster + "-kubeconfig"}, secret))
	write := func(kubeconfig []byte) {
		secret.Data[child.SecretKey] = kubeconfig
		require.NoError(t, shared.Admin.Update(context.Background(), secret))
	}
	write([]byte("none"))
	return func() { write(shared.Child.Kubeconfig) }
}

// A Cluster that is deleted takes its Machines along, and none is made for it any more.
func TestClusterThatIsDeletedTakesItsMachineAlong(t *testing.T) {
	newLab(t)
	cluster := createCluster(t, "life-leaving")
	l := begin(t, "stuck-leaving", address(184, false), "1h", "1h", lentTo("life-leaving")).active()
	first := machineUID(t, l.Lab, l.name)
	require.NoError(t, l.Admin.Delete(t.Context(), cluster))
	require.Eventually(t, func() bool { return machineUID(t, l.Lab, l.name) == "" }, patience, poll, "no grace period, no drain")
	l.awaits(v1alpha1.PhasePending)
	require.Eventually(t, func() bool {
		return read(t, l.Lab, l.sm).Status.Message == "Cluster life-leaving does not exist; the Machine is made when it does"
	}, patience, poll)
	require.Never(t, func() bool {
		uid := machineUID(t, l.Lab, l.name)
		return uid != "" && uid != first
	}, stillness, poll)
}

// A Machine of the earlier version in Rust is taken over as it is, and can be taken back like any other.
func TestMachineOfTheVersionInRustIsBroughtOver(t *testing.T) {
	newLab(t)
	l := begin(t, "life-rust", address(185, false), "1h", "1h", lentTo("life-old"))
	l.awaits(v1alpha1.PhasePending) // without its Cluster, no Machine of our own is made
	bootstrap, err := capi.Bootstrap(l.sm)
	require.NoError(t, err)
	infrastructure, err := capi.Infrastructure(l.sm)
	require.NoError(t, err)
	for _, object := range []*unstructured.Unstructured{bootstrap, infrastructure, capi.Machine(l.sm, capi.V1Beta2)} {
		object.SetAnnotations(nil)
		object.SetLabels(nil)
		object.SetOwnerReferences([]metav1.OwnerReference{{
			APIVersion: "5spot.finos.org/v1alpha1", Kind: "ScheduledMachine", Name: l.name, UID: l.sm.UID,
			Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
		}})
		require.NoError(t, l.Admin.Create(t.Context(), object))
	}
	machine := machineUID(t, l.Lab, l.name)
	createCluster(t, "life-old")
	l.active()
	got := machineOf(t, l.Lab, l.name)
	require.Equal(t, machine, got.GetUID())
	require.Contains(t, got.GetAnnotations(), capi.ExcludeDrainAnnotation)
	require.Equal(t, string(l.sm.UID), got.GetAnnotations()[v1alpha1.OwnerUIDAnnotation])
	require.Nil(t, metav1.GetControllerOf(got))
	for _, object := range []*unstructured.Unstructured{bootstrap, infrastructure} {
		require.NoError(t, l.Admin.Get(t.Context(), client.ObjectKeyFromObject(object), object))
		require.Equal(t, "Machine", metav1.GetControllerOf(object).Kind, "Cluster API owns what its Machine refers to")
		require.True(t, capi.OwnedBy(object, l.sm))
	}
	l.emergency()
}

// An Error ends by itself when its cause does.
func TestErrorEndsWithItsCause(t *testing.T) {
	newLab(t)
	stranger := lab.ScheduledMachine("life-error", "10.0.0.1")
	stranger.UID = "somebody-else"
	foreign := capi.Machine(stranger, capi.V1Beta2)
	foreign.SetOwnerReferences(nil)
	require.NoError(t, shared.Admin.Create(t.Context(), foreign))
	t.Cleanup(func() { require.NoError(t, client.IgnoreNotFound(shared.Admin.Delete(context.Background(), foreign))) })
	l := begin(t, "life-error", address(186, true), "0s", "0s")
	l.awaits(v1alpha1.PhaseError)
	require.NoError(t, l.Admin.Delete(t.Context(), foreign))
	l.active()
}
