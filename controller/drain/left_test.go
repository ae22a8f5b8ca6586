package drain

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

func pod(name string, s state, why string) Pod {
	return Pod{Name: types.NamespacedName{Namespace: "shop", Name: name}, state: s, Why: why}
}

func TestTextNamesPodsByReason(t *testing.T) {
	for name, tt := range map[string]struct {
		left Left
		want string
	}{
		"none":    {nil, ""},
		"leaving": {Left{pod("b", leaving, ""), pod("a", leaving, "")}, "terminating: shop/a, shop/b"},
		"refused first, by reason": {
			Left{pod("z", leaving, ""), pod("c", refused, "y"), pod("b", refused, "x"), pod("a", refused, "y")},
			"x: shop/b; y: shop/a, shop/c; terminating: shop/z",
		},
		"ten":  {many(10), "x: shop/00, shop/01, shop/02, shop/03, shop/04, shop/05, shop/06, shop/07, shop/08, shop/09"},
		"more": {many(13), "x: shop/00, shop/01, shop/02, shop/03, shop/04, shop/05, shop/06, shop/07, shop/08, shop/09 and 3 more"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, tt.want, tt.left.String())
			rand.Shuffle(len(tt.left), func(i, j int) { tt.left[i], tt.left[j] = tt.left[j], tt.left[i] })
			require.Equal(t, tt.want, tt.left.String(), "in another order")
		})
	}
}

func many(n int) Left {
	var left Left
	for i := range n {
		left = append(left, pod(fmt.Sprintf("%02d", i), refused, "x"))
	}
	return left
}

func TestAnswerToAnEviction(t *testing.T) {
	resource := schema.GroupResource{Resource: "pods"}
	budget := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
	budget.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget web needs 3 healthy pods and has 3 currently",
	}}
	for name, tt := range map[string]struct {
		err   error
		state state
		why   string
	}{
		"accepted":              {nil, leaving, ""},
		"gone":                  {apierrors.NewNotFound(resource, "a"), gone, ""},
		"another of that name":  {apierrors.NewConflict(resource, "a", errors.New("uid")), gone, ""},
		"a budget":              {fmt.Errorf("wrapped: %w", budget), refused, "The disruption budget web needs 3 healthy pods and has 3 currently"},
		"two budgets":           {apierrors.NewInternalError(errors.New("this pod has more than one PodDisruptionBudget")), refused, "Internal error occurred: this pod has more than one PodDisruptionBudget"},
		"not allowed to":        {apierrors.NewForbidden(resource, "a", errors.New("no")), refused, `pods "a" is forbidden: no`},
		"it hangs":              {fmt.Errorf("posting: %w", context.DeadlineExceeded), refused, "no answer in time"},
		"the API server is off": {errors.New("connection refused"), refused, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			got := answered(types.NamespacedName{Namespace: "shop", Name: "a"}, tt.err)
			require.Equal(t, pod("a", tt.state, tt.why), got)
		})
	}
}

func TestWhatIsWaitedFor(t *testing.T) {
	all := func() Left { return Left{pod("a", refused, "x"), pod("b", leaving, ""), pod("c", gone, "")} }
	require.Equal(t, Left{pod("a", refused, "x"), pod("b", leaving, "")}, all().waitedFor(false))
	require.Equal(t, Left{pod("a", refused, "x")}, all().waitedFor(true), "no kubelet ends b")
}

func TestSilentKubelet(t *testing.T) {
	for status, want := range map[corev1.ConditionStatus]bool{corev1.ConditionTrue: false, corev1.ConditionFalse: false, corev1.ConditionUnknown: true} {
		node := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status}}}}
		require.Equal(t, want, silent(node), status)
	}
	require.False(t, silent(&corev1.Node{}), "it has not reported yet")
}

func TestPodWhoseContainersAreDeadIsNotWaitedFor(t *testing.T) {
	now := metav1.Now()
	for grace, want := range map[int64]state{30: leaving, 0: gone} {
		deleted := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now, DeletionGracePeriodSeconds: ptr.To(grace)}}
		require.Equal(t, want, leavingOrDead(deleted))
	}
}

func TestWhenToLookAgain(t *testing.T) {
	require.Equal(t, 5*time.Second, Left{pod("a", refused, "x")}.Again())
	require.Equal(t, time.Second, Left{pod("a", refused, "x"), pod("b", leaving, "")}.Again())
}
