// Package lab puts together what the product works on, for integration tests and the demo: a management and a child control plane, Cluster API's
// core manager, the stand-in for k0smotron, and the kubeconfig Secret between them. The controller itself is started by whoever uses the lab.
package lab

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/test/controlplane"
	"5spot.finos.org/node-reclaim/test/stubk0smotron"
)

// Namespace and Cluster are where the lab's ScheduledMachines live, and the child cluster that they join.
const (
	Namespace = "team-a"
	Cluster   = "team-a-child"
)

// ControllerUser is whom the manifests of the controller make it. Every request of that user is in the management cluster's audit log.
const ControllerUser = "system:serviceaccount:5spot-system:5spot-controller"

// Lab is running.
type Lab struct {
	Management, Child *controlplane.ControlPlane
	// Admin and ChildAdmin may do everything in the one and in the other.
	Admin, ChildAdmin client.Client
	// Hosts are the workstations.
	Hosts *stubk0smotron.Hosts

	workloads bool
	stops     []func() error
}

// Start brings everything up; progress is told what comes next. A context that ends stops it between two steps.
func Start(ctx context.Context, hosts stubk0smotron.Options, progress func(string)) (*Lab, error) {
	return (&Lab{}).start(ctx, hosts, progress)
}

// StartForKubelets is Start with a child on which real kubelets find work: DaemonSets get pods, and those run as their ServiceAccount. It
// needs what `build.sh node` builds.
func StartForKubelets(ctx context.Context, hosts stubk0smotron.Options, progress func(string)) (*Lab, error) {
	return (&Lab{workloads: true}).start(ctx, hosts, progress)
}

func (l *Lab) start(ctx context.Context, hosts stubk0smotron.Options, progress func(string)) (_ *Lab, err error) {
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Stop())
		}
	}()
	for _, step := range []struct {
		name string
		run  func() error
	}{
		{"management control plane: etcd, kube-apiserver, CRDs of Cluster API, of the stand-in for k0smotron, and ours", l.startManagement},
		{"child control plane: etcd, kube-apiserver with Node authorizer and NodeRestriction", l.startChild},
		{"Cluster API core manager", l.startCAPI},
		{"stand-in for k0smotron, and the child's kubeconfig Secret", func() error { return l.startHosts(hosts) }},
	} {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		progress(step.name)
		if err := step.run(); err != nil {
			return nil, fmt.Errorf("starting %s: %w", step.name, err)
		}
	}
	return l, nil
}

// Stop ends everything, last first.
func (l *Lab) Stop() error {
	var errs []error
	for i := len(l.stops) - 1; i >= 0; i-- {
		errs = append(errs, l.stops[i]())
	}
	l.stops = nil
	return errors.Join(errs...)
}

func (l *Lab) startManagement() (err error) {
	l.Management, err = controlplane.Start(controlplane.Options{
		CAPI:       true,
		AuditUsers: []string{ControllerUser},
		CRDs:       []string{stubk0smotron.CRDDirectory(), filepath.Join(controlplane.Root(), "deploy", "crds")},
	})
	if err != nil {
		return err
	}
	l.stops = append(l.stops, l.Management.Stop)
	l.Admin, err = client.New(l.Management.Config, client.Options{Scheme: scheme()})
	return err
}

func (l *Lab) startChild() (err error) {
	if l.Child, err = controlplane.Start(controlplane.Options{Workloads: l.workloads}); err != nil {
		return err
	}
	l.stops = append(l.stops, l.Child.Stop)
	if l.workloads {
		stop, err := l.Child.StartWorkloads()
		if err != nil {
			return err
		}
		l.stops = append(l.stops, stop)
	}
	l.ChildAdmin, err = client.New(l.Child.Config, client.Options{Scheme: scheme()})
	return err
}

func (l *Lab) startCAPI() error {
	capi, err := l.Management.StartCAPI()
	if err != nil {
		return err
	}
	l.stops = append(l.stops, capi.Stop)
	return nil
}

func (l *Lab) startHosts(options stubk0smotron.Options) error {
	mgr, err := ctrl.NewManager(l.Management.Config, ctrl.Options{Metrics: server.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}
	if l.Hosts, err = stubk0smotron.SetupWithManager(mgr, options); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	l.stops = append(l.stops, func() error { cancel(); return <-ended })
	namespace := &unstructured.Unstructured{}
	namespace.SetAPIVersion("v1")
	namespace.SetKind("Namespace")
	namespace.SetName(Namespace)
	if err := l.Admin.Create(ctx, namespace); err != nil {
		return err
	}
	return stubk0smotron.CreateCluster(ctx, l.Admin, types.NamespacedName{Namespace: Namespace, Name: Cluster}, l.Child.Kubeconfig)
}

func scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(s); err != nil {
			panic(err) // two types of one name: a fault of the program
		}
	}
	return s
}
