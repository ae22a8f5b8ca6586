package scheduledmachine

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/machine"
)

// settle takes the step that is due.
func (r *Reconciler) settle(ctx context.Context, s *scope) error {
	switch {
	case s.ejecting():
		return nil // package eject is at work on this machine
	case s.deleting():
		return r.finalize(ctx, s)
	case s.wanted():
		return r.create(ctx, s)
	case s.machine != nil:
		return r.shutDown(ctx, s)
	}
	return nil
}

// ejecting says that an emergency removal is under way.
func (s *scope) ejecting() bool {
	return s.sm.Status.Reclaim.Holds() && !s.sm.Status.Reclaim.Complete()
}

// wanted says that the machine belongs into its cluster now.
func (s *scope) wanted() bool {
	return s.sm.Status.InSchedule && s.enabled() && !s.sm.Spec.KillSwitch && !s.sm.Status.Reclaim.Holds()
}

func (s *scope) enabled() bool {
	return s.sm.Spec.Schedule.Enabled == nil || *s.sm.Spec.Schedule.Enabled
}

// create makes what is missing of the bootstrap, infrastructure and Machine objects. It may be interrupted anywhere and begins again.
func (r *Reconciler) create(ctx context.Context, s *scope) error {
	if s.machine != nil {
		return nil // there, or on its way out: the next one is made when it is gone
	}
	if taken, err := machine.Get(ctx, r.Live, r.Version, key(s.sm)); err != nil || taken != nil {
		return err // the cache will say so, too
	}
	live := &v1alpha1.ScheduledMachine{}
	if err := r.Live.Get(ctx, key(s.sm), live); err != nil {
		return err
	}
	if live.UID != s.sm.UID || live.Generation != s.sm.Generation || live.Status.Reclaim.Holds() {
		return nil // decided on what is no longer so; its watch event is on the way
	}
	return r.createObjects(ctx, s)
}

func (r *Reconciler) createObjects(ctx context.Context, s *scope) error {
	bootstrap, err := capi.Bootstrap(s.sm)
	if err != nil {
		return &Fault{Reason: "InvalidSpec", Message: err.Error()}
	}
	infrastructure, err := capi.Infrastructure(s.sm)
	if err != nil {
		return &Fault{Reason: "InvalidSpec", Message: err.Error()}
	}
	for _, object := range []*unstructured.Unstructured{bootstrap, infrastructure, capi.Machine(s.sm, r.Version)} {
		if ready, err := r.ensure(ctx, s, object); err != nil || !ready {
			return err
		}
	}
	now := metav1.NewTime(s.now)
	s.sm.Status.LastScheduledTime = &now
	ctrl.LoggerFrom(ctx).Info("Machine created")
	return nil
}

// ensure creates an object unless one of ours is there. It is not ready while an old one of its name is still being deleted.
func (r *Reconciler) ensure(ctx context.Context, s *scope, object *unstructured.Unstructured) (ready bool, err error) {
	err = r.Client.Create(ctx, object.DeepCopy())
	if err == nil {
		return true, nil
	}
	if meta.IsNoMatchError(err) {
		return false, &Fault{Reason: "KindNotServed", Message: "the management cluster does not serve " +
			object.GroupVersionKind().String() + "; install its provider or correct apiVersion and kind"}
	}
	if apierrors.IsInvalid(err) || apierrors.IsForbidden(err) {
		return false, &Fault{Reason: "Refused", Message: err.Error()}
	}
	if !apierrors.IsAlreadyExists(err) {
		return false, err
	}
	there := object.DeepCopy()
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(object), there); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	if !capi.OwnedBy(there, s.sm) {
		return false, foreign(object.GetKind(), s.sm)
	}
	return there.GetDeletionTimestamp() == nil, nil
}

// shutDown removes the machine at the end of its schedule. Cluster API drains it, within nodeDrainTimeout; under the kill switch nobody
// does.
func (r *Reconciler) shutDown(ctx context.Context, s *scope) error {
	if s.machine.GetDeletionTimestamp() != nil {
		return r.cutShort(ctx, s)
	}
	if !s.sm.Spec.KillSwitch {
		patch, err := capi.DrainPatch(s.sm, r.Version)
		if err != nil {
			return &Fault{Reason: "InvalidSpec", Message: err.Error()}
		}
		if err := r.Client.Patch(ctx, s.machine.DeepCopy(), client.RawPatch(types.MergePatchType, patch)); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	return machine.Delete(ctx, r.Client, r.Version, key(s.sm), s.machine.GetUID())
}

// cutShort ends the drain of a Machine that is being deleted when the kill switch comes on meanwhile. Cluster API looks again within 20 s.
func (r *Reconciler) cutShort(ctx context.Context, s *scope) error {
	if _, excluded := s.machine.GetAnnotations()[capi.ExcludeDrainAnnotation]; excluded || !s.sm.Spec.KillSwitch {
		return nil
	}
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:"true"}}}`, capi.ExcludeDrainAnnotation)
	return client.IgnoreNotFound(r.Client.Patch(ctx, s.machine.DeepCopy(), client.RawPatch(types.MergePatchType, patch)))
}

// finalize removes the Machine, then what a creation that never reached the Machine left, and then lets the ScheduledMachine go.
func (r *Reconciler) finalize(ctx context.Context, s *scope) error {
	if s.machine != nil {
		return r.shutDown(ctx, s)
	}
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
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil || !capi.OwnedBy(object, s.sm) {
		return err
	}
	uid := object.GetUID()
	return client.IgnoreNotFound(r.Client.Delete(ctx, object, client.Preconditions{UID: &uid}))
}
