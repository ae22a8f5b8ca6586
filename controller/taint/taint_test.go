package taint

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// on reads taints as kubectl writes them, key=value:effect, separated by blanks.
func on(text string) []corev1.Taint {
	var taints []corev1.Taint
	for field := range strings.FieldsSeq(text) {
		name, effect, _ := strings.Cut(field, ":")
		key, value, _ := strings.Cut(name, "=")
		taints = append(taints, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
	}
	return taints
}

func of(text string) []v1alpha1.NodeTaint {
	var taints []v1alpha1.NodeTaint
	for _, t := range on(text) {
		taints = append(taints, v1alpha1.NodeTaint{Key: t.Key, Value: t.Value, Effect: t.Effect})
	}
	return taints
}

const system = "node.kubernetes.io/unreachable:NoExecute"

func TestDecide(t *testing.T) {
	for _, tt := range []struct {
		name                    string
		node, wanted, claimed   string
		want, claims, unclaimed string
		conflicts               []string
	}{
		{name: "nothing wanted, nothing done", node: system, want: system},
		{name: "a wanted taint is claimed and added after what is there", node: system, wanted: "a=1:NoSchedule",
			want: system + " a=1:NoSchedule", claims: "a=1:NoSchedule", unclaimed: "a=1:NoSchedule"},
		{name: "a claimed one is added without another claim: a crash came between, or somebody removed it", wanted: "a=1:NoSchedule", claimed: "a=1:NoSchedule",
			want: "a=1:NoSchedule", claims: "a=1:NoSchedule"},
		{name: "ours and right", node: "a=1:NoSchedule", wanted: "a=1:NoSchedule", claimed: "a=1:NoSchedule",
			want: "a=1:NoSchedule", claims: "a=1:NoSchedule"},
		{name: "ours, and somebody changed its value", node: "a=x:NoSchedule", wanted: "a=1:NoSchedule", claimed: "a=1:NoSchedule",
			want: "a=1:NoSchedule", claims: "a=1:NoSchedule"},
		{name: "ours, and the spec has another value now", node: "a=1:NoSchedule " + system, wanted: "a=2:NoSchedule", claimed: "a=1:NoSchedule",
			want: "a=2:NoSchedule " + system, claims: "a=2:NoSchedule"},
		{name: "an admin's equal one satisfies and stays his", node: "a=1:NoSchedule", wanted: "a=1:NoSchedule",
			want: "a=1:NoSchedule"},
		{name: "an admin's other value is never overwritten", node: "a=x:NoSchedule", wanted: "a=1:NoSchedule",
			want: "a=x:NoSchedule", conflicts: []string{`a:NoSchedule is "x" on the Node and "1" in spec.nodeTaints`}},
		{name: "no value differs from a value", node: "a:NoSchedule", wanted: "a=1:NoSchedule",
			want: "a:NoSchedule", conflicts: []string{`a:NoSchedule is "" on the Node and "1" in spec.nodeTaints`}},
		{name: "a conflict does not keep others from being applied", node: "a=x:NoSchedule", wanted: "a=1:NoSchedule b:NoSchedule",
			want: "a=x:NoSchedule b:NoSchedule", claims: "b:NoSchedule", unclaimed: "b:NoSchedule",
			conflicts: []string{`a:NoSchedule is "x" on the Node and "1" in spec.nodeTaints`}},
		{name: "the same key with another effect is another taint", node: "a=x:NoExecute", wanted: "a=1:NoSchedule",
			want: "a=x:NoExecute a=1:NoSchedule", claims: "a=1:NoSchedule", unclaimed: "a=1:NoSchedule"},
		{name: "ours and no longer wanted: removed", node: "a=1:NoSchedule " + system, claimed: "a=1:NoSchedule",
			want: system},
		{name: "an admin's and no longer wanted: left", node: "a=1:NoSchedule",
			want: "a=1:NoSchedule"},
		{name: "a claim to nothing is dropped", claimed: "a=1:NoSchedule"},
		{name: "another effect of a claimed key is not ours to remove", node: "a=1:NoExecute", claimed: "a=1:NoSchedule",
			want: "a=1:NoExecute"},
		{name: "effect changed in spec", node: "a=1:NoSchedule", wanted: "a=1:NoExecute", claimed: "a=1:NoSchedule",
			want: "a=1:NoExecute", claims: "a=1:NoExecute", unclaimed: "a=1:NoExecute"},
		{name: "a claim twice counts once", node: "a=1:NoSchedule", claimed: "a=1:NoSchedule a=2:NoSchedule"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := Decide(on(tt.node), of(tt.wanted), of(tt.claimed))
			require.ElementsMatch(t, on(tt.want), p.Taints)
			require.Equal(t, !slices.Equal(on(tt.node), p.Taints), p.Change)
			require.Equal(t, of(tt.claims), p.Claims)
			require.Equal(t, of(tt.unclaimed), p.Unclaimed)
			var conflicts []string
			for _, c := range p.Conflicts {
				conflicts = append(conflicts, c.String())
			}
			require.Equal(t, tt.conflicts, conflicts)
		})
	}
}

