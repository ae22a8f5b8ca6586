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
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/child"
	"5spot.finos.org/node-reclaim/test/controlplane"
	"5spot.finos.org/node-reclaim/test/stubk0smotron"
)

const (
	clusters   = 10
	perCluster = 100
	// childName is every child cluster's; their namespaces differ.
	childName = "child"
	// writers is how many requests this program sends at once while it builds.
	writers = 16
)

// fleet is the management cluster with its controller, the child clusters, and the lent machines.
type fleet struct {
	stops
	// lost is told that the controller has ended.
	lost              context.CancelCauseFunc
	management, child *controlplane.ControlPlane
	admin, childAdmin client.WithWatch
	controller        *controller
	// machines are those of the ten clusters, cluster after cluster.
	machines   []lent
	perCluster int
}

// lent is one machine: ScheduledMachine, Machine and Node have its name.
type lent struct{ cluster, name string }

// start makes all of it, which takes most of the time.
func (f *fleet) start(ctx context.Context) error {
	for _, step := range []func(context.Context) error{f.startControlPlanes, f.addClusters, f.startController, f.addMachines} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
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
	f.add(cp.Stop)
	config := rest.CopyConfig(cp.Config)
	config.QPS = -1
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		return nil, nil, err
	}
	admin, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	return cp, admin, err
}

func (f *fleet) startController(ctx context.Context) (err error) {
	if f.controller, err = startController(ctx, f.admin, f.management.Kubeconfig, f.lost); err == nil {
		f.add(f.controller.stop)
	}
	return err
}

// addClusters makes the ten child clusters, before the controller: it must end before their proxies do, which wait for its connections.
func (f *fleet) addClusters(ctx context.Context) error {
	for i := range clusters {
		cluster := fmt.Sprintf("team-%d", i)
		proxy, err := newProxy(f.child.Config, cluster)
		if err != nil {
			return err
		}
		f.add(func() error { proxy.Close(); return nil })
		config, err := kubeconfig(proxy)
		if err != nil {
			return err
		}
		if err := f.addCluster(ctx, cluster, config); err != nil {
			return err
		}
	}
	return nil
}

// addMachines makes those of all clusters, in schedule and Ready.
func (f *fleet) addMachines(ctx context.Context) error {
	for i := range clusters {
		for n := range f.perCluster {
			f.machines = append(f.machines, lent{fmt.Sprintf("team-%d", i), fmt.Sprintf("ws-%d-%d", i, n)})
		}
	}
	began := time.Now()
	err := f.lend(ctx, f.machines)
	fmt.Printf("(%d machines were lent in %s)\n\n", len(f.machines), time.Since(began).Round(time.Second))
	return err
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
