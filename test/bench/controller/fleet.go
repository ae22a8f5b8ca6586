package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	kwait "k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/child"
	"5spot.finos.org/node-reclaim/controller/machine"
	"5spot.finos.org/node-reclaim/test/controlplane"
	"5spot.finos.org/node-reclaim/test/lab"
	"5spot.finos.org/node-reclaim/test/stubk0smotron"
)

const (
	clusters   = 10
	perCluster = 100
	// childName is every child cluster's; their namespaces differ.
	childName = "child"
	// patience is for a busy rehearsal.
	patience = 10 * time.Minute
	// writers is how many requests this program sends at once while it builds.
	writers = 16
)

// fleet is the management cluster with its controller, the child clusters, and the lent machines.
type fleet struct {
	management, child *controlplane.ControlPlane
	admin, childAdmin client.WithWatch
	controller        *controller
	// machines are those of the ten clusters, cluster after cluster.
	machines   []lent
	perCluster int
	stops      []func() error
}

// lent is one machine: ScheduledMachine, Machine and Node have its name.
type lent struct{ cluster, name string }

func newFleet(ctx context.Context, perCluster int) (_ *fleet, err error) {
	f := &fleet{perCluster: perCluster}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.stop())
		}
	}()
	for _, step := range []func(context.Context) error{f.startControlPlanes, f.addNamespace, f.startController, f.addClusters} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func (f *fleet) stop() error {
	var errs []error
	for i := len(f.stops) - 1; i >= 0; i-- {
		errs = append(errs, f.stops[i]())
	}
	return errors.Join(errs...)
}

func (f *fleet) startControlPlanes(context.Context) (err error) {
	f.management, f.admin, err = f.startControlPlane(controlplane.Options{
		CAPI: true, CRDs: []string{stubk0smotron.CRDDirectory(), filepath.Join(controlplane.Root(), "deploy", "crds")},
	})
	if err == nil {
		f.child, f.childAdmin, err = f.startControlPlane(controlplane.Options{})
	}
	return err
}

func (f *fleet) startControlPlane(o controlplane.Options) (*controlplane.ControlPlane, client.WithWatch, error) {
	cp, err := controlplane.Start(o)
	if err != nil {
		return nil, nil, err
	}
	f.stops = append(f.stops, cp.Stop)
	config := rest.CopyConfig(cp.Config)
	config.QPS = -1
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, nil, err
	}
	admin, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	return cp, admin, err
}

// addNamespace makes the controller's own namespace, where its Lease is.
func (f *fleet) addNamespace(ctx context.Context) error {
	return f.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "5spot-system"}})
}

func (f *fleet) startController(ctx context.Context) (err error) {
	if f.controller, err = startController(ctx, f.management.Kubeconfig); err == nil {
		f.stops = append(f.stops, f.controller.stop)
	}
	return err
}

// addClusters makes the ten child clusters with their machines, all in schedule and Ready.
func (f *fleet) addClusters(ctx context.Context) error {
	for i := range clusters {
		cluster := fmt.Sprintf("team-%d", i)
		proxy, err := newProxy(f.child.Config, cluster)
		if err != nil {
			return err
		}
		f.stops = append(f.stops, func() error { proxy.CloseClientConnections(); proxy.Close(); return nil })
		config, err := kubeconfig(proxy)
		if err != nil {
			return err
		}
		if err := f.addCluster(ctx, cluster, config); err != nil {
			return err
		}
		for n := range f.perCluster {
			f.machines = append(f.machines, lent{cluster, fmt.Sprintf("ws-%d-%d", i, n)})
		}
	}
	return f.lend(ctx, f.machines)
}

func (f *fleet) addCluster(ctx context.Context, namespace string, kubeconfig []byte) error {
	if err := f.admin.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	cluster := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"paused": false}}}
	cluster.SetGroupVersionKind(schema.GroupVersionKind{Group: capi.Group, Version: string(capi.V1Beta2), Kind: "Cluster"})
	cluster.SetNamespace(namespace)
	cluster.SetName(childName)
	if err := f.admin.Create(ctx, cluster); err != nil {
		return err
	}
	return f.admin.Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: childName + "-kubeconfig"},
		Type:       child.SecretType,
		Data:       map[string][]byte{child.SecretKey: kubeconfig},
	})
}

// lend makes machines and waits until all are Active.
func (f *fleet) lend(ctx context.Context, machines []lent) error {
	if err := each(ctx, machines, f.lendOne); err != nil {
		return err
	}
	return each(ctx, machines, func(ctx context.Context, l lent) error {
		return f.await(ctx, "phase Active of "+l.name, func(ctx context.Context) (bool, error) {
			sm := &v1alpha1.ScheduledMachine{}
			err := f.admin.Get(ctx, l.key(), sm)
			return sm.Status.Phase == v1alpha1.PhaseActive, err
		})
	})
}

func (f *fleet) lendOne(ctx context.Context, l lent) error {
	sm := lab.ScheduledMachine(l.name, "192.0.2.1", "java")
	sm.Namespace, sm.Spec.ClusterName = l.cluster, childName
	if err := f.admin.Create(ctx, sm); err != nil {
		return err
	}
	if err := f.childAdmin.Create(ctx, readyNode(l)); err != nil {
		return err
	}
	return f.await(ctx, "the Machine of "+l.name, func(ctx context.Context) (bool, error) {
		made, err := machine.Get(ctx, f.admin, capi.V1Beta2, l.key())
		if err != nil || made == nil {
			return false, err
		}
		if err := f.admin.Patch(ctx, made.DeepCopy(), merge(`{"spec":{"bootstrap":{"dataSecretName":"bench"}}}`)); err != nil {
			return false, err
		}
		return true, f.admin.Status().Patch(ctx, made, merge(fmt.Sprintf(
			`{"status":{"nodeRef":{"name":%q},"initialization":{"bootstrapDataSecretCreated":true,"infrastructureProvisioned":true}}}`, l.name)))
	})
}

func (l lent) key() types.NamespacedName {
	return types.NamespacedName{Namespace: l.cluster, Name: l.name}
}

func (f *fleet) await(ctx context.Context, what string, is kwait.ConditionWithContextFunc) error {
	if err := kwait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, is); err != nil {
		return fmt.Errorf("waiting for %s: %w", what, err)
	}
	return nil
}

// each runs one call per machine, several at once.
func each(ctx context.Context, machines []lent, call func(context.Context, lent) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for _, l := range machines {
		group.Go(func() error { return call(ctx, l) })
	}
	return group.Wait()
}

func merge(patch string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(patch)) }
