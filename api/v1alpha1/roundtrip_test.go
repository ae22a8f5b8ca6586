package v1alpha1_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

func fieldObjects() []string { return []string{"basic.yaml", "weekend-cron.yaml", "tainted.yaml"} }

// Every field that the owner of a field object wrote is stored as written.
func (s server) acceptsFieldObjects(t *testing.T) {
	for _, file := range fieldObjects() {
		t.Run(file, func(t *testing.T) {
			written := fromFile(t, file)
			s.create(t, written.DeepCopy())
			requireContains(t, written.Object["spec"], s.stored(t, written.GetName()).Object["spec"], "spec")
		})
	}
}

func (s server) acceptsTheSample(t *testing.T) {
	u := fromPath(t, "deploy", "samples", "scheduledmachine.yaml")
	u.SetNamespace("default") // the only one there is
	s.create(t, u)
}

func (s server) fillsDefaults(t *testing.T) {
	s.create(t, fromFile(t, "weekend-cron.yaml"))
	spec := s.stored(t, "weekend").Object["spec"].(map[string]any)
	require.Equal(t, map[string]any{"cron": "* * * * 0,6", "timezone": "UTC", "enabled": true}, spec["schedule"])
	require.EqualValues(t, 50, spec["priority"])
	require.Equal(t, "5m", spec["gracefulShutdownTimeout"])
	require.Equal(t, "5m", spec["nodeDrainTimeout"])
	require.Equal(t, "DisableSchedule", spec["afterReclaim"])
	require.NotContains(t, spec, "killIfCommands")
}

// Absent, empty and filled are three things to whoever wrote them; absent and empty both mean that no agent is wanted.
func (s server) keepsKillIfCommands(t *testing.T) {
	for name, tt := range map[string]struct {
		yaml  string
		agent bool
	}{
		"absent": {"", false},
		"empty":  {"[]", false},
		"filled": {`[java, "my app", 'C:\Games', "it's \"x\"", "# no comment", "- dash", "yes", "1"]`, true},
	} {
		t.Run(name, func(t *testing.T) {
			written := fromFile(t, "basic.yaml")
			written.SetName("kill-if-" + name)
			change{"spec.killIfCommands", tt.yaml}.apply(t, written)
			want, present, err := unstructured.NestedStringSlice(written.Object, "spec", "killIfCommands")
			require.NoError(t, err)

			s.create(t, throughYAML(t, written))
			sm := &v1alpha1.ScheduledMachine{}
			require.NoError(t, s.client.Get(t.Context(), client.ObjectKeyFromObject(written), sm))
			require.Equal(t, tt.agent, len(sm.Spec.KillIfCommands) > 0)
			require.Equal(t, tt.agent, !reclaim.Project(sm.Spec.KillIfCommands).Inert())

			data, err := yaml.Marshal(sm)
			require.NoError(t, err)
			again := &v1alpha1.ScheduledMachine{}
			require.NoError(t, yaml.UnmarshalStrict(data, again))
			again.Labels = map[string]string{"touched": "true"}
			require.NoError(t, s.client.Update(t.Context(), again))

			got, stillPresent, err := unstructured.NestedStringSlice(s.stored(t, written.GetName()).Object, "spec", "killIfCommands")
			require.NoError(t, err)
			require.Equal(t, present, stillPresent)
			require.Equal(t, want, got)
		})
	}
}

func (s server) typedClientLosesNothing(t *testing.T) {
	for _, file := range fieldObjects() {
		t.Run(file, func(t *testing.T) {
			u := fromFile(t, file)
			s.create(t, u)
			before := s.stored(t, u.GetName()).Object["spec"]

			sm := &v1alpha1.ScheduledMachine{}
			require.NoError(t, s.client.Get(t.Context(), client.ObjectKeyFromObject(u), sm))
			sm.Labels = map[string]string{"touched": "true"}
			require.NoError(t, s.client.Update(t.Context(), sm))

			after := s.stored(t, u.GetName())
			require.Equal(t, "true", after.GetLabels()["touched"])
			require.Equal(t, before, after.Object["spec"])
		})
	}
}