func TestTimeOfAnothersTaintIsKept(t *testing.T) {
	added := metav1.Now()
	node := on(system)
	node[0].TimeAdded = &added
	require.Equal(t, &added, Decide(node, of("a:NoSchedule"), nil).Taints[0].TimeAdded)
}

func TestArgumentsAreLeftAlone(t *testing.T) {
	node, claimed := on("a=x:NoSchedule b:NoSchedule c:NoSchedule"), of("a=1:NoSchedule b:NoSchedule")
	Decide(node, of("a=1:NoSchedule"), claimed)
	require.Equal(t, on("a=x:NoSchedule b:NoSchedule c:NoSchedule"), node)
	require.Equal(t, of("a=1:NoSchedule b:NoSchedule"), claimed)
}

// Whatever admins and the owner do, and wherever the controller dies: an admin's taint keeps the admin's value until he changes it, and
// when nothing is wanted any more, only his taints are left.
func TestNeitherLeftoverNorTheft(t *testing.T) {
	for seed := range uint64(2000) {
		w := &world{Rand: rand.New(rand.NewPCG(seed, 1)), admins: map[slot]string{}}
		for range 30 {
			w.happen()
			w.reconcile(w.IntN(4))
			w.requireAdminsTaints(t, seed)
		}
		w.wanted = nil
		for range 3 {
			w.reconcile(3)
		}
		require.Len(t, w.node, len(w.admins), "seed %d: node %v, admins %v", seed, w.node, w.admins)
		require.Empty(t, w.claimed)
		w.requireAdminsTaints(t, seed)
	}
}

type world struct {
	*rand.Rand
	node            []corev1.Taint
	wanted, claimed []v1alpha1.NodeTaint
	// admins are the taints that an admin put where there was none, and their values.
	admins map[slot]string
}

// happen is one act of the owner or of an admin.
func (w *world) happen() {
	key, value := string(rune('a'+w.IntN(3))), fmt.Sprint(w.IntN(2))
	taint := corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffectNoSchedule}
	s := slot{taint.Key, taint.Effect}
	at := slices.IndexFunc(w.node, func(t corev1.Taint) bool { return t.Key == key })
	want := v1alpha1.NodeTaint{Key: key, Value: value, Effect: taint.Effect}
	switch there := find(w.wanted, s); w.IntN(4) {
	case 0: // wanted from now on, or with another value
		w.wanted = slices.DeleteFunc(w.wanted, func(t v1alpha1.NodeTaint) bool { return t.Key == key })
		w.wanted = append(w.wanted, want)
	case 1: // wanted no more
		if there >= 0 {
			w.wanted = slices.Delete(w.wanted, there, there+1)
		}
	case 2: // an admin's taint; one of ours that he changes stays ours
		if at >= 0 {
			w.node[at].Value = value
			if _, his := w.admins[s]; his {
				w.admins[s] = value
			}
		} else if find(w.claimed, s) < 0 {
			w.node = append(w.node, taint)
			w.admins[s] = value
		}
	case 3: // removed by an admin, his or ours
		if at >= 0 {
			w.node = slices.Delete(w.node, at, at+1)
			delete(w.admins, s)
		}
	}
}

// reconcile does what the controller does, up to some step: 0 nothing, 1 the claim, 2 the Node, 3 the end.
func (w *world) reconcile(steps int) {
	p := Decide(w.node, w.wanted, w.claimed)
	if steps >= 1 {
		w.claimed = append(w.claimed, p.Unclaimed...)
	}
	if steps >= 2 {
		w.node = p.Taints
	}
	if steps >= 3 {
		w.claimed = p.Claims
	}
}

func (w *world) requireAdminsTaints(t *testing.T, seed uint64) {
	t.Helper()
	for s, value := range w.admins {
		at := slices.IndexFunc(w.node, func(t corev1.Taint) bool { return slot{t.Key, t.Effect} == s })
		require.GreaterOrEqual(t, at, 0, "seed %d: an admin's taint %s is gone", seed, s.key)
		require.Equal(t, value, w.node[at].Value, "seed %d: an admin's taint %s was overwritten", seed, s.key)
	}
}
