package scheduledmachine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/child"
	"5spot.finos.org/node-reclaim/controller/taint"
)

// keepTaints keeps spec.nodeTaints on the Node while it is Ready and wanted. What it would add it claims in status first; that write's
// watch event brings the reconcile that adds it. An error is told by the condition NodeTainted and keeps nothing else from being done.
func (r *Reconciler) keepTaints(ctx context.Context, s *scope) error {
	status := &s.sm.Status
	if s.machine == nil || s.nodeGone || s.nodeReplaced() {
		status.AppliedNodeTaints = nil // they went with the Node
	}
	if s.node == nil {
		return nil
	}
	s.taints = taint.Decide(s.node.Spec.Taints, s.sm.Spec.NodeTaints, status.AppliedNodeTaints)
	switch {
	case !s.wanted() || s.machine.GetDeletionTimestamp() != nil || !nodeReady(s.node):
	case len(s.taints.Unclaimed) > 0:
		status.AppliedNodeTaints = append(slices.Clone(status.AppliedNodeTaints), s.taints.Unclaimed...)
	case s.taints.Change:
		s.taintErr = r.writeTaints(ctx, s)
	default:
		status.AppliedNodeTaints = s.taints.Claims
	}
	return nil
}

// nodeReplaced says that the Node is another one than before, of the same name.
func (s *scope) nodeReplaced() bool {
	was, is := s.before.Status.NodeRef, s.sm.Status.NodeRef
	return was != nil && is != nil && was.UID != "" && was.UID != is.UID
}

// writeTaints brings the Node's taints to what they should be, decided again on what the API servers say at this moment: on a claim that is no
// longer stored, a taint would be put there that nobody removes.
func (r *Reconciler) writeTaints(ctx context.Context, s *scope) error {
	live := &v1alpha1.ScheduledMachine{}
	if err := r.Live.Get(ctx, key(s.sm), live); err != nil || live.ResourceVersion != s.before.ResourceVersion {
		return client.IgnoreNotFound(err) // its watch event is on the way
	}
	connection, err := r.Children.Get(child.Key(s.sm))
	if err != nil {
		return nil //nolint:nilerr // told again when it is connected
	}
	err = connection.Do(ctx, func(ctx context.Context) error { return s.writeTaints(ctx, connection.Client) })
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("putting taints on Node %s: %w", s.node.Name, err)
	}
	return nil
}

func (s *scope) writeTaints(ctx context.Context, c client.Client) error {
	node := &corev1.Node{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(s.node), node); err != nil {
		return err
	}
	plan := taint.Decide(node.Spec.Taints, s.sm.Spec.NodeTaints, s.sm.Status.AppliedNodeTaints)
	if node.UID != s.node.UID || len(plan.Unclaimed) > 0 {
		return nil // its watch event is on the way
	}
	if plan.Change {
		patch, err := taintPatch(node, plan.Taints)
		if err != nil {
			return err
		}
		if err := c.Patch(ctx, node, client.RawPatch(types.MergePatchType, patch)); err != nil {
			return err
		}
	}
	s.taints = taint.Plan{Taints: plan.Taints, Claims: plan.Claims, Conflicts: plan.Conflicts}
	s.sm.Status.AppliedNodeTaints = plan.Claims
	return nil
}

// taintPatch replaces the list of taints of that very Node as it was read: with any other list between, of the node lifecycle controller
// for example, it is a conflict.
func taintPatch(node *corev1.Node, taints []corev1.Taint) ([]byte, error) {
	return json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": node.UID, "resourceVersion": node.ResourceVersion},
		"spec":     map[string]any{"taints": taints},
	})
}
