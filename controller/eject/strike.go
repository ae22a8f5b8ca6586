package eject

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/child"
)

// volumeWait is how long the Node's DELETE waits for volumes in use: without the Node, the attach/detach controller takes them as
// mounted for six minutes more.
const volumeWait = 3 * time.Second

// volumePoll is how often the Node is asked meanwhile.
const volumePoll = 200 * time.Millisecond

// strike does what can be done at once: it stores the record and then deletes the Node, while the Node is cordoned and its pods are deleted.
// Of these only the Node's DELETE waits for the record. When the record cannot be stored, the request is still there and brings all of it
// again; when the owner opted out at that moment, the cordon is taken back.
func (r *Reconciler) strike(ctx context.Context, s *scope) (time.Duration, error) {
	removal := s.removal()
	if removal.NodeDeletedAt != nil && removal.PodsDeletedAt != nil {
		return 0, r.save(ctx, s)
	}
	if s.child == nil {
		return 0, errors.Join(r.save(ctx, s), fmt.Errorf("the child cluster is not reachable: %w", s.childErr))
	}
	var wait time.Duration
	var times v1alpha1.Removal
	err := parallel(
		func() error { return r.deletePods(ctx, s, &times) },
		func() (err error) {
			wait, err = r.removeNode(ctx, s, &times)
			return err
		},
	)
	mergeSteps(removal, &times)
	return wait, err
}

// removeNode deletes the Node as soon as the record is stored. A cordon that fails does not stop it.
func (r *Reconciler) removeNode(ctx context.Context, s *scope, times *v1alpha1.Removal) (time.Duration, error) {
	var saved error
	err := parallel(
		func() error { return r.cordon(ctx, s, times) },
		func() error { saved = r.save(ctx, s); return saved },
	)
	if errors.Is(saved, errChanged) {
		return 0, errors.Join(err, notGone(s.unschedulable(ctx, "null")))
	}
	if saved != nil {
		return 0, err
	}
	wait, deleteErr := r.deleteNode(ctx, s, times)
	return wait, errors.Join(err, deleteErr)
}

// parallel runs all, and joins their errors.
func parallel(all ...func() error) error {
	errs := make([]error, len(all))
	var group sync.WaitGroup
	for i, run := range all {
		group.Go(func() { errs[i] = run() })
	}
	group.Wait()
	return errors.Join(errs...)
}

// cordon keeps the scheduler away until the Node is gone.
func (r *Reconciler) cordon(ctx context.Context, s *scope, times *v1alpha1.Removal) error {
	removal := s.removal()
	if removal.CordonedAt != nil || removal.NodeDeletedAt != nil {
		return nil
	}
	err := s.unschedulable(ctx, "true")
	if gone(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("cordoning Node %s: %w", removal.NodeName, err)
	}
	times.CordonedAt = microtime(r.Now())
	return nil
}

// unschedulable sets spec.unschedulable, as JSON, of the Node that is being removed.
func (s *scope) unschedulable(ctx context.Context, value string) error {
	removal := s.removal()
	return s.patchNode(ctx, removal.NodeName, removal.NodeUID, "{}", `{"unschedulable":`+value+`}`)
}

// patchNode merges annotations and spec, as JSON, into the Node of that name and UID. With the UID beside them, another Node of that name is
// left alone.
func (s *scope) patchNode(ctx context.Context, name string, uid types.UID, annotations, spec string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"annotations":%s},"spec":%s}`, uid, annotations, spec)
	node := &corev1.Node{}
	node.Name = name
	return s.child.Do(ctx, func(ctx context.Context) error {
		return s.child.Client.Patch(ctx, node, client.RawPatch(types.StrategicMergePatchType, patch))
	})
}

// deleteNode deletes the Node of the removal, never a later one of its name.
func (r *Reconciler) deleteNode(ctx context.Context, s *scope, times *v1alpha1.Removal) (time.Duration, error) {
	removal := s.removal()
	if removal.NodeDeletedAt != nil {
		return 0, nil
	}
	node := &corev1.Node{}
	if err := s.child.Reader.Get(ctx, types.NamespacedName{Name: removal.NodeName}, node); err == nil &&
		node.UID == removal.NodeUID && len(node.Status.VolumesInUse) > 0 && r.within(removal.ObservedAt, volumeWait) {
		return volumePoll, nil
	}
	err := r.deleteNodeByUID(ctx, s, removal.NodeName, removal.NodeUID)
	if err != nil && !gone(err) {
		return 0, fmt.Errorf("deleting Node %s: %w", removal.NodeName, err)
	}
	times.NodeDeletedAt = microtime(r.Now())
	return 0, nil
}

func (r *Reconciler) deleteNodeByUID(ctx context.Context, s *scope, name string, uid types.UID) error {
	node := &corev1.Node{}
	node.Name = name
	return s.child.Do(ctx, func(ctx context.Context) error {
		return s.child.Client.Delete(ctx, node, client.Preconditions{UID: &uid})
	})
}

// gone says that the object of that UID does not exist: no object of the name, or one with another UID.
func gone(err error) bool { return child.Moved(err) }

// notGone is err, unless that only says that the object is gone.
func notGone(err error) error {
	if gone(err) {
		return nil
	}
	return err
}
