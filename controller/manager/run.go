package manager

import (
	"context"
	"fmt"
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/event"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/child"
	"5spot.finos.org/node-reclaim/controller/eject"
	"5spot.finos.org/node-reclaim/controller/machine"
	"5spot.finos.org/node-reclaim/controller/metrics"
	"5spot.finos.org/node-reclaim/controller/projection"
	"5spot.finos.org/node-reclaim/controller/scheduledmachine"
)

// Run runs the controllers against a management cluster until ctx ends.
func Run(ctx context.Context, cluster *rest.Config, o Options) error {
	if err := o.validate(); err != nil {
		return err
	}
	logger := o.logger()
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	mgr, err := newManager(cluster, o)
	if err != nil {
		return fmt.Errorf("connecting to the management cluster: %w", err)
	}
	children := child.NewCache(mgr.GetClient(), logger)
	defer children.Close()
	counted, err := addMetrics(mgr, children, o)
	if err != nil {
		return err
	}
	if err := addControllers(ctx, mgr, children, counted, o); err != nil {
		return err
	}
	return mgr.Start(ctx)
}

// The Lease is short because a removal waits for the next leader: at worst, after the last renewal, leaseDuration and one retryPeriod, which
// client-go stretches by up to 2.2. An API server that does not answer for renewDeadline costs the leader its place; with it, nobody
// could act.
const (
	leaseDuration = 3 * time.Second
	renewDeadline = 2 * time.Second
	retryPeriod   = 500 * time.Millisecond
)

// stopPatience is how long reconciles may take to end after SIGTERM. The Lease is released after them, so that the next leader never meets
// them.
const stopPatience = 1500 * time.Millisecond

func newManager(cluster *rest.Config, o Options) (ctrl.Manager, error) {
	cluster.QPS = -1 // an emergency is a burst by nature; the API server's own fairness bounds it
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(v1alpha1.AddToScheme(scheme))
	mgr, err := ctrl.NewManager(cluster, ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       metricsserver.Options{BindAddress: o.MetricsAddress},
		HealthProbeBindAddress:        o.HealthAddress,
		LeaderElection:                o.LeaderElect,
		LeaderElectionID:              "5spot-controller",
		LeaderElectionNamespace:       o.Namespace,
		LeaderElectionReleaseOnCancel: true,
		LeaseDuration:                 new(leaseDuration),
		RenewDeadline:                 new(renewDeadline),
		RetryPeriod:                   new(retryPeriod),
		GracefulShutdownTimeout:       new(stopPatience),
		// A replica that stands by has its queues full of what there is to look at.
		Controller: config.Controller{EnableWarmup: new(true)},
		Cache: cache.Options{
			DefaultTransform: cache.TransformStripManagedFields(), // nobody here reads them, and they are half of an object
			ByObject: map[client.Object]cache.ByObject{
				// Of all Secrets only Cluster API's are read.
				&corev1.Secret{}: {Field: fields.OneTermEqualSelector("type", child.SecretType)},
			},
		},
		Client: client.Options{Cache: &client.CacheOptions{Unstructured: true}},
	})
	return mgr, err
}

func addControllers(ctx context.Context, mgr ctrl.Manager, children *child.Cache, counted *metrics.Metrics, o Options) error {
	version, err := machine.Discover(mgr.GetRESTMapper())
	if err != nil {
		return err
	}
	identity, err := projection.Identity(ctx, mgr.GetAPIReader())
	if err != nil {
		return err
	}
	changed, toProject := make(chan event.GenericEvent), make(chan event.GenericEvent)
	instance, _ := os.Hostname() // only a name in events
	ejector := &eject.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Children: children, Version: version,
		Events: mgr.GetEventRecorder("5spot-controller"), Now: time.Now, PodKillWait: o.PodKillWait, Instance: instance,
		Suspended: o.SuspendEject, Metrics: counted,
	}
	ordinary := &scheduledmachine.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Children: children, Version: version,
		Events: mgr.GetEventRecorder("5spot-controller"), Now: time.Now, Metrics: counted,
	}
	projector := &projection.Reconciler{Client: mgr.GetClient(), Children: children, Version: version, Management: identity, Wrap: counted.Reconciler}
	connector := &child.Reconciler{
		Client: mgr.GetClient(), Cache: children, Changed: []chan<- event.GenericEvent{changed, toProject}, Wrap: counted.Reconciler,
		Farewell: func(ctx context.Context, key child.ClusterKey) {
			if acts(mgr) {
				projector.Withdraw(ctx, key)
			}
		},
	}
	for _, setup := range []func() error{
		func() error { return ejector.SetupWithManager(mgr) },
		func() error { return ordinary.SetupWithManager(mgr, changed) },
		func() error { return projector.SetupWithManager(mgr, toProject) },
		func() error { return connector.SetupWithManager(mgr) },
		func() error { return addHealth(mgr, version, counted) },
	} {
		if err := setup(); err != nil {
			return fmt.Errorf("setting up the controllers: %w", err)
		}
	}
	return nil
}

// acts says that this replica does not just stand by.
func acts(mgr ctrl.Manager) bool {
	select {
	case <-mgr.Elected():
		return true
	default:
		return false
	}
}
