// Package taint decides which taints a Node should have. It is pure: the Node's taints, the wanted ones and those that are the controller's go
// in, and what to write comes out.
//
// A taint is known by its key and effect, as in Kubernetes; the value belongs to it. The controller's own are those that
// status.appliedNodeTaints names, and no other: a Node does not say who put a taint there. So a taint is claimed, in status, before it is
// written, and only where the Node has none of its key and effect:
//
//	                     the Node has     and it is not ours           and it is ours
//	wanted               nothing          claimed, then added          added again: somebody removed it
//	wanted               the same         left; it stays not ours      nothing to do
//	wanted               another value    left, and reported           set again: somebody changed it
//	not wanted any more  something        left                         removed, then no longer claimed
//
// A crash between the claim and the write is repaired by the second column; one between a removal and the end of the claim leaves a claim
// to nothing, which the next look drops. Neither leaves a taint behind, nor makes an admin's taint ours.
package taint

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// Plan is what follows from a Node's taints, the wanted ones and the claimed ones.
type Plan struct {
	// Taints are what the Node should have, in a stable order: first what is there, then what is added.
	Taints []corev1.Taint
	// Change says that the Node does not have them yet.
	Change bool
	// Claims are the controller's once the Node has Taints.
	Claims []v1alpha1.NodeTaint
	// Unclaimed are those of Claims that status does not name yet. As long as there are any, the Node must not be written.
	Unclaimed []v1alpha1.NodeTaint
	// Conflicts are wanted taints that somebody else has set to another value.
	Conflicts []Conflict
}

// Conflict is a taint of somebody else's where another value is wanted.
type Conflict struct {
	Wanted v1alpha1.NodeTaint
	// There is the value that the Node has.
	There string
}

func (c Conflict) String() string {
	return fmt.Sprintf("%s:%s is %q on the Node and %q in spec.nodeTaints", c.Wanted.Key, c.Wanted.Effect, c.There, c.Wanted.Value)
}

// Describe names conflicts in one line.
func Describe(conflicts []Conflict) string {
	texts := make([]string, len(conflicts))
	for i, c := range conflicts {
		texts[i] = c.String()
	}
	return strings.Join(texts, "; ")
}

// Decide makes the plan. None of the arguments is changed.
func Decide(current []corev1.Taint, wanted, claimed []v1alpha1.NodeTaint) Plan {
	p := Plan{Taints: slices.Clone(current)}
	for _, own := range claimed {
		if find(wanted, slotOf(own)) < 0 {
			p.remove(slotOf(own))
		}
	}
	for _, want := range wanted {
		p.keep(want, find(claimed, slotOf(want)) >= 0)
	}
	return p
}

// keep puts one wanted taint into the plan.
func (p *Plan) keep(want v1alpha1.NodeTaint, ours bool) {
	at := slices.IndexFunc(p.Taints, func(t corev1.Taint) bool { return slot{t.Key, t.Effect} == slotOf(want) })
	switch {
	case at < 0:
		p.Taints = append(p.Taints, corev1.Taint{Key: want.Key, Value: want.Value, Effect: want.Effect})
		p.Change = true
		if !ours {
			p.Unclaimed = append(p.Unclaimed, want)
		}
	case ours && p.Taints[at].Value != want.Value:
		p.Taints[at].Value = want.Value
		p.Change = true
	case !ours && p.Taints[at].Value != want.Value:
		p.Conflicts = append(p.Conflicts, Conflict{Wanted: want, There: p.Taints[at].Value})
		return
	case !ours:
		return
	}
	p.Claims = append(p.Claims, want)
}

func (p *Plan) remove(s slot) {
	before := len(p.Taints)
	p.Taints = slices.DeleteFunc(p.Taints, func(t corev1.Taint) bool { return slot{t.Key, t.Effect} == s })
	p.Change = p.Change || len(p.Taints) != before
}

// slot is what there can be one taint of on a Node.
type slot struct {
	key    string
	effect corev1.TaintEffect
}

func slotOf(t v1alpha1.NodeTaint) slot { return slot{t.Key, t.Effect} }

func find(taints []v1alpha1.NodeTaint, s slot) int {
	return slices.IndexFunc(taints, func(t v1alpha1.NodeTaint) bool { return slotOf(t) == s })
}
