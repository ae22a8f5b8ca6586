package main

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/test/lab"
)

// lend makes machines, and waits until all are Active. It watches: asking for each again and again was more work for the API server than making
// them.
func (f *fleet) lend(ctx context.Context, machines []lent) error {
	made, stop, err := follow(ctx, f.admin, machineList())
	if err != nil {
		return err
	}
	defer stop()
	scheduled, stop, err := follow(ctx, f.admin, &v1alpha1.ScheduledMachineList{})
	if err != nil {
		return err
	}
	defer stop()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return each(ctx, machines, f.create) })
	group.Go(func() error { return f.provision(ctx, made, len(machines)) })
	group.Go(func() error { return awaitActive(ctx, scheduled, len(machines)) })
	return group.Wait()
}

func (f *fleet) create(ctx context.Context, l lent) error {
	sm := lab.ScheduledMachine(l.name, "192.0.2.1", "java")
	sm.Namespace, sm.Spec.ClusterName = l.cluster, childName
	if err := f.childAdmin.Create(ctx, readyNode(l)); err != nil {
		return err
	}
	return f.admin.Create(ctx, sm)
}

// provision plays Cluster API for the next n Machines.
func (f *fleet) provision(ctx context.Context, made <-chan sighting, n int) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	seen := 0
	err := until(ctx, made, n, func(e sighting) int {
		if own, is := e.Object.(*unstructured.Unstructured); is && e.Type == watch.Added {
			seen++
			group.Go(func() error { return f.provisionOne(ctx, own) })
		}
		return seen
	})
	return errors.Join(err, group.Wait())
}

func (f *fleet) provisionOne(ctx context.Context, own *unstructured.Unstructured) error {
	if err := f.admin.Patch(ctx, own.DeepCopy(), merge(`{"spec":{"bootstrap":{"dataSecretName":"bench"}}}`)); err != nil {
		return err
	}
	return f.admin.Status().Patch(ctx, own, merge(fmt.Sprintf(
		`{"status":{"nodeRef":{"name":%q},"initialization":{"bootstrapDataSecretCreated":true,"infrastructureProvisioned":true}}}`, own.GetName())))
}

// awaitActive waits until n ScheduledMachines have become Active.
func awaitActive(ctx context.Context, scheduled <-chan sighting, n int) error {
	active := map[types.NamespacedName]bool{}
	return until(ctx, scheduled, n, func(e sighting) int {
		if sm, is := e.Object.(*v1alpha1.ScheduledMachine); is && sm.Status.Phase == v1alpha1.PhaseActive {
			active[client.ObjectKeyFromObject(sm)] = true
		}
		return len(active)
	})
}
