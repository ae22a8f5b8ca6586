package eject

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/child"
	"5spot.finos.org/node-reclaim/test/controlplane"
	"5spot.finos.org/node-reclaim/test/lab"
)

// One that was deleted and created again in the middle of a removal is another machine's contract, and nobody asked for it to leave.
func TestScheduleOfALaterScheduledMachineIsNotDisabled(t *testing.T) {
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	cp := controlplane.ForTest(t, controlplane.Options{CRDs: []string{filepath.Join(controlplane.Root(), "deploy", "crds")}})
	admin, err := client.New(cp.Config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	create := func() *v1alpha1.ScheduledMachine {
		sm := lab.ScheduledMachine("ws-1", "192.0.2.1", "java")
		sm.Namespace = metav1.NamespaceDefault
		require.NoError(t, admin.Create(t.Context(), sm))
		return sm
	}
	first := create()
	first.Status.Reclaim = &v1alpha1.ReclaimStatus{ID: "x", EventRecordedAt: microtime(time.Now())}
	require.NoError(t, admin.Delete(t.Context(), first))
	second := create()

	_, err = (&Reconciler{Client: admin, Now: time.Now}).disableSchedule(t.Context(), &scope{sm: first, stored: first.DeepCopy()})
	require.True(t, child.Moved(err), "%v", err)
	require.Nil(t, first.Status.Reclaim.ScheduleDisabledAt)
	require.NoError(t, admin.Get(t.Context(), client.ObjectKeyFromObject(second), second))
	require.True(t, scheduleEnabled(second))
}
