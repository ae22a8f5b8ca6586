package projection

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/controller/child"
	"5spot.finos.org/node-reclaim/test/controlplane"
)

func TestWritesOnARealAPIServer(t *testing.T) {
	admin, err := client.New(controlplane.ForTest(t, controlplane.Options{}).Config, client.Options{})
	require.NoError(t, err)
	t.Run("none reaches another object than the planned one", func(t *testing.T) { noneMisses(t, admin) })
	t.Run("all are under one field manager, and taken off", func(t *testing.T) { allComeOff(t, admin) })
	t.Run("a ConfigMap that cannot be applied onto is replaced", func(t *testing.T) { stubbornIsReplaced(t, admin) })
	t.Run("a mark that was taken off does not leave the label behind", func(t *testing.T) { unmarkedComesOff(t, admin) })
}

// What was planned on an object must not hit its successor of the same name, nor bring a Node back to life.
func noneMisses(t *testing.T, admin client.Client) {
	t.Helper()
	ctx := t.Context()
	run := func(a action) error { return a.run(ctx, admin, mark) }
	require.NoError(t, run(action{verb: ensureNamespace}))
	require.NoError(t, run(action{verb: applyConfig, node: "ws-1", machine: "ws-1", text: "match_commands = []"}))
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "ws-1", Annotations: map[string]string{reclaim.AnnotationAgentState: "{}"}}}
	require.NoError(t, admin.Create(ctx, node))
	before := node.DeepCopy()

	for _, v := range []verb{applyLabel, releaseLabel, clearState, releaseNode, applyConfig, deleteConfig, ensureNamespace} {
		err := run(action{verb: v, node: "ws-1", uid: "of-an-earlier-one"})
		require.True(t, child.Moved(err), "%s: %v", v, err)
	}
	for _, v := range []verb{applyLabel, releaseLabel, clearState, releaseNode} {
		err := run(action{verb: v, node: "ws-2", uid: "of-one-that-went"})
		require.True(t, child.Moved(err), "%s: %v", v, err)
	}
	require.NoError(t, admin.Get(ctx, client.ObjectKeyFromObject(node), node))
	require.Equal(t, before.ResourceVersion, node.ResourceVersion)
	require.True(t, apierrors.IsNotFound(admin.Get(ctx, client.ObjectKey{Name: "ws-2"}, node)))
}

func allComeOff(t *testing.T, admin client.Client) {
	t.Helper()
	ctx := t.Context()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: "ws-3", Labels: map[string]string{"team": "a"}, Annotations: map[string]string{reclaim.AnnotationAgentState: "{}", "example.org/x": "y"},
	}}
	require.NoError(t, admin.Create(ctx, node, client.FieldOwner("somebody")))
	untouched := node.DeepCopy()

	seen := see(node)
	seen.namespace = nil
	carryOutAll(t, admin, seen.plan([]wish{wants(t, seen, "ws-3", "java")}))
	require.NoError(t, admin.Get(ctx, client.ObjectKeyFromObject(node), node))
	require.Equal(t, reclaim.LabelAgentEnabled, node.Labels[reclaim.LabelAgent])
	owned := 0
	for _, entry := range node.ManagedFields {
		if entry.Manager == string(FieldManager) {
			owned++
			require.JSONEq(t, `{"f:metadata":{"f:annotations":{"f:5spot.finos.org/projected-by":{}},"f:labels":{"f:5spot.finos.org/reclaim-agent":{}}}}`,
				string(entry.FieldsV1.GetRawBytes()))
		}
	}
	require.Equal(t, 1, owned)

	configMap := &corev1.ConfigMap{}
	require.NoError(t, admin.Get(ctx, client.ObjectKey{Namespace: reclaim.Namespace, Name: "reclaim-agent-ws-3"}, configMap))
	require.Equal(t, textOf(t, "ws-3", "java"), configMap.Data[reclaim.ConfigKey])
	carryOutAll(t, admin, see(node, configMap).plan(nil))
	require.NoError(t, admin.Get(ctx, client.ObjectKeyFromObject(node), node))
	require.Equal(t, untouched.Labels, node.Labels)
	require.Equal(t, map[string]string{"example.org/x": "y"}, node.Annotations)
	require.True(t, apierrors.IsNotFound(admin.Get(ctx, client.ObjectKeyFromObject(configMap), configMap)))
}

// stubbornIsReplaced: whoever may write there could otherwise have the agent take another list.
func stubbornIsReplaced(t *testing.T, admin client.Client) {
	t.Helper()
	for name, fill := range map[string]func(*corev1.ConfigMap){
		"immutable": func(c *corev1.ConfigMap) {
			c.Data, c.Immutable = map[string]string{reclaim.ConfigKey: "match_commands = []"}, ptr.To(true)
		},
		"binary": func(c *corev1.ConfigMap) { c.BinaryData = map[string][]byte{reclaim.ConfigKey: []byte("x")} },
		"full":   func(c *corev1.ConfigMap) { c.Data = map[string]string{"x": strings.Repeat("x", 1<<20)} },
	} {
		there := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: reclaim.Namespace, Name: reclaim.ConfigMapName(name)}}
		fill(there)
		require.NoError(t, admin.Create(t.Context(), there))
		require.NoError(t, action{verb: applyConfig, node: name, machine: name, text: "match_commands = ['java']"}.run(t.Context(), admin, mark), name)
		require.NoError(t, admin.Get(t.Context(), client.ObjectKeyFromObject(there), there))
		require.Equal(t, map[string]string{reclaim.ConfigKey: "match_commands = ['java']"}, there.Data, name)
	}
}

// unmarkedComesOff, and beside it an administrator's label stays: the API server knows whose each is.
func unmarkedComesOff(t *testing.T, admin client.Client) {
	t.Helper()
	ctx := t.Context()
	for name, labels := range map[string]map[string]string{"ws-4": nil, "ws-5": {reclaim.LabelAgent: reclaim.LabelAgentEnabled}} {
		node := nodeNamed(name)
		node.UID, node.Labels = "", labels
		require.NoError(t, admin.Create(ctx, node, client.FieldOwner("somebody")))
		seen := see(node)
		carryOutAll(t, admin, seen.plan([]wish{wants(t, seen, name, "java")}))
		unmark := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+reclaim.LabelProjectedBy+`":null}}}`))
		require.NoError(t, admin.Patch(ctx, node, unmark))
		configMap := &corev1.ConfigMap{}
		require.NoError(t, admin.Get(ctx, client.ObjectKey{Namespace: reclaim.Namespace, Name: reclaim.ConfigMapName(name)}, configMap))

		carryOutAll(t, admin, see(node, configMap).plan(nil))
		require.NoError(t, admin.Get(ctx, client.ObjectKeyFromObject(node), node))
		require.Equal(t, labels, node.Labels, name)
		require.Empty(t, node.Annotations, name)
	}
}

func carryOutAll(t *testing.T, admin client.Client, plan [][]action) {
	t.Helper()
	require.NotEmpty(t, plan)
	for _, sequence := range plan {
		for _, a := range sequence {
			require.NoError(t, a.run(t.Context(), admin, mark), a.verb)
		}
	}
}