func (s server) keepsStatus(t *testing.T) {
	u := fromFile(t, "basic.yaml")
	u.SetName("with-status")
	s.create(t, u)
	sm := &v1alpha1.ScheduledMachine{}
	require.NoError(t, s.client.Get(t.Context(), client.ObjectKeyFromObject(u), sm))

	at := metav1.NewMicroTime(time.Date(2026, 4, 19, 21, 30, 0, 250_001_000, time.UTC))
	sm.Status.Phase = v1alpha1.PhaseEmergencyRemove
	sm.Status.NodeRef = &v1alpha1.NodeReference{Name: "with-status", UID: "n-1"}
	sm.Status.Reclaim = &v1alpha1.ReclaimStatus{
		ID: "r-1", Reason: "process-match: java", RequestedAt: at,
		Removal: v1alpha1.Removal{NodeName: "with-status", NodeUID: "n-1", MachineUID: "m-1", ObservedAt: at, CordonedAt: &at},
	}
	want := sm.Status.DeepCopy()
	require.NoError(t, s.client.Status().Update(t.Context(), sm))

	got := &v1alpha1.ScheduledMachine{}
	require.NoError(t, s.client.Get(t.Context(), client.ObjectKeyFromObject(u), got))
	require.True(t, got.Status.Reclaim.RequestedAt.Equal(&at), "microseconds are kept")
	wantJSON, err := json.Marshal(want)
	require.NoError(t, err)
	gotJSON, err := json.Marshal(got.Status)
	require.NoError(t, err)
	require.JSONEq(t, string(wantJSON), string(gotJSON))
	require.True(t, got.Status.Reclaim.Holds())
	require.False(t, got.Status.Reclaim.Complete())
}

// A column of type date would show a time to come as <invalid>.
func (s server) printsColumns(t *testing.T) {
	u := fromFile(t, "basic.yaml")
	u.SetName("in-a-table")
	s.create(t, u)
	sm := &v1alpha1.ScheduledMachine{}
	require.NoError(t, s.client.Get(t.Context(), client.ObjectKeyFromObject(u), sm))
	next := metav1.NewTime(time.Now().Add(24 * time.Hour))
	sm.Status.NextActivation = &next
	sm.Status.Phase = v1alpha1.PhaseInactive
	sm.Status.InSchedule = true
	sm.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionScheduled, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonScheduleDisabled, LastTransitionTime: metav1.Now()},
		{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonScheduleDisabled, LastTransitionTime: metav1.Now()},
	}
	require.NoError(t, s.client.Status().Update(t.Context(), sm))

	table := s.table(t, "in-a-table")
	var columns []string
	for _, c := range table.ColumnDefinitions {
		columns = append(columns, c.Name)
	}
	require.Equal(t, []string{"Name", "Phase", "Node", "Scheduled", "Next", "Ready", "Reason", "Message", "Age"}, columns)
	require.Equal(t, "Inactive", table.Rows[0].Cells[1])
	require.Equal(t, "False", table.Rows[0].Cells[3], "covered by its schedule, and yet disabled")
	require.Equal(t, next.UTC().Format(time.RFC3339), table.Rows[0].Cells[4])
	require.Equal(t, []any{"True", "ScheduleDisabled"}, table.Rows[0].Cells[5:7])
}

func (s server) table(t *testing.T, name string) *metav1.Table {
	t.Helper()
	httpClient, err := rest.HTTPClientFor(s.config)
	require.NoError(t, err)
	target, err := url.JoinPath(s.config.Host, "apis/5spot.finos.org/v1alpha1/namespaces/default/scheduledmachines", name)
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	require.NoError(t, err)
	request.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	response, err := httpClient.Do(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	table := &metav1.Table{}
	require.NoError(t, json.NewDecoder(response.Body).Decode(table))
	return table
}

// throughYAML writes an object out and reads it in again, as an editor or a Git repository does.
func throughYAML(t *testing.T, u *unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.Marshal(u.Object)
	require.NoError(t, err)
	return fromYAML(t, string(data))
}

// requireContains demands that everything in want is in got: the server may only add.
func requireContains(t *testing.T, want, got any, path string) {
	t.Helper()
	fields, ok := want.(map[string]any)
	if !ok {
		require.EqualValues(t, want, got, path)
		return
	}
	require.IsType(t, fields, got, path)
	for key, value := range fields {
		require.Contains(t, got, key, path)
		requireContains(t, value, got.(map[string]any)[key], path+"."+key)
	}
}
