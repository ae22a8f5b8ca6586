package scheduledmachine

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
)

const (
	// stuckAfter is when an infrastructure object that does not go is called stuck: cleaning a host takes its time.
	stuckAfter = 2 * time.Minute
	// stuckRetry is how often a deletion that does not get on is looked at: what it waits for is not watched.
	stuckRetry = 30 * time.Second

	awaitingMachine = "Waiting for the Machine to be gone"
	resume          = "It goes on when neither spec.paused is true nor the annotation cluster.x-k8s.io/paused is there"
)

// awaitMachine says why a Machine that is deleted is still there, and what a person can do. It changes nothing: what holds the deletion up is not ours.
func (r *Reconciler) awaitMachine(ctx context.Context, s *scope) error {
	if s.machine == nil {
		return nil
	}
	deletion, deleted := capi.DeletionOf(s.machine)
	switch {
	case !deleted:
		return nil
	case s.cluster == nil:
		s.stuck(v1alpha1.ReasonClusterGone, "Cluster %s does not exist, and Cluster API removes no Machine without it. When the host is clean: %s",
			s.sm.Spec.ClusterName, s.dropFinalizers("machine", s.sm.Name))
	case capi.Paused(s.cluster):
		s.stuck(v1alpha1.ReasonPaused, "Cluster %s is paused, so Cluster API removes no Machine of it. "+resume, s.sm.Spec.ClusterName)
	case capi.Paused(s.machine):
		s.stuck(v1alpha1.ReasonPaused, "Machine %s is paused, so Cluster API does not remove it. "+resume, s.sm.Name)
	case len(deletion.Hooks) > 0:
		s.stuck(v1alpha1.ReasonDeletionHook, "Machine %s is held by the annotation %s. Whoever set it removes it when their work is done",
			s.sm.Name, strings.Join(deletion.Hooks, ", "))
	default:
		return r.awaitInfrastructure(ctx, s, deletion)
	}
	return nil
}

// awaitInfrastructure looks for the last cause of a deletion that does not end: the provider has not let go of the host.
func (r *Reconciler) awaitInfrastructure(ctx context.Context, s *scope, deletion capi.Deletion) error {
	if s.over(deletion.Since.Add(stuckAfter)) {
		s.again(stuckRetry)
		object, err := r.infrastructure(ctx, s)
		if err != nil {
			return err
		}
		if object != nil && object.GetDeletionTimestamp() != nil && len(object.GetFinalizers()) > 0 {
			s.stuck(v1alpha1.ReasonInfrastructureStuck, "%s %s still has the finalizer %s: %s; to give the host up as it is: %s",
				object.GetKind(), object.GetName(), strings.Join(object.GetFinalizers(), ", "), s.whyStuck(), s.dropFinalizers(strings.ToLower(object.GetKind()), object.GetName()))
			return nil
		}
	}
	text := awaitingMachine
	if deletion.Message != "" {
		text += ": " + reclaim.CleanReason(deletion.Message)
	}
	if !capi.BootstrapDataReady(s.machine) {
		text += fmt.Sprintf(". It was deleted before its bootstrap data existed, so its provider may keep %s %s for ever; from %s on, "+
			"this says how to let it go", s.sm.Spec.InfrastructureSpec.Kind, capi.InfrastructureName(s.machine), clock(deletion.Since.Add(stuckAfter)))
	}
	s.wait(v1alpha1.ReasonMachineDeleting, "%s", text)
	return nil
}

// whyStuck is what is known of why an infrastructure object stays, and what a person can look at. k0smotron waits for bootstrap data before
// anything else, a deletion included.
func (s *scope) whyStuck() string {
	if !capi.BootstrapDataReady(s.machine) {
		return "the Machine was deleted before its bootstrap data existed, and without them its provider does not let go of the host. Nothing else will end that"
	}
	return "its provider has not let go of the host. Look at that object's conditions and at the provider's log"
}

// infrastructure is nil when there is no such object of ours.
func (r *Reconciler) infrastructure(ctx context.Context, s *scope) (*unstructured.Unstructured, error) {
	object, err := s.infrastructure()
	if err != nil {
		return nil, nil //nolint:nilerr // what cannot be written was never created
	}
	return r.ours(ctx, s, object)
}

// ours reads an object from the API server; nil when there is none, or none of ours, nor of our Machine's. A kind that the controller may not read is one that it could
// not create either.
func (r *Reconciler) ours(ctx context.Context, s *scope, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil || !capi.OwnedBy(object, s.sm) && !s.machineOwns(object) {
		return nil, err
	}
	return object, nil
}

// machineOwns says that an object is our Machine's. The version in Rust left no mark of its own on what its Machines refer to.
func (s *scope) machineOwns(object *unstructured.Unstructured) bool {
	return s.machine != nil && metav1.IsControlledBy(object, s.machine)
}

// dropFinalizers is the command that lets an object go as it is.
func (s *scope) dropFinalizers(kind, name string) string {
	return dropFinalizers(s.sm.Namespace, kind, name)
}

func dropFinalizers(namespace, kind, name string) string {
	return fmt.Sprintf(`kubectl -n %s patch %s %s --type=merge -p '{"metadata":{"finalizers":null}}'`, namespace, kind, name)
}
