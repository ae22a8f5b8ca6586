package eject

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/machine"
)

// deleteMachine deletes the Machine once its pods are gone: the DELETE makes k0smotron stop the kubelet, and then nobody kills containers.
func (r *Reconciler) deleteMachine(ctx context.Context, s *scope) (time.Duration, error) {
	removal := s.removal()
	if removal.MachineDeletedAt != nil || removal.PodsGoneAt == nil {
		return 0, nil
	}
	own, err := r.ownMachine(ctx, s.sm)
	if err != nil {
		return 0, err
	}
	var unsaid error
	if own != nil {
		if err := machine.Delete(ctx, r.Client, r.Version, client.ObjectKeyFromObject(s.sm), removal.MachineUID); err != nil {
			return 0, err
		}
		unsaid = r.recordEarly(ctx, s.sm, own)
	}
	removal.MachineDeletedAt = microtime(r.Now())
	return 0, unsaid
}

// recordEarly says that a Machine was deleted before its bootstrap data existed: a kill switch is carried out at once all the same, but what it may
// leave behind is not left in silence.
func (r *Reconciler) recordEarly(ctx context.Context, sm *v1alpha1.ScheduledMachine, own *unstructured.Unstructured) error {
	if capi.BootstrapDataReady(own) {
		return nil
	}
	note := fmt.Sprintf("Machine %s was deleted before its bootstrap data existed, and its provider may keep %s %s for ever for that reason. "+
		"Should it, the condition %s says how to let it go", sm.Name, sm.Spec.InfrastructureSpec.Kind, sm.Name, v1alpha1.ConditionShuttingDown)
	return r.warn(ctx, sm, string(own.GetUID())+".early", v1alpha1.ReasonDeletedBeforeBootstrap, note)
}

// clearRequest takes the request off the Node, last of all on the child cluster, in case the Node is still there.
func (r *Reconciler) clearRequest(ctx context.Context, s *scope) (time.Duration, error) {
	record := s.sm.Status.Reclaim
	if record.AnnotationsClearedAt != nil || record.MachineDeletedAt == nil || s.child == nil {
		return 0, nil
	}
	if err := s.clearAnnotations(ctx, record.NodeName, record.NodeUID); err != nil {
		return 0, err
	}
	record.AnnotationsClearedAt = microtime(r.Now())
	return 0, nil
}

func (s *scope) clearAnnotations(ctx context.Context, node string, uid types.UID) error {
	annotations := fmt.Sprintf(`{%q:null,%q:null,%q:null}`,
		reclaim.AnnotationRequested, reclaim.AnnotationReason, reclaim.AnnotationRequestedAt)
	err := s.patchNode(ctx, node, uid, annotations, "{}")
	if err != nil && !gone(err) {
		return fmt.Errorf("clearing the request on Node %s: %w", node, err)
	}
	return nil
}

// machinePoll is a net behind the watch of Machines.
const machinePoll = 10 * time.Second

// awaitMachine ends the removal when the Machine is gone; its watch wakes us.
func (r *Reconciler) awaitMachine(ctx context.Context, s *scope) (time.Duration, error) {
	removal := s.removal()
	if removal.MachineDeletedAt == nil {
		return 0, nil
	}
	if own, err := r.ownMachine(ctx, s.sm); err != nil || own != nil {
		return machinePoll, err
	}
	removal.MachineGoneAt = microtime(r.Now())
	return 0, nil
}
