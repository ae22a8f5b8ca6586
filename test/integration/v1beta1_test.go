package integration

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/machine"
	"5spot.finos.org/node-reclaim/test/controlplane"
	"5spot.finos.org/node-reclaim/test/lab"
	"5spot.finos.org/node-reclaim/test/stubk0smotron"
)

// A management cluster of the time before v1beta2: its Machines have v1beta1 and nothing else. Cluster API of that time cannot run beside
// this control plane, so the test says what it would say.
func TestManagementClusterWithV1Beta1Alone(t *testing.T) {
	assets := controlplane.Require(t)
	crds := filepath.Join(t.TempDir(), "crds")
	require.NoError(t, os.Mkdir(crds, 0o700))
	onlyV1Beta1(t, filepath.Join(assets, "capi-crds", "cluster.x-k8s.io_machines.yaml"), crds)
	onlyV1Beta1(t, filepath.Join(assets, "capi-crds", "cluster.x-k8s.io_clusters.yaml"), crds)
	management := controlplane.ForTest(t, controlplane.Options{
		CRDs: []string{crds, stubk0smotron.CRDDirectory(), filepath.Join(controlplane.Root(), "deploy", "crds")},
	})
	admin, err := client.New(management.Config, client.Options{Scheme: shared.Admin.Scheme()})
	require.NoError(t, err)
	l := &lab.Lab{Management: management, Child: shared.Child, Admin: admin, ChildAdmin: shared.ChildAdmin}
	require.NoError(t, l.Admin.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: lab.Namespace}}))
	unmanaged(t, l, lab.Cluster)
	startController(t, management.Kubeconfig)

	sm := tainted("old-1", "10.0.0.59", "dedicated=lent:NoSchedule")
	sm.Spec.KillIfCommands = []string{"java"}
	require.NoError(t, l.Admin.Create(t.Context(), sm))
	key := types.NamespacedName{Namespace: lab.Namespace, Name: "old-1"}
	var made *unstructured.Unstructured
	require.Eventually(t, func() bool {
		made, err = machine.Get(context.Background(), l.Admin, capi.V1Beta1, key)
		return err == nil && made != nil
	}, patience, poll, "no Machine")
	require.Equal(t, map[string]any{
		"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "RemoteMachine", "name": "old-1", "namespace": lab.Namespace,
	}, made.Object["spec"].(map[string]any)["infrastructureRef"])
	awaitCondition(t, l, sm, v1alpha1.ConditionMachineReady, metav1.ConditionFalse, v1alpha1.ReasonWaitingForBootstrap)

	node := readyNode(t, l, "old-1")
	require.NoError(t, l.Admin.Patch(t.Context(), made, mergePatch(`{"spec":{"bootstrap":{"dataSecretName":"x"}}}`)))
	require.NoError(t, l.Admin.Status().Patch(t.Context(), made, mergePatch(fmt.Sprintf(
		`{"status":{"bootstrapReady":true,"infrastructureReady":true,"nodeRef":{"apiVersion":"v1","kind":"Node","name":"old-1","uid":%q}}}`, node.UID))))
	awaitCondition(t, l, sm, v1alpha1.ConditionReady, metav1.ConditionTrue, v1alpha1.ReasonNodeReady)
	awaitTaints(t, l, "old-1", "dedicated=lent:NoSchedule")
	require.Equal(t, "cluster.x-k8s.io/v1beta1", read(t, l, sm).Status.MachineRef.APIVersion)

	require.NoError(t, annotate(t, l, "old-1", "old-1", request...))
	awaitPhase(t, l, sm, v1alpha1.PhaseDisabled)
	require.True(t, read(t, l, sm).Status.Reclaim.Complete())
	require.False(t, nodeExists(t, l, "old-1"))
	gone, err := machine.Get(t.Context(), l.Admin, capi.V1Beta1, key)
	require.NoError(t, err)
	require.Nil(t, gone)
	remove(t, l, sm)
}

// onlyV1Beta1 copies a CRD of Cluster API, with v1beta1 as the only version.
func onlyV1Beta1(t *testing.T, file, to string) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	crd := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal(data, &crd.Object))
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	require.NoError(t, err)
	var kept []any
	for _, v := range versions {
		if version := v.(map[string]any); version["name"] == string(capi.V1Beta1) {
			version["served"], version["storage"] = true, true
			kept = append(kept, version)
		}
	}
	require.Len(t, kept, 1)
	require.NoError(t, unstructured.SetNestedSlice(crd.Object, kept, "spec", "versions"))
	data, err = yaml.Marshal(crd.Object)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(to, filepath.Base(file)), data, 0o600))
}
