package manager

import (
	"context"
	"errors"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/machine"
	"5spot.finos.org/node-reclaim/controller/metrics"
)

// stuckAfter is longer than any reconcile takes whose calls all run into their deadlines.
const stuckAfter = 2 * time.Minute

// syncPatience is how long one question for readiness waits for the caches.
const syncPatience = 500 * time.Millisecond

// addHealth: ready is a replica that could take over now, because the management cluster is in its caches; whether it leads does not
// matter, nor do child clusters, which are tenants' affairs. Alive is one in which no reconcile is lost.
func addHealth(mgr ctrl.Manager, version capi.Version, m *metrics.Metrics) error {
	cluster := &unstructured.Unstructured{}
	cluster.SetGroupVersionKind(version.ClusterKind())
	for _, object := range []client.Object{&v1alpha1.ScheduledMachine{}, machine.Empty(version), cluster, &corev1.Secret{}} {
		// Without an informer that was asked for before the start, empty caches would count as synced.
		if _, err := mgr.GetCache().GetInformer(context.Background(), object, cache.BlockUntilSynced(false)); err != nil {
			return err
		}
	}
	return errors.Join(
		mgr.AddReadyzCheck("caches", func(request *http.Request) error {
			ctx, cancel := context.WithTimeout(request.Context(), syncPatience)
			defer cancel()
			if !mgr.GetCache().WaitForCacheSync(ctx) {
				return errors.New("the management cluster is not in the caches yet")
			}
			return nil
		}),
		mgr.AddHealthzCheck("reconciles", func(*http.Request) error { return m.Stuck(stuckAfter) }),
	)
}
