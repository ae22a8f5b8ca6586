package v1alpha1_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// change is one field of basic.yaml, written over as YAML. An empty value removes the field.
type change struct{ field, value string }

func (c change) apply(t *testing.T, u *unstructured.Unstructured) {
	t.Helper()
	path := strings.Split(c.field, ".")
	if c.value == "" {
		unstructured.RemoveNestedField(u.Object, path...)
		return
	}
	var value any
	require.NoError(t, yaml.Unmarshal([]byte(c.value), &value))
	if n, ok := value.(float64); ok {
		value = int64(n)
	}
	require.NoError(t, unstructured.SetNestedField(u.Object, value, path...))
}

func (s server) dryRun(t *testing.T, changes ...change) error {
	t.Helper()
	u := fromFile(t, "basic.yaml")
	for _, c := range changes {
		c.apply(t, u)
	}
	return s.client.Create(t.Context(), u, client.DryRunAll)
}

func (s server) acceptsGoodValues(t *testing.T) {
	for _, c := range []change{
		{"spec.schedule", "{daysOfWeek: [mon], hoursOfDay: ['9']}"},
		{"spec.schedule", "{daysOfWeek: ['mon, wed', fri-mon], hoursOfDay: ['22-6,12', '0']}"},
		{"spec.schedule", "{daysOfWeek: [MON-Fri], hoursOfDay: ['09-17']}"},
		{"spec.schedule", "{cron: '*/15 8-18 1,15 jan-mar MON-FRI', timezone: Asia/Kathmandu}"},
		{"spec.schedule", "{cron: '* * * * *', daysOfWeek: [], hoursOfDay: []}"},
		{"spec.gracefulShutdownTimeout", "0s"},
		{"spec.nodeDrainTimeout", "24h"},
		{"spec.nodeDrainTimeout", "86400s"},
		{"spec.priority", "100"},
		{"spec.killIfCommands", "['a', 'go', 'c++', '/x/', 'é']"},
		{"spec.killIfCommands", list("name", 100)},
		{"spec.killIfCommands", "['" + strings.Repeat("é", 256) + "']"},
		{"spec.machineTemplate", "{version: v1.37.2}"},
		{"spec.machineTemplate", "{labels: {node.cluster.x-k8s.io/team: a, x-k8s.io/b: c}}"},
		{"spec.nodeTaints", "[{key: my.kubernetes.io/x, effect: NoSchedule}]"},
		{"spec.afterReclaim", "Hold"},
		{"spec.machineTemplate", "{labels: {a: '', Example.x: b_c.d, a.example.org/x-y: V1}, annotations: {a.example.org/x: 'any text, {\"even\": \"JSON\"}'}}"},
		{"spec.nodeTaints", "[{key: " + strings.Repeat("p", 253) + "/x, effect: NoSchedule}]"},
		{"metadata.name", strings.Repeat("w", 63)},
	} {
		t.Run(c.field+" "+shorten(c.value), func(t *testing.T) { require.NoError(t, s.dryRun(t, c)) })
	}
}

