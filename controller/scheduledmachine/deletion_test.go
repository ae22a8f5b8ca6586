package scheduledmachine

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
)

// holds is an API server with one object, or none.
type holds struct{ object *unstructured.Unstructured }

func (h holds) Get(_ context.Context, name client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if h.object == nil || h.object.GetName() != name.Name {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "remotemachines"}, name.Name)
	}
	h.object.DeepCopyInto(into.(*unstructured.Unstructured))
	return nil
}

func (holds) List(context.Context, client.ObjectList, ...client.ListOption) error {
	panic("not asked for")
}

// deleted is a Machine that was deleted at dusk, and its infrastructure object.
func deleted(t *testing.T, later time.Duration) (*scope, *unstructured.Unstructured) {
	t.Helper()
	s := shuttingDown(t, later)
	at := metav1.NewTime(dusk)
	s.machine.SetDeletionTimestamp(&at)
	require.NoError(t, unstructured.SetNestedField(s.machine.Object, "ws-1", "spec", "bootstrap", "dataSecretName"))
	s.sm.Spec.InfrastructureSpec = v1alpha1.ObjectTemplate{
		APIVersion: "infrastructure.cluster.x-k8s.io/v1beta1", Kind: "RemoteMachine", Spec: runtime.RawExtension{Raw: []byte(`{}`)},
	}
	infrastructure, err := capi.Infrastructure(s.sm)
	require.NoError(t, err)
	infrastructure.SetDeletionTimestamp(&at)
	infrastructure.SetFinalizers([]string{"remotemachine.k0smotron.io/finalizer"})
	return s, infrastructure
}

func early(s *scope, _ *unstructured.Unstructured) {
	unstructured.RemoveNestedField(s.machine.Object, "spec", "bootstrap", "dataSecretName")
}

func annotated(u *unstructured.Unstructured, key string) {
	annotations := u.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[key] = ""
	u.SetAnnotations(annotations)
}

