package eject

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/machine"
)

// watch looks for a request on the machine's Node, and begins the removal when there is one.
func (r *Reconciler) watch(ctx context.Context, s *scope) (ctrl.Result, error) {
	if s.child == nil {
		return ctrl.Result{}, nil // told again when it is connected
	}
	found, err := r.find(ctx, s.sm, r.Client, s.child.Reader)
	switch {
	case err != nil:
		return ctrl.Result{}, err
	case !found.asked:
		return ctrl.Result{}, r.forgetRefusal(ctx, s)
	case len(s.sm.Spec.KillIfCommands) == 0:
		return ctrl.Result{}, r.ignore(ctx, s, found)
	}
	return r.begin(ctx, s)
}

// begin looks again at the API servers: a cache that lags must not remove a new Machine or Node on an old request, nor begin a removal twice.
func (r *Reconciler) begin(ctx context.Context, s *scope) (ctrl.Result, error) {
	if err := r.refresh(ctx, s); err != nil || s.sm.Status.Reclaim.Holds() || len(s.sm.Spec.KillIfCommands) == 0 {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	var found finding
	err := s.child.Do(ctx, func(ctx context.Context) (err error) {
		found, err = r.find(ctx, s.sm, r.Live, s.child.Client)
		return err
	})
	switch {
	case err != nil || !found.asked:
		return ctrl.Result{}, err
	case answered(s.sm.Status.Reclaim, found) || s.refused(ReasonReclaimIgnored):
		return ctrl.Result{}, s.clearAnnotations(ctx, found.node.Name, found.node.UID)
	case r.Suspended:
		return ctrl.Result{}, r.postpone(ctx, s, found)
	}
	s.sm.Status.Reclaim = record(s.sm, found)
	ctrl.LoggerFrom(ctx).Info("Emergency removal begins",
		"node", found.node.Name, "reason", found.request.Reason, "reclaim", s.sm.Status.Reclaim.ID)
	return r.reclaim(ctx, s)
}

// finding is a machine, its Node, and whether that Node asks to leave.
type finding struct {
	machine  *unstructured.Unstructured
	node     *corev1.Node
	request  reclaim.Request
	observed metav1.MicroTime
	asked    bool
}

// find looks for the request of a ScheduledMachine's own Node. A Machine that is not ours, is not mapped to a Node yet, or is mapped to a Node
// that may be somebody else's has none.
func (r *Reconciler) find(ctx context.Context, sm *v1alpha1.ScheduledMachine, management, nodes client.Reader) (finding, error) {
	found, err := machine.Get(ctx, management, r.Version, client.ObjectKeyFromObject(sm))
	if err != nil || found == nil || !capi.OwnedBy(found, sm) {
		return finding{}, err
	}
	name, err := r.nodeName(ctx, sm, found)
	if err != nil || name == "" {
		return finding{}, err
	}
	f := finding{machine: found, node: &corev1.Node{}}
	if err := nodes.Get(ctx, types.NamespacedName{Name: name}, f.node); err != nil {
		return finding{}, ignoreNotFound(err, "reading Node %s", name)
	}
	f.observed = *microtime(r.Now())
	f.request, f.asked = reclaim.RequestFrom(f.node.Annotations, f.observed.Time)
	return f, nil
}

// nodeName is machine.NodeName, with other Machines from the cache; empty on a mismatch, which the ordinary reconciler reports.
func (r *Reconciler) nodeName(ctx context.Context, sm *v1alpha1.ScheduledMachine, own *unstructured.Unstructured) (string, error) {
	name, err := machine.NodeName(ctx, r.Client, r.Version, sm, own)
	var mismatch *capi.MismatchError
	if errors.As(err, &mismatch) {
		return "", nil
	}
	return name, err
}

// answered says that a request is the one of a removal that is over and released: its Node was out of reach then, and is there again with the
// annotations from before. A request without a usable time on that same Node counts as it, too.
func answered(last *v1alpha1.ReclaimStatus, f finding) bool {
	if last == nil || last.ReleasedAt == nil || last.NodeUID != f.node.UID {
		return false
	}
	return f.request.At.Before(last.ReleasedAt.Time) || f.request.At.Equal(f.observed.Time)
}

// record is the durable form of a request. Its id depends only on what is removed, so that a record that was lost comes back the same.
func record(sm *v1alpha1.ScheduledMachine, f finding) *v1alpha1.ReclaimStatus {
	sum := sha256.Sum256([]byte(string(sm.UID) + "/" + string(f.machine.GetUID()) + "/" + string(f.node.UID)))
	return &v1alpha1.ReclaimStatus{
		ID:          hex.EncodeToString(sum[:])[:10],
		Removal:     v1alpha1.Removal{NodeName: f.node.Name, NodeUID: f.node.UID, MachineUID: f.machine.GetUID(), ObservedAt: f.observed},
		Reason:      f.request.Reason,
		RequestedAt: *microtime(f.request.At),
	}
}

func ignoreNotFound(err error, format string, args ...any) error {
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf(format+": %w", append(args, err)...)
}
