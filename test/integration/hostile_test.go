package integration

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/test/lab"
)

// The zero time could not even be stored; and a Machine that lost its label is still known by its name.
func TestImpossibleTimeAndLostLabelDoNotStopARemoval(t *testing.T) {
	l, ctx := newLab(t)
	sm := lab.ScheduledMachine("ws-20", "10.0.0.20", "java")
	active(t, l, sm)
	machine := machineOf(t, l, "ws-20")
	require.NoError(t, l.Admin.Patch(ctx, machine, mergePatch(`{"metadata":{"labels":{"5spot.finos.org/scheduled-machine":null}}}`)))
	require.NoError(t, annotate(t, l, "ws-20", "ws-20", "5spot.finos.org/reclaim-requested=true",
		"5spot.finos.org/reclaim-requested-at=0001-01-01T00:00:00Z"))
	awaitPhase(t, l, sm, v1alpha1.PhaseDisabled)
	record := read(t, l, sm).Status.Reclaim
	require.True(t, record.RequestedAt.Equal(&record.ObservedAt))
	require.False(t, nodeExists(t, l, "ws-20"))
}

// A Job's pods keep their objects until the Job controller has counted them; their containers must be dead before the kubelet is stopped.
func TestPodsWithFinalizersAreWaitedForUntilTheirContainersAreDead(t *testing.T) {
	l, ctx := newLab(t)
	sm := lab.ScheduledMachine("ws-21", "10.0.0.21", "java")
	active(t, l, sm)
	pods := podsOf(t, l, "ws-21")
	for i := range pods {
		require.NoError(t, l.ChildAdmin.Patch(ctx, &pods[i], mergePatch(`{"metadata":{"finalizers":["batch.kubernetes.io/job-tracking"]}}`)))
	}
	t.Cleanup(func() {
		for i := range pods {
			err := l.ChildAdmin.Patch(context.Background(), &pods[i], mergePatch(`{"metadata":{"finalizers":null}}`))
			require.NoError(t, client.IgnoreNotFound(err))
		}
	})
	require.NoError(t, annotate(t, l, "ws-21", "ws-21", request...))
	awaitPhase(t, l, sm, v1alpha1.PhaseDisabled)
	record := read(t, l, sm).Status.Reclaim
	waited := record.MachineDeletedAt.Sub(record.PodsDeletedAt.Time)
	require.Greater(t, waited, 1500*time.Millisecond, "their containers still lived")
	require.Less(t, waited, 9*time.Second, "it waited for the objects")
	for _, pod := range podsOf(t, l, "ws-21") {
		require.EqualValues(t, 0, *pod.DeletionGracePeriodSeconds)
	}
}

// While the API server refuses the record, nothing of the removal may happen that a lost record could not bring back.
func TestRemovalThatCannotBeRecordedDoesNotHappenUntilItCan(t *testing.T) {
	l, _ := newLab(t)
	sm := lab.ScheduledMachine("ws-22", "10.0.0.22", "java")
	active(t, l, sm)
	allow := refuseRecords(t, l, sm)
	uid := machineUID(t, l, "ws-22")
	require.NoError(t, annotate(t, l, "ws-22", "ws-22", request...))
	require.Never(t, func() bool { return !nodeExists(t, l, "ws-22") || machineUID(t, l, "ws-22") != uid }, stillness, poll)
	require.Zero(t, eventsOf(t, l, sm)["EmergencyReclaim"])
	allow()
	awaitPhase(t, l, sm, v1alpha1.PhaseDisabled)
	require.Equal(t, 1, eventsOf(t, l, sm)["EmergencyReclaim"])
}

// refuseRecords has the API server refuse every new status.reclaim, until the returned function is called.
func refuseRecords(t *testing.T, l *lab.Lab, sm *v1alpha1.ScheduledMachine) (allow func()) {
	t.Helper()
	allow = admit(t, l, "scheduledmachines/status", "!has(object.status.reclaim)")
	try := mergePatch(`{"status":{"reclaim":{"id":"x","requestedAt":"2026-01-01T00:00:00.000000Z","observedAt":"2026-01-01T00:00:00.000000Z"}}}`)
	require.Eventually(t, func() bool {
		return l.Admin.Status().Patch(t.Context(), read(t, l, sm), try, client.DryRunAll) != nil
	}, patience, poll, "the policy never took effect")
	return allow
}

// admit has the API server refuse updates of a resource that do not satisfy a CEL expression, until the returned function is called. It takes
// a moment to take effect.
func admit(t *testing.T, l *lab.Lab, resource, expression string) (allow func()) {
	t.Helper()
	name := "admit-" + strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-"))
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
			RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Update},
				Rule:       admissionv1.Rule{APIGroups: []string{"5spot.finos.org"}, APIVersions: []string{"*"}, Resources: []string{resource}},
			},
		}}},
		Validations: []admissionv1.Validation{{Expression: expression}},
	}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	allow = func() {
		require.NoError(t, client.IgnoreNotFound(l.Admin.Delete(context.Background(), binding)))
		require.NoError(t, client.IgnoreNotFound(l.Admin.Delete(context.Background(), policy)))
	}
	require.NoError(t, l.Admin.Create(t.Context(), policy))
	require.NoError(t, l.Admin.Create(t.Context(), binding))
	t.Cleanup(allow)
	return allow
}

func mergePatch(patch string) client.Patch {
	return client.RawPatch(types.MergePatchType, []byte(patch))
}
