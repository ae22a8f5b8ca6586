package eject

import (
	"testing"

	"github.com/stretchr/testify/require"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
)

// A kill switch waits for nothing, bootstrap data included. What that may leave behind is said, once.
func TestMachineThatIsDeletedBeforeItsBootstrapDataIsSaid(t *testing.T) {
	for name, tt := range map[string]struct {
		data string
		said int
	}{
		"with bootstrap data": {"ws-1", 0},
		"without":             {"", 1},
	} {
		t.Run(name, func(t *testing.T) {
			sm := begun()
			sm.Spec.InfrastructureSpec.Kind = "RemoteMachine"
			sm.Status.Termination, sm.Status.Reclaim = &v1alpha1.Removal{MachineUID: "m-1", PodsGoneAt: after(0)}, nil
			own := capi.Machine(sm, capi.V1Beta2)
			own.SetUID("m-1")
			require.NoError(t, unstructured.SetNestedField(own.Object, tt.data, "spec", "bootstrap", "dataSecretName"))
			r := newReconciler(t, sm, own)
			r.Version = capi.V1Beta2
			s := &scope{sm: sm, stored: sm.DeepCopy()}
			require.NoError(t, r.recordEarly(t.Context(), sm, own), "a crash before the record of the DELETE is stored brings it again")
			_, err := r.deleteMachine(t.Context(), s)
			require.NoError(t, err)
			require.NotNil(t, sm.Status.Termination.MachineDeletedAt)
			require.Error(t, r.Client.Get(t.Context(), client.ObjectKeyFromObject(own), own), "it is deleted all the same")

			var events eventsv1.EventList
			require.NoError(t, r.Client.List(t.Context(), &events))
			require.Len(t, events.Items, tt.said)
			for _, event := range events.Items {
				require.Equal(t, v1alpha1.ReasonDeletedBeforeBootstrap, event.Reason)
				require.Contains(t, event.Note, "its provider may keep RemoteMachine ws-1 for ever")
			}
		})
	}
}
