package integration

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/machine"
	"5spot.finos.org/node-reclaim/test/lab"
)

// active creates a ScheduledMachine and waits until its Node is in the child cluster with its pods. It is deleted with the test.
func active(t *testing.T, l *lab.Lab, sm *v1alpha1.ScheduledMachine) {
	t.Helper()
	require.NoError(t, l.Admin.Create(t.Context(), sm))
	t.Cleanup(func() { remove(t, l, sm) })
	awaitPhase(t, l, sm, v1alpha1.PhaseActive)
	require.Eventually(t, func() bool { return len(podsOf(t, l, sm.Name)) == podsOn }, patience, poll)
}

// remove deletes a ScheduledMachine; the kill switch first, because its pods forbid every eviction.
func remove(t *testing.T, l *lab.Lab, sm *v1alpha1.ScheduledMachine) {
	t.Helper()
	ctx := context.Background()
	kill := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"killSwitch":true}}`))
	require.NoError(t, client.IgnoreNotFound(l.Admin.Patch(ctx, sm.DeepCopy(), kill)))
	require.NoError(t, client.IgnoreNotFound(l.Admin.Delete(ctx, sm)))
	require.Eventually(t, func() bool {
		letGo(t, l, sm)
		return apierrors.IsNotFound(l.Admin.Get(ctx, client.ObjectKeyFromObject(sm), &v1alpha1.ScheduledMachine{}))
	}, patience, poll, "the ScheduledMachine does not go")
}

// letGo drops the finalizer of a Machine that is being deleted in a cluster that Cluster API was told to leave alone; see unmanaged.
func letGo(t *testing.T, l *lab.Lab, sm *v1alpha1.ScheduledMachine) {
	t.Helper()
	if sm.Spec.ClusterName == lab.Cluster {
		return
	}
	if m := machineOf(t, l, sm.Name); m != nil && m.GetDeletionTimestamp() != nil {
		require.NoError(t, client.IgnoreNotFound(l.Admin.Patch(context.Background(), m, mergePatch(`{"metadata":{"finalizers":null}}`))))
	}
}

func awaitPhase(t *testing.T, l *lab.Lab, sm *v1alpha1.ScheduledMachine, want v1alpha1.Phase) {
	t.Helper()
	require.Eventuallyf(t, func() bool { return read(t, l, sm).Status.Phase == want }, patience, poll, "no phase %s", want)
}

func read(t *testing.T, l *lab.Lab, sm *v1alpha1.ScheduledMachine) *v1alpha1.ScheduledMachine {
	t.Helper()
	got := &v1alpha1.ScheduledMachine{}
	require.NoError(t, l.Admin.Get(context.Background(), client.ObjectKeyFromObject(sm), got))
	return got
}

func podsOf(t *testing.T, l *lab.Lab, node string) []corev1.Pod {
	t.Helper()
	var all corev1.PodList
	require.NoError(t, l.ChildAdmin.List(context.Background(), &all))
	var pods []corev1.Pod
	for _, pod := range all.Items {
		if pod.Spec.NodeName == node {
			pods = append(pods, pod)
		}
	}
	return pods
}

func nodeExists(t *testing.T, l *lab.Lab, name string) bool {
	t.Helper()
	err := l.ChildAdmin.Get(context.Background(), types.NamespacedName{Name: name}, &corev1.Node{})
	require.NoError(t, client.IgnoreNotFound(err))
	return err == nil
}

// machineOf is nil when there is no Machine of that name.
func machineOf(t *testing.T, l *lab.Lab, name string) *unstructured.Unstructured {
	t.Helper()
	found, err := machine.Get(context.Background(), l.Admin, capi.V1Beta2, types.NamespacedName{Namespace: lab.Namespace, Name: name})
	require.NoError(t, err)
	return found
}

// machineUID is empty when there is no Machine of that name.
func machineUID(t *testing.T, l *lab.Lab, name string) types.UID {
	t.Helper()
	found := machineOf(t, l, name)
	if found == nil {
		return ""
	}
	return found.GetUID()
}

// eventsOf are the reasons of the events on a ScheduledMachine, each as often as it was recorded.
func eventsOf(t *testing.T, l *lab.Lab, sm *v1alpha1.ScheduledMachine) map[string]int {
	t.Helper()
	var all eventsv1.EventList
	require.NoError(t, l.Admin.List(context.Background(), &all, client.InNamespace(lab.Namespace)))
	reasons := map[string]int{}
	for _, event := range all.Items {
		if event.Regarding.UID == sm.UID {
			reasons[event.Reason]++
		}
	}
	return reasons
}

// annotate runs the real kubectl under a node's credential, as the shell tool does.
func annotate(t *testing.T, l *lab.Lab, as, node string, annotations ...string) error {
	t.Helper()
	user, err := l.Child.Node(as)
	require.NoError(t, err)
	kubeconfig, err := user.KubeConfig()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "kubelet.conf")
	require.NoError(t, os.WriteFile(file, kubeconfig, 0o600))
	cmd := exec.CommandContext(t.Context(), l.Child.Kubectl(),
		append([]string{"--kubeconfig=" + file, "--cache-dir=" + t.TempDir(), "annotate", "node", node}, annotations...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		t.Log(stderr.String())
		return err
	}
	return nil
}

var request = []string{
	"5spot.finos.org/reclaim-requested=true",
	"5spot.finos.org/reclaim-reason=process-match: java",
	"5spot.finos.org/reclaim-requested-at=2026-04-19T21:30:00Z",
}

// comesBack registers a Node under its kubelet's still valid credential, with an old request on it, as a host does that was off meanwhile.
func comesBack(ctx context.Context, t *testing.T, l *lab.Lab, name string) {
	t.Helper()
	user, err := l.Child.Node(name)
	require.NoError(t, err)
	kubelet, err := client.New(user.Config(), client.Options{})
	require.NoError(t, err)
	require.NoError(t, kubelet.Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, Annotations: map[string]string{reclaim.AnnotationRequested: "true"},
	}}))
}
