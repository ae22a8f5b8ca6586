package scheduledmachine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/machine"
)

// leavingRetry is how soon a create is tried again that found the object from before on its way out: those objects are not watched.
const leavingRetry = 5 * time.Second

// settle takes the step that is due.
func (r *Reconciler) settle(ctx context.Context, s *scope) error {
	switch {
	case s.handedOver(), s.machine != nil && s.machine.GetDeletionTimestamp() != nil:
		return r.awaitMachine(ctx, s)
	case s.deleting() && s.machine == nil:
		return r.finalize(ctx, s)
	case s.fault != nil && !s.deleting() && s.enabled():
		return nil // a person has to mend something first; what is there stays
	case s.machine != nil && !s.wanted():
		return r.shutDown(ctx, s)
	case s.machine != nil:
		return r.stay(ctx, s)
	case s.wanted():
		return r.create(ctx, s)
	}
	return nil
}

// handedOver says that package eject is at work on this machine: nothing here may get into its way.
func (s *scope) handedOver() bool {
	return s.ejecting() || s.machine != nil && (s.sm.Spec.KillSwitch || s.sm.Status.Termination.UnderWay())
}

// ejecting says that an emergency removal is under way.
func (s *scope) ejecting() bool {
	return s.sm.Status.Reclaim.Holds() && !s.sm.Status.Reclaim.Complete()
}

// wanted says that the machine belongs into its cluster now.
func (s *scope) wanted() bool { return s.due() && !s.clusterLeaves() }

// due says that the owner wants the machine in its cluster now.
func (s *scope) due() bool {
	return !s.deleting() && s.sm.Status.InSchedule && s.enabled() && !s.sm.Spec.KillSwitch && !s.sm.Status.Reclaim.Holds()
}

func (s *scope) enabled() bool {
	return s.sm.Spec.Schedule.Enabled == nil || *s.sm.Spec.Schedule.Enabled
}

// create makes what is missing of the bootstrap, infrastructure and Machine objects. It may be interrupted anywhere and begins again.
func (r *Reconciler) create(ctx context.Context, s *scope) error {
	if s.cluster == nil {
		return nil // its watch event comes; a Machine without its Cluster could not even be deleted again
	}
	if taken, err := machine.Get(ctx, r.Live, r.Version, key(s.sm)); err != nil || taken != nil {
		return err // the cache will say so, too
	}
	if same, err := r.stillSo(ctx, s); err != nil || !same {
		return err
	}
	return r.createObjects(ctx, s)
}

// stillSo asks the API server whether the ScheduledMachine is what was decided on. If it is not, its watch event is on the way.
func (r *Reconciler) stillSo(ctx context.Context, s *scope) (bool, error) {
	live := &v1alpha1.ScheduledMachine{}
	if err := r.Live.Get(ctx, key(s.sm), live); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return live.UID == s.sm.UID && live.Generation == s.sm.Generation &&
		live.Status.Reclaim.Holds() == s.sm.Status.Reclaim.Holds(), nil
}

func (r *Reconciler) createObjects(ctx context.Context, s *scope) error {
	bootstrap, err := capi.Bootstrap(s.sm)
	if err != nil {
		return &Fault{Reason: v1alpha1.ReasonInvalidSpec, Message: err.Error()}
	}
	infrastructure, err := capi.Infrastructure(s.sm)
	if err != nil {
		return &Fault{Reason: v1alpha1.ReasonInvalidSpec, Message: err.Error()}
	}
	for _, object := range []*unstructured.Unstructured{bootstrap, infrastructure, capi.Machine(s.sm, r.Version)} {
		ready, err := r.ensure(ctx, s, object)
		if err != nil {
			return err
		}
		if !ready {
			s.again(leavingRetry)
			return nil
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
	if meta.IsNoMatchError(err) || isUnserved(err) {
		return false, &Fault{Reason: v1alpha1.ReasonKindNotServed, Message: "the management cluster does not serve " +
			object.GroupVersionKind().String() + "; install its provider or correct apiVersion and kind"}
	}
	if refused(err) {
		return false, &Fault{Reason: v1alpha1.ReasonRefused, Message: err.Error()}
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
	switch owner := metav1.GetControllerOf(there); {
	case there.GetDeletionTimestamp() != nil:
		s.leaving = describeLeaving(there, s.now)
		return false, nil
	case owner == nil && capi.Outdated(there, object), owner != nil && owner.Kind == "Machine" && owner.Name == s.sm.Name:
		return r.replace(ctx, s, there, object) // there is no Machine: a controller of that name is one that is gone, and takes the object along
	}
	return true, nil
}

// isUnserved: the kind was there when the client learned what there is, and is not any more.
func isUnserved(err error) bool {
	status := apierrors.APIStatus(nil)
	return apierrors.IsNotFound(err) && errors.As(err, &status) && (status.Status().Details == nil || status.Status().Details.Kind != "namespaces")
}

// describeLeaving says what a new object waits for, and for long, what a person can do.
func describeLeaving(object *unstructured.Unstructured, now time.Time) string {
	since := object.GetDeletionTimestamp().Time
	text := fmt.Sprintf("%s %s of the Machine before is being deleted since %s", object.GetKind(), object.GetName(), clock(since))
	if finalizers := object.GetFinalizers(); len(finalizers) > 0 {
		text += ", and has the finalizer " + strings.Join(finalizers, ", ")
	}
	if now.Sub(since) > stuckAfter {
		text += fmt.Sprintf(". Look at its conditions and at its provider's log; to give it up as it is: %s",
			dropFinalizers(object.GetNamespace(), strings.ToLower(object.GetKind()), object.GetName()))
	}
	return text
}

// replace makes an object anew that is of no Machine, and of an earlier template or an earlier Machine; nobody works with it. What changed since it was read,
// because a Machine claims it for example, is a conflict.
func (r *Reconciler) replace(ctx context.Context, s *scope, there, object *unstructured.Unstructured) (ready bool, err error) {
	uid, version := there.GetUID(), there.GetResourceVersion()
	ctrl.LoggerFrom(ctx).Info("Making an object anew whose template was changed", "kind", object.GetKind())
	err = r.Client.Delete(ctx, there, client.Preconditions{UID: &uid, ResourceVersion: &version})
	if refused(err) {
		return false, &Fault{Reason: v1alpha1.ReasonRefused, Message: fmt.Sprintf("replacing %s %s: %v", object.GetKind(), object.GetName(), err)}
	}
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("replacing %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return r.ensure(ctx, s, object)
}

// refused says that trying again changes nothing before a person does. Webhooks refuse with any of these.
func refused(err error) bool {
	return apierrors.IsInvalid(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err)
}
