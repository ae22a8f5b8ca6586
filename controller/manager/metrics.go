package manager

import (
	"context"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/child"
	"5spot.finos.org/node-reclaim/controller/metrics"
)

// addMetrics registers ours beside controller-runtime's.
func addMetrics(mgr ctrl.Manager, children *child.Cache, o Options) (*metrics.Metrics, error) {
	counted, err := metrics.New(ctrlmetrics.Registry, time.Now)
	if err != nil {
		return nil, err
	}
	return counted, metrics.Census(ctrlmetrics.Registry, metrics.Sources{
		Phases:    func() []v1alpha1.Phase { return phases(mgr.GetClient()) },
		Children:  children.Count,
		Suspended: o.SuspendEject,
		Leader: func() bool {
			select {
			case <-mgr.Elected():
				return true
			default:
				return false
			}
		},
	})
}

// phases reads the cache; before it is filled there are none.
func phases(from client.Reader) []v1alpha1.Phase {
	ctx, cancel := context.WithTimeout(context.Background(), syncPatience)
	defer cancel()
	var all v1alpha1.ScheduledMachineList
	if err := from.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	phases := make([]v1alpha1.Phase, len(all.Items))
	for i := range all.Items {
		phases[i] = all.Items[i].Status.Phase
	}
	return phases
}
