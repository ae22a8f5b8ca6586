package stubk0smotron

import (
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestADeletedRemoteMachineWaitsForItsMachinesBootstrapData(t *testing.T) {
	for name, tt := range map[string]struct {
		bootstrap map[string]any
		stays     bool
	}{
		"none, so it stays for ever": {bootstrap: map[string]any{}, stays: true},
		"there, so it goes":          {bootstrap: map[string]any{"dataSecretName": "ws-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			machine := newMachine()
			machine.SetNamespace("default")
			machine.SetName("ws-1")
			machine.Object["spec"] = map[string]any{"bootstrap": tt.bootstrap}
			remote := deletedRemoteMachine()
			c := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(machine, remote).Build()
			r := &infrastructureReconciler{client: c, reader: c, hosts: &Hosts{options: Options{}.withDefaults()}}

			key := client.ObjectKeyFromObject(remote)
			_, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
			require.NoError(t, err)
			err = c.Get(t.Context(), key, remote)
			require.Equal(t, tt.stays, err == nil, "%v", err)
		})
	}
}

func deletedRemoteMachine() *unstructured.Unstructured {
	remote := newRemoteMachine()
	remote.SetNamespace("default")
	remote.SetName("ws-1")
	remote.SetFinalizers([]string{remoteMachineFinalizer})
	remote.SetDeletionTimestamp(ptr.To(metav1.Now()))
	remote.SetOwnerReferences([]metav1.OwnerReference{
		{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Machine", Name: "ws-1", UID: "1"},
	})
	return remote
}
