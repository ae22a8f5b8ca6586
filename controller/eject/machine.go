package eject

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/controller/machine"
)

// deleteMachine deletes the Machine once its pods are gone: the DELETE makes k0smotron stop the kubelet, and then nobody kills containers.
func (r *Reconciler) deleteMachine(ctx context.Context, s *scope) (time.Duration, error) {
	record := s.sm.Status.Reclaim
	if record.MachineDeletedAt != nil || record.PodsGoneAt == nil {
		return 0, nil
	}
	own, err := r.ownMachine(ctx, s.sm)
	if err == nil && own {
		err = machine.Delete(ctx, r.Client, r.Version, client.ObjectKeyFromObject(s.sm), record.MachineUID)
	}
	if err != nil {
		return 0, err
	}
	record.MachineDeletedAt = microtime(r.Now())
	return 0, nil
}

// clearRequest takes the request off the Node, last of all on the child cluster, in case the Node is still there.
func (r *Reconciler) clearRequest(ctx context.Context, s *scope) (time.Duration, error) {
	record := s.sm.Status.Reclaim
	if record.AnnotationsClearedAt != nil || record.MachineDeletedAt == nil || s.child == nil {
		return 0, nil
	}
	if err := r.clearAnnotations(ctx, s); err != nil {
		return 0, err
	}
	record.AnnotationsClearedAt = microtime(r.Now())
	return 0, nil
}

func (r *Reconciler) clearAnnotations(ctx context.Context, s *scope) error {
	annotations := fmt.Sprintf(`{%q:null,%q:null,%q:null}`,
		reclaim.AnnotationRequested, reclaim.AnnotationReason, reclaim.AnnotationRequestedAt)
	err := s.patchNode(ctx, annotations, "{}")
	if err != nil && !gone(err) {
		return fmt.Errorf("clearing the request on Node %s: %w", s.sm.Status.Reclaim.NodeName, err)
	}
	return nil
}

// machinePoll is a net behind the watch of Machines.
const machinePoll = 10 * time.Second

// awaitMachine ends the removal when the Machine is gone; its watch wakes us.
func (r *Reconciler) awaitMachine(ctx context.Context, s *scope) (time.Duration, error) {
	record := s.sm.Status.Reclaim
	if record.MachineDeletedAt == nil {
		return 0, nil
	}
	if own, err := r.ownMachine(ctx, s.sm); err != nil || own {
		return machinePoll, err
	}
	record.MachineGoneAt = microtime(r.Now())
	return 0, nil
}