// Each message ends with what a person can do.
func TestWhatADeletionWaitsFor(t *testing.T) {
	for name, tt := range map[string]struct {
		later        time.Duration
		change       func(*scope, *unstructured.Unstructured)
		reason, says string
		stuck        bool
		wake         time.Duration
	}{
		"Cluster gone": {0, func(s *scope, _ *unstructured.Unstructured) { s.cluster = nil },
			v1alpha1.ReasonClusterGone, `kubectl -n team-a patch machine ws-1 --type=merge -p '{"metadata":{"finalizers":null}}'`, true, 0},
		"Cluster paused": {0, func(s *scope, _ *unstructured.Unstructured) {
			require.NoError(t, unstructured.SetNestedField(s.cluster.Object, true, "spec", "paused"))
		}, v1alpha1.ReasonPaused, "Cluster child is paused, so Cluster API removes no Machine of it. It goes on when neither spec.paused", true, 0},
		"Machine paused": {0, func(s *scope, _ *unstructured.Unstructured) { annotated(s.machine, "cluster.x-k8s.io/paused") },
			v1alpha1.ReasonPaused, "Machine ws-1 is paused", true, 0},
		"hook": {0, func(s *scope, _ *unstructured.Unstructured) {
			annotated(s.machine, "pre-drain.delete.hook.machine.cluster.x-k8s.io/backup")
		}, v1alpha1.ReasonDeletionHook, "held by the annotation pre-drain.delete.hook.machine.cluster.x-k8s.io/backup. Whoever set it removes it", true, 0},
		"not for long": {time.Minute, func(*scope, *unstructured.Unstructured) {},
			v1alpha1.ReasonMachineDeleting, "Waiting for the Machine to be gone", false, time.Minute},
		"in Cluster API's words": {time.Minute, func(s *scope, _ *unstructured.Unstructured) {
			condition := map[string]any{"type": "Deleting", "message": "waiting for it\n"}
			require.NoError(t, unstructured.SetNestedSlice(s.machine.Object, []any{condition}, "status", "conditions"))
		}, v1alpha1.ReasonMachineDeleting, "Waiting for the Machine to be gone: waiting for it?", false, time.Minute},
		"provider": {2 * time.Minute, func(*scope, *unstructured.Unstructured) {},
			v1alpha1.ReasonInfrastructureStuck, `RemoteMachine ws-1 still has the finalizer remotemachine.k0smotron.io/finalizer: its provider has not let go of the host. ` +
				`Look at that object's conditions and at the provider's log; to give the host up as it is: kubectl -n team-a patch remotemachine ws-1 --type=merge`, true, 30 * time.Second},
		"provider, before there was bootstrap data": {time.Minute, early,
			v1alpha1.ReasonMachineDeleting, "deleted before its bootstrap data existed, so its provider may keep RemoteMachine ws-1 for ever; from 18:02:00Z on", false, time.Minute},
		"provider, before there was bootstrap data, for long": {2 * time.Minute, early,
			v1alpha1.ReasonInfrastructureStuck, "does not let go of the host. Nothing else will end that; to give the host up as it is: kubectl -n team-a patch remotemachine ws-1", true,
			30 * time.Second},
		"provider, of an object in Rust's name": {2 * time.Minute, func(s *scope, u *unstructured.Unstructured) {
			u.SetName("ws-1-infra")
			u.SetAnnotations(nil)
			u.SetOwnerReferences(aMachines())
			require.NoError(t, unstructured.SetNestedField(s.machine.Object, "ws-1-infra", "spec", "infrastructureRef", "name"))
		}, v1alpha1.ReasonInfrastructureStuck, "to give the host up as it is: kubectl -n team-a patch remotemachine ws-1-infra --type=merge", true, 30 * time.Second},
		"infrastructure of another": {time.Hour, func(_ *scope, u *unstructured.Unstructured) { u.SetAnnotations(nil) },
			v1alpha1.ReasonMachineDeleting, "Waiting for the Machine to be gone", false, 30 * time.Second},
		"infrastructure not asked to go": {time.Hour, func(_ *scope, u *unstructured.Unstructured) { u.SetDeletionTimestamp(nil) },
			v1alpha1.ReasonMachineDeleting, "Waiting for the Machine to be gone", false, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			s, infrastructure := deleted(t, tt.later)
			tt.change(s, infrastructure)
			require.NoError(t, (&Reconciler{Live: holds{infrastructure}}).awaitMachine(t.Context(), s))
			require.Equal(t, tt.reason, s.notice.reason)
			require.Contains(t, s.notice.message, tt.says)
			require.Equal(t, tt.stuck, s.notice.stuck)
			require.Equal(t, tt.wake, s.wake)
		})
	}
}

func TestMachineThatIsNotDeletedWaitsForNothing(t *testing.T) {
	s := shuttingDown(t, 0)
	require.NoError(t, (&Reconciler{Live: holds{}}).awaitMachine(t.Context(), s))
	require.Nil(t, s.notice)
	s.machine = nil
	require.NoError(t, (&Reconciler{Live: holds{}}).awaitMachine(t.Context(), s), "nor does one that is gone")
}

// What a machine waits for that is in schedule and not in its cluster, when the cause is the Cluster.
func TestPendingSaysWhatTheClusterLacks(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*scope)
		says   string
	}{
		"nothing": {func(*scope) {}, "Creating the Machine"},
		"missing": {func(s *scope) { s.cluster = nil }, "Cluster child does not exist; the Machine is made when it does"},
		"leaving": {func(s *scope) { s.cluster.SetDeletionTimestamp(ptr.To(metav1.NewTime(dusk))) }, "Cluster child is being deleted; no Machine is made for it"},
		"paused":  {func(s *scope) { annotated(s.cluster, "cluster.x-k8s.io/paused") }, "Cluster child is paused, so no Node joins it. It goes on when"},
	} {
		t.Run(name, func(t *testing.T) {
			s := shuttingDown(t, 0)
			s.machine, s.sm.Status.InSchedule = nil, true
			tt.change(s)
			phase, message := s.phase()
			require.Equal(t, v1alpha1.PhasePending, phase)
			require.Contains(t, message, tt.says)
		})
	}
}
