package drain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"5spot.finos.org/node-reclaim/api/reclaim"
)

// state is how far a pod is.
type state int

const (
	refused state = iota
	leaving
	gone
)

// Pod is one that has been asked to leave.
type Pod struct {
	Name types.NamespacedName
	// Why is the API's reason for refusing the eviction. Empty when it did not: the pod is leaving.
	Why string

	state state
}

// Left are the pods that a drain still waits for.
type Left []Pod

// answered is a pod after the answer to the request for its eviction.
func answered(name types.NamespacedName, err error) Pod {
	switch {
	case err == nil:
		return Pod{Name: name, state: leaving}
	case apierrors.IsNotFound(err), apierrors.IsConflict(err): // a conflict is another pod of that name: the next pass sees it
		return Pod{Name: name, state: gone}
	}
	return Pod{Name: name, Why: reason(err)}
}

// reason is what a PodDisruptionBudget says, which names it, and otherwise the error as it is. Both are the child cluster's text.
func reason(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) && status.Status().Details != nil {
		for _, cause := range status.Status().Details.Causes {
			if cause.Type == policyv1.DisruptionBudgetCause {
				return reclaim.CleanReason(strings.TrimSuffix(cause.Message, "."))
			}
		}
	}
	return reclaim.CleanReason(err.Error())
}

func (l Left) waitedFor(silent bool) Left {
	return slices.DeleteFunc(l, func(p Pod) bool { return p.state == gone || silent && p.state == leaving })
}

// How soon to look again: at pods that are leaving, and, as kubectl does, at pods whose eviction was refused.
const (
	lookAgain = time.Second
	askAgain  = 5 * time.Second
)

// Again is when the next pass is worth it.
func (l Left) Again() time.Duration {
	if slices.ContainsFunc(l, func(p Pod) bool { return p.state == leaving }) {
		return lookAgain
	}
	return askAgain
}

// named is how many pods a text names.
const named = 10

// String names the pods by the reason why they are still there, refused evictions first. It is the same for the same pods in any order.
func (l Left) String() string {
	sorted := slices.SortedFunc(slices.Values(l), func(a, b Pod) int {
		return cmp.Or(cmp.Compare(a.state, b.state), cmp.Compare(a.Why, b.Why), cmp.Compare(a.Name.String(), b.Name.String()))
	})
	var text strings.Builder
	for i, pod := range sorted[:min(len(sorted), named)] {
		switch {
		case i > 0 && pod.Why == sorted[i-1].Why && pod.state == sorted[i-1].state:
			text.WriteString(", ")
		case i > 0:
			text.WriteString("; " + pod.heading())
		default:
			text.WriteString(pod.heading())
		}
		text.WriteString(pod.Name.String())
	}
	if more := len(sorted) - named; more > 0 {
		fmt.Fprintf(&text, " and %d more", more)
	}
	return text.String()
}

func (p Pod) heading() string {
	if p.state == leaving {
		return "terminating: "
	}
	return p.Why + ": "
}
