package scheduledmachine

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/machine"
)

// finalize lets a ScheduledMachine go whose Machine is gone, after what a creation left that never reached the Machine.
func (r *Reconciler) finalize(ctx context.Context, s *scope) error {
	if left, err := machine.Get(ctx, r.Live, r.Version, key(s.sm)); err != nil || left != nil && capi.OwnedBy(left, s.sm) {
		return err
	}
	if err := r.deleteLeftovers(ctx, s); err != nil {
		return err
	}
	updated := s.sm.DeepCopy()
	if !controllerutil.RemoveFinalizer(updated, v1alpha1.Finalizer) {
		return nil
	}
	s.finished = true
	return client.IgnoreNotFound(r.Client.Patch(ctx, updated, client.MergeFromWithOptions(s.sm, client.MergeFromWithOptimisticLock{})))
}

// deleteLeftovers deletes bootstrap and infrastructure objects of ours that no Machine owns; those of a Machine go with it.
func (r *Reconciler) deleteLeftovers(ctx context.Context, s *scope) error {
	bootstrap, bootstrapErr := capi.Bootstrap(s.sm)
	infrastructure, infrastructureErr := capi.Infrastructure(s.sm)
	if bootstrapErr != nil || infrastructureErr != nil {
		return nil //nolint:nilerr // what cannot be written was never created
	}
	return errors.Join(r.deleteOurs(ctx, s, bootstrap), r.deleteOurs(ctx, s, infrastructure))
}

func (r *Reconciler) deleteOurs(ctx context.Context, s *scope, object *unstructured.Unstructured) error {
	there, err := r.ours(ctx, s, object)
	if err != nil || there == nil || metav1.GetControllerOf(there) != nil {
		return err
	}
	uid, version := there.GetUID(), there.GetResourceVersion()
	return client.IgnoreNotFound(r.Client.Delete(ctx, there, client.Preconditions{UID: &uid, ResourceVersion: &version}))
}
