package metrics

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Reconciler counts the results and errors of another, and knows which of its reconciles run.
func (m *Metrics) Reconciler(controller string, inner reconcile.Reconciler) reconcile.Reconciler {
	return reconcile.Func(func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
		defer m.running.begin()()
		result, err := inner.Reconcile(ctx, request)
		m.reconciles.WithLabelValues(controller, resultOf(result, err)).Inc()
		if err != nil {
			m.errors.WithLabelValues(controller, kindOf(err)).Inc()
		}
		return result, err
	})
}

func resultOf(result ctrl.Result, err error) string {
	switch {
	case err != nil:
		return "error"
	case result.RequeueAfter > 0:
		return "requeue"
	}
	return "success"
}

// kindOf sorts errors into the few kinds that tell an operator where to look.
func kindOf(err error) string {
	switch {
	case apierrors.IsConflict(err):
		return "conflict"
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		return "permission"
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		return "invalid"
	case errors.Is(err, context.DeadlineExceeded), apierrors.IsTimeout(err), apierrors.IsServerTimeout(err), utilnet.IsTimeout(err):
		return "timeout"
	case utilnet.IsConnectionRefused(err), utilnet.IsConnectionReset(err), utilnet.IsHTTP2ConnectionLost(err), apierrors.IsServiceUnavailable(err):
		return "unreachable"
	}
	return "other"
}

// Stuck says that a reconcile has been running for longer than limit. All that it waits for has a shorter deadline of its own, so such a one is
// lost, and its machine with it until the process starts anew.
func (m *Metrics) Stuck(limit time.Duration) error {
	if lasted := m.running.longest(); lasted > limit {
		return fmt.Errorf("a reconcile has been running for %s", lasted.Round(time.Second))
	}
	return nil
}

// running knows when each present reconcile began.
type running struct {
	now func() time.Time

	mu    sync.Mutex
	next  int64
	since map[int64]time.Time
}

func (r *running) begin() (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := r.next
	r.next++
	r.since[id] = r.now()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.since, id)
	}
}

func (r *running) longest() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	var longest time.Duration
	for _, since := range r.since {
		longest = max(longest, r.now().Sub(since))
	}
	return longest
}
