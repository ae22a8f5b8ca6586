package eject

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/machine"
)

// distrust takes the child cluster away from a reconcile whose record names a Node that is not this machine's. Whoever may write a status
// could otherwise have another's Node removed. What is left of the removal concerns nothing but our own Machine.
func (r *Reconciler) distrust(ctx context.Context, s *scope) error {
	ours, err := r.ours(ctx, s.sm)
	if err != nil {
		return err
	}
	if !ours {
		s.child = nil
		s.childErr = fmt.Errorf("record names Node %q, which is not the one of Machine %s and is not touched", s.removal().NodeName, s.sm.Name)
	}
	return nil
}

// ours says that the record's Node belongs to the machine, as far as can still be told: it has the Machine's name, or the hosts keep theirs;
// and if a Machine claims it, that is ours and the one of the record. Where hosts keep their names, only a hold outlives the Machine that says whose
// a Node is: the order of a kill switch counts for nothing without it.
//
// Our own Machine is read from the API server, the others from the cache: a Machine claims its Node when the host joins, and keeps it. To list a
// whole namespace in each pass is what a hundred removals at once would spend most of their time on.
func (r *Reconciler) ours(ctx context.Context, sm *v1alpha1.ScheduledMachine) (bool, error) {
	removal := removalOf(&sm.Status)
	if removal.NodeName == "" {
		return false, nil
	}
	all, own, err := r.claimants(ctx, sm)
	if err != nil || removal.NodeName != sm.Name && !keepsHostname(sm, own) {
		return false, err
	}
	known := removal.NodeName == sm.Name || removal != sm.Status.Termination
	for i := range all {
		name, mapped := capi.NodeRef(&all[i])
		claims := mapped && name == removal.NodeName || all[i].GetName() == removal.NodeName
		if claims && (!capi.OwnedBy(&all[i], sm) || all[i].GetUID() != removal.MachineUID) {
			return false, nil
		}
		known = known || claims
	}
	return known, nil
}

// claimants are the Machines that could claim a Node of this one's, and among them the one of its name, if there is one.
func (r *Reconciler) claimants(ctx context.Context, sm *v1alpha1.ScheduledMachine) (all []unstructured.Unstructured, own *unstructured.Unstructured, err error) {
	cached, err := machine.List(ctx, r.Client, r.Version, sm.Namespace)
	if err != nil {
		return nil, nil, err
	}
	all = slices.DeleteFunc(cached, func(m unstructured.Unstructured) bool { return m.GetName() == sm.Name })
	own, err = machine.Get(ctx, r.Live, r.Version, client.ObjectKeyFromObject(sm))
	if own != nil {
		all = append(all, *own)
	}
	return all, own, err
}

// keepsHostname goes by the spec once there is no Machine of ours any more that says how it was made.
func keepsHostname(sm *v1alpha1.ScheduledMachine, own *unstructured.Unstructured) bool {
	if own == nil || !capi.OwnedBy(own, sm) {
		return capi.UsesSystemHostname(sm)
	}
	return capi.KeepsHostname(sm, own)
}

// ownMachine is the Machine of the record, if it is there and was made for this ScheduledMachine, or nil.
func (r *Reconciler) ownMachine(ctx context.Context, sm *v1alpha1.ScheduledMachine) (*unstructured.Unstructured, error) {
	found, err := machine.Get(ctx, r.Live, r.Version, client.ObjectKeyFromObject(sm))
	if err != nil || found == nil || found.GetUID() != removalOf(&sm.Status).MachineUID || !capi.OwnedBy(found, sm) {
		return nil, err
	}
	return found, nil
}
