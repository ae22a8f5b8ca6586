package scheduledmachine

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/machine"
)

// bringOver makes the objects that the earlier version in Rust left what ours are. The Machine is the last of them: as long as it is not brought
// over, what was interrupted begins again. Where it cannot be done, the condition NotBroughtOver says why, and nothing else waits for it: a
// machine as it was can leave its cluster, too.
func (r *Reconciler) bringOver(ctx context.Context, s *scope) error {
	if s.machine == nil || !capi.BringOver(s.machine.DeepCopy(), s.sm) {
		return nil
	}
	if s.broughtOverErr = r.bringOverAll(ctx, s); s.broughtOverErr != nil {
		ctrl.LoggerFrom(ctx).Error(s.broughtOverErr, "A Machine of the earlier version in Rust is left as it is for now")
		s.again(faultRetry)
	}
	return nil
}

func (r *Reconciler) bringOverAll(ctx context.Context, s *scope) error {
	for _, find := range []func() (*unstructured.Unstructured, error){s.bootstrap, s.infrastructure} {
		object, err := find()
		if err != nil {
			continue // without its kind it is not to be found; the Machine matters more
		}
		if object, err = r.ours(ctx, s, object); err != nil {
			return fmt.Errorf("bringing over what Machine %s refers to: %w", s.sm.Name, err)
		}
		if object == nil {
			continue
		}
		if err := r.bringOverOne(ctx, s, object); err != nil {
			return err
		}
	}
	ctrl.LoggerFrom(ctx).Info("Bringing over a Machine of the earlier version in Rust")
	ours := s.machine.DeepCopy() // the cache's
	if err := r.bringOverOne(ctx, s, ours); err != nil {
		return err
	}
	s.machine = ours
	return nil
}

// notElsewhere is a fault when the earlier version in Rust made a Machine for this ScheduledMachine under another name. A second one would put one
// host into its cluster twice. It cannot be led as ours are: whose a Node is, and so whose request is heard, goes by the name.
func (r *Reconciler) notElsewhere(ctx context.Context, s *scope) error {
	all, err := machine.List(ctx, r.Client, r.Version, s.sm.Namespace)
	if err != nil {
		return err
	}
	for i := range all {
		if name := all[i].GetName(); name != s.sm.Name && capi.FromRust(&all[i], s.sm) {
			return &Fault{Reason: v1alpha1.ReasonOtherName, Message: fmt.Sprintf("Machine %s was made for this ScheduledMachine by the version in Rust, under another name. "+
				"It is left alone, and its owner cannot take it back, until it is replaced: kubectl -n %s delete machine %s", name, s.sm.Namespace, name)}
		}
	}
	return nil
}

func (r *Reconciler) bringOverOne(ctx context.Context, s *scope, object *unstructured.Unstructured) error {
	before := object.DeepCopy()
	if !capi.BringOver(object, s.sm) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := client.IgnoreNotFound(r.Client.Patch(ctx, object, patch)); err != nil {
		return fmt.Errorf("bringing over %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// setNotBroughtOver is not set by a conflict: that ends by itself.
func (s *scope) setNotBroughtOver() {
	failed := s.broughtOverErr != nil && !apierrors.IsConflict(s.broughtOverErr)
	var message string
	if failed {
		message = s.broughtOverErr.Error() + ". Until it is, Cluster API may drain the Machine on its own account, and `kubectl delete cluster` waits for it"
	}
	s.setWhileTrue(v1alpha1.ConditionNotBroughtOver, failed, v1alpha1.ReasonRefused, message)
}
