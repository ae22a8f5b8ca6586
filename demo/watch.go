package main

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// look is how often the demo looks; what it measures itself is no more exact than this.
const look = 5 * time.Millisecond

// await looks until it is so, or says what it waited for.
func (d *demo) await(ctx context.Context, within time.Duration, what string, so func(context.Context) (bool, error)) error {
	deadline := time.After(within)
	for {
		if ok, err := so(ctx); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline:
			return fmt.Errorf("no %s within %s; the ScheduledMachine's phase is %s", what, within, d.sm.Status.Phase)
		case <-time.After(look):
		}
	}
}

func (d *demo) refresh(ctx context.Context) error {
	latest := &v1alpha1.ScheduledMachine{}
	if err := d.lab.Admin.Get(ctx, client.ObjectKeyFromObject(d.sm), latest); err != nil {
		return fmt.Errorf("reading the ScheduledMachine: %w", err)
	}
	d.sm = latest
	return nil
}

func (d *demo) isActive(ctx context.Context) (bool, error) {
	if err := d.refresh(ctx); err != nil || d.sm.Status.Phase != v1alpha1.PhaseActive {
		return false, err
	}
	var running corev1.PodList
	err := d.lab.ChildAdmin.List(ctx, &running, client.InNamespace(corev1.NamespaceDefault))
	return len(running.Items) == pods, err
}

func (d *demo) isDisabled(ctx context.Context) (bool, error) {
	err := d.refresh(ctx)
	return d.sm.Status.Phase == v1alpha1.PhaseDisabled, err
}

func (d *demo) nodeGone(ctx context.Context) (bool, error) {
	err := d.lab.ChildAdmin.Get(ctx, types.NamespacedName{Name: workstation}, &corev1.Node{})
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}