func (s server) refusesBadValues(t *testing.T) {
	const (
		days     = "spec.schedule.daysOfWeek: days and ranges of days, for example mon-fri or sat,sun"
		hours    = "spec.schedule.hoursOfDay: hours 0 to 23 and ranges, for example 9-17 or 22-6"
		cron     = "spec.schedule.cron: five fields, minute, hour, day of month, month and day of week, for example '* 9-17 * * 1-5'"
		noWindow = "spec.schedule: give daysOfWeek and hoursOfDay, for example daysOfWeek: [mon-fri], hoursOfDay: ['9-17'], or cron"
		twoForms = "spec.schedule: cron excludes daysOfWeek and hoursOfDay"
		timeout  = "a timeout is a whole number with unit s, m or h, at most 24h, for example 5m"
		group    = "for example infrastructure.cluster.x-k8s.io/v1beta1"
		reserved = "spec.nodeTaints.key: the prefixes 5spot.finos.org/, kubernetes.io/, node.kubernetes.io/ and node-role.kubernetes.io/ are reserved; use your own, for example workload"
		taintKey = "spec.nodeTaints.key: an optional DNS prefix and '/', then at most 63 letters, digits, '-', '_' and '.', for example example.org/workload"
		argument = "spec.killIfCommands: an entry with '/' or a space is searched for in every process's arguments and needs at least 3 characters, for example /opt/idea/"
		oneLine  = "spec.killIfCommands: an entry is one line without NUL, for example java"
		labels   = "use a key of your own, for example example.org/team, or node.cluster.x-k8s.io/team to have CAPI put it on the Node"
		syntax   = "a value is at most 63 of these, for example example.org/team: a"
		notes    = "spec.machineTemplate.annotations: keys of cluster.x-k8s.io and 5spot.finos.org/scheduled-machine-uid are set by CAPI and the controller; use a key of your own, for example example.org/team"
	)
	for _, tt := range []struct {
		change
		at, says string
	}{
		{change{"metadata.name", strings.Repeat("w", 64)}, "", "metadata.name: at most 63 characters, because the Machine and its Node carry the same name, for example ws-1"},
		{change{"spec", ""}, "spec", "Required value"},
		{change{"spec.schedule", ""}, "spec.schedule", "Required value"},
		{change{"spec.clusterName", ""}, "spec.clusterName", "Required value"},
		{change{"spec.bootstrapSpec", ""}, "spec.bootstrapSpec", "Required value"},
		{change{"spec.bootstrapSpec.kind", ""}, "spec.bootstrapSpec.kind", "Required value"},
		{change{"spec.bootstrapSpec.spec", ""}, "spec.bootstrapSpec.spec", "Required value"},
		{change{"spec.infrastructureSpec", ""}, "spec.infrastructureSpec", "Required value"},
		{change{"spec.schedule.timezone", "''"}, "spec.schedule.timezone", "at least 1 chars long"},
		{change{"spec.schedule.timezone", strings.Repeat("z", 65)}, "spec.schedule.timezone", "64"},
		{change{"spec.schedule.enabled", "'yes'"}, "spec.schedule.enabled", "must be of type boolean"},
		{change{"spec.machineTemplate.labels", "{'a b': c}"}, "spec.machineTemplate.labels", syntax},
		{change{"spec.machineTemplate.labels", "{a..b/c: d}"}, "spec.machineTemplate.labels", syntax},
		{change{"spec.machineTemplate.labels", "{a: " + strings.Repeat("v", 64) + "}"}, "spec.machineTemplate.labels", syntax},
		{change{"spec.machineTemplate.annotations", "{'a b': c}"}, "spec.machineTemplate.annotations", "for example example.org/team"},
		{change{"spec.nodeTaints", "[{key: a..b/x, effect: NoSchedule}]"}, "spec.nodeTaints[0].key", taintKey},
		{change{"spec.nodeTaints", "[{key: " + strings.Repeat("p", 254) + "/x, effect: NoSchedule}]"}, "spec.nodeTaints[0].key", taintKey},
		{change{"spec.nodeTaints", "[{key: x" + strings.Repeat("n", 63) + ", effect: NoSchedule}]"}, "spec.nodeTaints[0].key", taintKey},
		{change{"spec.nodeTaints", "[{key: x}]"}, "spec.nodeTaints[0].effect", "Required value"},
		{change{"spec.nodeTaints", "[{effect: NoSchedule}]"}, "spec.nodeTaints[0].key", "Required value"},
		{change{"spec.nodeTaints", list("{key: x, effect: NoSchedule}", 51)}, "spec.nodeTaints", "at most 50 items"},
		{change{"spec.clusterName", "''"}, "spec.clusterName", "at least 1 chars long"},
		{change{"spec.clusterName", "-a"}, "spec.clusterName", "starting with a letter or digit, for example team-a"},
		{change{"spec.clusterName", strings.Repeat("c", 64)}, "spec.clusterName", "63"},
		{change{"spec.schedule.daysOfWeek", "[monday]"}, "spec.schedule.daysOfWeek[0]", days},
		{change{"spec.schedule.daysOfWeek", "[mon, 'tue-']"}, "spec.schedule.daysOfWeek[1]", days},
		{change{"spec.schedule.daysOfWeek", "['']"}, "spec.schedule.daysOfWeek[0]", days},
		{change{"spec.schedule.hoursOfDay", "['24']"}, "spec.schedule.hoursOfDay[0]", hours},
		{change{"spec.schedule.hoursOfDay", "['9am']"}, "spec.schedule.hoursOfDay[0]", hours},
		{change{"spec.schedule.hoursOfDay", "['9-17-20']"}, "spec.schedule.hoursOfDay[0]", hours},
		{change{"spec.schedule.hoursOfDay", ""}, "spec.schedule", noWindow},
		{change{"spec.schedule.daysOfWeek", "[]"}, "spec.schedule", noWindow},
		{change{"spec.schedule.cron", "'* * * * *'"}, "spec.schedule", twoForms},
		{change{"spec.schedule", "{cron: '0 9 * * * *'}"}, "spec.schedule.cron", cron},
		{change{"spec.schedule", "{cron: '@daily'}"}, "spec.schedule.cron", cron},
		{change{"spec.schedule", "{cron: 'TZ=UTC * * * * *'}"}, "spec.schedule.cron", cron},
		{change{"spec.schedule", "{cron: ''}"}, "spec.schedule.cron", cron},
		{change{"spec.bootstrapSpec.apiVersion", "v1"}, "spec.bootstrapSpec.apiVersion", group},
		{change{"spec.bootstrapSpec.apiVersion", "rbac.authorization.k8s.io/v1"}, "spec.bootstrapSpec.apiVersion", group},
		{change{"spec.infrastructureSpec.apiVersion", "infrastructure.cluster.x-k8s.io.example.org/v1"}, "spec.infrastructureSpec.apiVersion", group},
		{change{"spec.infrastructureSpec.kind", "remotemachine"}, "spec.infrastructureSpec.kind", "kind: CamelCase, for example K0sWorkerConfig"},
		{change{"spec.infrastructureSpec.spec", "text"}, "spec.infrastructureSpec.spec", "must be of type object"},
		{change{"spec.machineTemplate.labels", "{5spot.finos.org/scheduled-machine: other}"}, "spec.machineTemplate.labels", labels},
		{change{"spec.machineTemplate.labels", "{cluster.x-k8s.io/cluster-name: other}"}, "spec.machineTemplate.labels", labels},
		{change{"spec.machineTemplate.labels", "{topology.cluster.x-k8s.io/owned: ''}"}, "spec.machineTemplate.labels", labels},
		{change{"spec.machineTemplate.annotations", "{5spot.finos.org/scheduled-machine-uid: x}"}, "spec.machineTemplate.annotations", notes},
		{change{"spec.machineTemplate.annotations", "{machine.cluster.x-k8s.io/exclude-node-draining: ''}"}, "spec.machineTemplate.annotations", notes},
		{change{"spec.machineTemplate.annotations", "{pre-drain.delete.hook.machine.cluster.x-k8s.io/x: ''}"}, "spec.machineTemplate.annotations", notes},
		{change{"spec.machineTemplate.annotations", "{pre-terminate.delete.hook.machine.cluster.x-k8s.io: ''}"}, "spec.machineTemplate.annotations", notes},
		{change{"spec.machineTemplate.annotations", "{cluster.x-k8s.io/paused: ''}"}, "spec.machineTemplate.annotations", notes},
		{change{"spec.machineTemplate.version", "''"}, "spec.machineTemplate.version", "at least 1 chars long"},
		{change{"spec.priority", "-1"}, "spec.priority", "greater than or equal to 0"},
		{change{"spec.priority", "101"}, "spec.priority", "less than or equal to 100"},
		{change{"spec.gracefulShutdownTimeout", "'5'"}, "spec.gracefulShutdownTimeout", timeout},
		{change{"spec.gracefulShutdownTimeout", "1h30m"}, "spec.gracefulShutdownTimeout", timeout},
		{change{"spec.nodeDrainTimeout", "25h"}, "spec.nodeDrainTimeout", timeout},
		{change{"spec.nodeDrainTimeout", "99999h"}, "spec.nodeDrainTimeout", timeout},
		{change{"spec.nodeDrainTimeout", "''"}, "spec.nodeDrainTimeout", timeout},
		{change{"spec.nodeTaints", "[{key: kubernetes.io/x, effect: NoSchedule}]"}, "spec.nodeTaints[0].key", reserved},
		{change{"spec.nodeTaints", "[{key: node.kubernetes.io/x, effect: NoSchedule}]"}, "spec.nodeTaints[0].key", reserved},
		{change{"spec.nodeTaints", "[{key: node-role.kubernetes.io/x, effect: NoSchedule}]"}, "spec.nodeTaints[0].key", reserved},
		{change{"spec.nodeTaints", "[{key: 5spot.finos.org/x, effect: NoSchedule}]"}, "spec.nodeTaints[0].key", reserved},
		{change{"spec.nodeTaints", "[{key: 'a b', effect: NoSchedule}]"}, "spec.nodeTaints[0].key", taintKey},
		{change{"spec.nodeTaints", "[{key: '/x', effect: NoSchedule}]"}, "spec.nodeTaints[0].key", taintKey},
		{change{"spec.nodeTaints", "[{key: x, value: 'a b', effect: NoSchedule}]"}, "spec.nodeTaints[0].value", "beginning and ending with a letter or digit, for example batch"},
		{change{"spec.nodeTaints", "[{key: x, effect: Never}]"}, "spec.nodeTaints[0].effect", `supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"`},
		{change{"spec.nodeTaints", "[{key: x, effect: NoSchedule}, {key: x, value: y, effect: NoSchedule}]"}, "spec.nodeTaints[1]", "Duplicate value"},
		{change{"spec.killIfCommands", "['']"}, "spec.killIfCommands[0]", "at least 1 chars long"},
		{change{"spec.killIfCommands", "['" + strings.Repeat("é", 257) + "']"}, "spec.killIfCommands[0]", "256"},
		{change{"spec.killIfCommands", list("name", 101)}, "spec.killIfCommands", "at most 100 items"},
		{change{"spec.killIfCommands", `["a\nb"]`}, "spec.killIfCommands[0]", oneLine},
		{change{"spec.killIfCommands", `["a\0b"]`}, "spec.killIfCommands[0]", oneLine},
		{change{"spec.killIfCommands", "[java, /]"}, "spec.killIfCommands[1]", argument},
		{change{"spec.killIfCommands", "['- ']"}, "spec.killIfCommands[0]", argument},
		{change{"spec.killIfCommands", "['   ']"}, "spec.killIfCommands[0]", argument},
		{change{"spec.afterReclaim", "Never"}, "spec.afterReclaim", `supported values: "DisableSchedule", "Hold"`},
	} {
		t.Run(tt.field+" "+shorten(tt.value), func(t *testing.T) {
			err := s.dryRun(t, tt.change)
			require.ErrorContains(t, err, tt.says)
			require.ErrorContains(t, err, tt.at+": ")
		})
	}
}

func (s server) refusesAnotherCluster(t *testing.T) {
	sm := &v1alpha1.ScheduledMachine{}
	u := fromFile(t, "basic.yaml")
	u.SetName("moved")
	require.NoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, sm))
	s.create(t, sm)
	sm.Spec.ClusterName = "team-z"
	require.ErrorContains(t, s.client.Update(t.Context(), sm),
		"spec.clusterName: cannot be changed, because the machine would be left behind in the old cluster; create another ScheduledMachine")
}

// list is a YAML list of n copies of an entry.
func list(entry string, n int) string {
	return "[" + strings.TrimSuffix(strings.Repeat(entry+", ", n), ", ") + "]"
}

func shorten(s string) string { return s[:min(len(s), 60)] }
