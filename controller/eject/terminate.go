package eject

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/child"
	"5spot.finos.org/node-reclaim/controller/machine"
)

// terminate removes the Machine of a ScheduledMachine whose kill switch is on, by the steps of a reclaim. The spec is the order, so that nothing
// has to hold the machine out; the record only says which Machine and Node it met, and how far it is. What has begun is ended even when the
// switch is taken back meanwhile: a machine without its Node is no use to anybody.
func (r *Reconciler) terminate(ctx context.Context, s *scope) (ctrl.Result, error) {
	if !s.removal().UnderWay() {
		switch begun, err := r.beginTermination(ctx, s); {
		case err != nil:
			return ctrl.Result{}, client.IgnoreNotFound(err)
		case !begun && s.sm.Status.Reclaim.Complete() && s.sm.Status.Reclaim.Holds():
			return ctrl.Result{}, r.hold(ctx, s)
		case !begun:
			return ctrl.Result{}, r.keepOut(ctx, s)
		}
	}
	if err := r.identify(ctx, s); err != nil {
		s.child, s.childErr = nil, err
	}
	return r.remove(ctx, s, r.awaitPods, r.deleteMachine, r.awaitMachine)
}

// keepOut removes a Node that comes back while the kill switch is on; see absorb. Where hosts keep their own names, nobody can tell without the Machine
// whose such a Node is, and it stays.
func (r *Reconciler) keepOut(ctx context.Context, s *scope) error {
	last := s.sm.Status.Termination
	if last == nil || last.NodeName != s.sm.Name || capi.UsesSystemHostname(s.sm) {
		return nil
	}
	return r.expel(ctx, s, last.NodeName, r.stillKilled)
}

// stillKilled asks the API server, for the same reasons as stillHeld.
func (r *Reconciler) stillKilled(ctx context.Context, sm *v1alpha1.ScheduledMachine) (bool, error) {
	live := &v1alpha1.ScheduledMachine{}
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(sm), live); err != nil {
		return false, ignoreNotFound(err, "reading ScheduledMachine %s", sm.Name)
	}
	claimed, err := machine.Get(ctx, r.Live, r.Version, client.ObjectKeyFromObject(sm))
	return live.Spec.KillSwitch && claimed == nil, err
}

// beginTermination makes the record when there is a Machine to remove. The cache says whether it is worth asking; the API server decides.
func (r *Reconciler) beginTermination(ctx context.Context, s *scope) (begun bool, err error) {
	if own, err := machine.Get(ctx, r.Client, r.Version, client.ObjectKeyFromObject(s.sm)); err != nil || own == nil {
		return false, err
	}
	if err := r.refresh(ctx, s); err != nil || !s.sm.Spec.KillSwitch || removalOf(&s.sm.Status).UnderWay() {
		return false, err // what changed is on its way to us
	}
	own, err := machine.Get(ctx, r.Live, r.Version, client.ObjectKeyFromObject(s.sm))
	if err != nil || own == nil || !capi.OwnedBy(own, s.sm) {
		return false, err
	}
	s.sm.Status.Termination, err = r.termination(ctx, s.sm, own)
	if err != nil {
		return false, err
	}
	s.child, s.childErr = r.Children.Get(child.Key(s.sm)) // what the last record named does not matter any more
	ctrl.LoggerFrom(ctx).Info("The kill switch removes the machine", "node", s.sm.Status.Termination.NodeName)
	return true, nil
}

// termination is the record for a Machine. One without a Node has nothing on the child cluster to remove.
func (r *Reconciler) termination(ctx context.Context, sm *v1alpha1.ScheduledMachine, own *unstructured.Unstructured) (*v1alpha1.Removal, error) {
	node, err := r.nodeName(ctx, sm, own)
	if err != nil {
		return nil, err
	}
	now := microtime(r.Now())
	removal := &v1alpha1.Removal{NodeName: node, MachineUID: own.GetUID(), ObservedAt: *now}
	if node == "" {
		removal.PodsDeletedAt, removal.NodeDeletedAt, removal.PodsGoneAt = now, now, now
	}
	return removal, nil
}

// identify finds out which Node has the name that Cluster API mapped to the Machine, as soon as the child cluster can be asked.
func (r *Reconciler) identify(ctx context.Context, s *scope) error {
	removal := s.removal()
	if s.child == nil || removal.NodeUID != "" || removal.NodeDeletedAt != nil {
		return s.childErr
	}
	node := &corev1.Node{}
	err := s.child.Do(ctx, func(ctx context.Context) error {
		return s.child.Client.Get(ctx, types.NamespacedName{Name: removal.NodeName}, node)
	})
	if apierrors.IsNotFound(err) {
		removal.NodeDeletedAt = microtime(r.Now())
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading Node %s: %w", removal.NodeName, err)
	}
	removal.NodeUID = node.UID
	return nil
}
