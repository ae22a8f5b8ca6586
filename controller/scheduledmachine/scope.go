package scheduledmachine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/child"
	"5spot.finos.org/node-reclaim/controller/machine"
	"5spot.finos.org/node-reclaim/controller/metrics"
	"5spot.finos.org/node-reclaim/controller/schedule"
	"5spot.finos.org/node-reclaim/controller/taint"
)

// scope is what one reconcile knows of its ScheduledMachine.
type scope struct {
	// sm is changed on the way and saved once, at the end; before is how it was read.
	sm, before *v1alpha1.ScheduledMachine
	now        time.Time
	// machine is ours, or nil.
	machine *unstructured.Unstructured
	// cluster is Cluster API's, or nil when there is none.
	cluster *unstructured.Unstructured
	// child is nil while the child cluster cannot be reached; childErr then says why.
	child    *child.Connection
	childErr error
	// node is the Machine's, or nil; nodeGone says that its cluster was asked and does not have it.
	node     *corev1.Node
	nodeGone bool
	// taints is what should be done about the Node's; taintErr is why it could not be.
	taints   taint.Plan
	taintErr error
	// broughtOverErr is why what the earlier version in Rust made could not be brought over.
	broughtOverErr error
	// drained is how this Node's drain ended; empty while it has not.
	drained metrics.Drain
	// leaving says which object of an earlier Machine a new one waits for.
	leaving string
	// notice is what a shutdown waits for, if there is one.
	notice *notice
	// wake is when something has to be looked at again that no watch tells of; 0: never.
	wake time.Duration
	// fault is what a person has to mend, or why the reconcile ended early.
	fault error
	// finished: the finalizer is off, nothing is left to write to.
	finished bool
}

// Fault is something that a person has to change. It becomes phase Error and the Ready condition, and is looked at again after a while.
type Fault struct{ Reason, Message string }

func (f *Fault) Error() string { return f.Message }

// retry says that an error is the API's, not a person's, and is best tried again with back-off.
func retry(err error) bool {
	var fault *Fault
	return err != nil && !errors.As(err, &fault)
}

func (r *Reconciler) readSchedule(_ context.Context, s *scope) error {
	status := &s.sm.Status
	parsed, err := schedule.Parse(s.sm.Spec.Schedule)
	r.Metrics.Evaluated(err == nil && parsed.Active(s.now), err)
	if err != nil {
		status.InSchedule, status.NextActivation, status.NextCleanup = false, nil, nil
		return &Fault{Reason: v1alpha1.ReasonInvalidSchedule, Message: err.Error()}
	}
	status.InSchedule = parsed.Active(s.now)
	status.NextActivation = edge(parsed.NextStart(s.now))
	status.NextCleanup = edge(parsed.NextEnd(s.now))
	return nil
}

func edge(t time.Time, ok bool) *metav1.Time {
	if !ok {
		return nil
	}
	m := metav1.NewTime(t)
	return &m
}

// readCluster finds the Cluster that the machine is lent to.
func (r *Reconciler) readCluster(ctx context.Context, s *scope) error {
	cluster := emptyCluster(r.Version)
	name := types.NamespacedName{Namespace: s.sm.Namespace, Name: s.sm.Spec.ClusterName}
	if err := r.Client.Get(ctx, name, cluster); err != nil {
		return ignoreNotFound(err, "reading Cluster "+name.String())
	}
	s.cluster = cluster
	return nil
}

// clusterLeaves says that the Cluster is being deleted: Cluster API then deletes its Machines, and none is made for it any more.
func (s *scope) clusterLeaves() bool {
	return s.cluster != nil && s.cluster.GetDeletionTimestamp() != nil
}

// readMachine finds the Machine of our name. One that somebody else made is never touched.
func (r *Reconciler) readMachine(ctx context.Context, s *scope) error {
	found, err := machine.Get(ctx, r.Client, r.Version, key(s.sm))
	switch {
	case err != nil:
		return err
	case found != nil && capi.OwnedBy(found, s.sm):
		s.machine = found
		return nil
	case s.deleting():
		return nil
	case found != nil:
		return foreign("Machine", s.sm)
	}
	return r.notElsewhere(ctx, s)
}

// bootstrap is the bootstrap object to look for: the one that the Machine refers to, whose name was another's choice if the earlier version in Rust
// made it.
func (s *scope) bootstrap() (*unstructured.Unstructured, error) {
	object, err := capi.Bootstrap(s.sm)
	if err == nil && s.machine != nil {
		referredTo(object, capi.BootstrapName(s.machine), capi.BootstrapKind(s.machine))
	}
	return object, err
}

// infrastructure is the infrastructure object to look for, in the same way.
func (s *scope) infrastructure() (*unstructured.Unstructured, error) {
	object, err := capi.Infrastructure(s.sm)
	if err == nil && s.machine != nil {
		referredTo(object, capi.InfrastructureName(s.machine), capi.InfrastructureKind(s.machine))
	}
	return object, err
}

// referredTo makes an object the one that a Machine refers to. Its kind may have been changed in the spec since; of the version a Machine may say nothing.
func referredTo(object *unstructured.Unstructured, name string, kind schema.GroupKind) {
	object.SetName(cmp.Or(name, object.GetName()))
	if is := object.GroupVersionKind(); kind.Kind != "" && kind != is.GroupKind() {
		object.SetGroupVersionKind(kind.WithVersion(is.Version))
	}
}

func (s *scope) deleting() bool { return s.sm.DeletionTimestamp != nil }

func foreign(kind string, sm *v1alpha1.ScheduledMachine) error {
	return &Fault{Reason: v1alpha1.ReasonNameTaken, Message: fmt.Sprintf(
		"%s %s exists and was not made for this ScheduledMachine; rename the ScheduledMachine or remove that object", kind, key(sm))}
}

// readNode notes which Node the Machine has become, and whether its cluster can be reached.
func (r *Reconciler) readNode(ctx context.Context, s *scope) error {
	s.child, s.childErr = r.Children.Get(child.Key(s.sm))
	s.setReachable(s.childErr)
	name, err := r.nodeName(ctx, s)
	if err != nil {
		return err
	}
	seen := s.sm.Status.NodeRef
	s.sm.Status.NodeRef = nil
	if name == "" {
		return nil
	}
	if s.child == nil {
		if seen != nil && seen.Name == name {
			s.sm.Status.NodeRef = seen
		}
		return nil
	}
	node := &corev1.Node{}
	if err := s.child.Reader.Get(ctx, types.NamespacedName{Name: name}, node); err != nil {
		s.nodeGone = apierrors.IsNotFound(err)
		return ignoreNotFound(err, "reading Node "+name)
	}
	s.node = node
	s.sm.Status.NodeRef = &v1alpha1.NodeReference{Name: name, UID: node.UID}
	s.sm.Status.ProviderID = node.Spec.ProviderID
	return nil
}

func (r *Reconciler) nodeName(ctx context.Context, s *scope) (string, error) {
	if s.machine == nil {
		meta.RemoveStatusCondition(&s.sm.Status.Conditions, v1alpha1.ConditionNodeIdentityMismatch)
		return "", nil
	}
	name, err := machine.NodeName(ctx, r.Client, r.Version, s.sm, s.machine)
	var mismatch *capi.MismatchError
	if errors.As(err, &mismatch) {
		s.set(v1alpha1.ConditionNodeIdentityMismatch, yes(v1alpha1.ReasonNodeNotOurs, mismatch.Fault))
		return "", nil
	}
	meta.RemoveStatusCondition(&s.sm.Status.Conditions, v1alpha1.ConditionNodeIdentityMismatch)
	return name, err
}

func ignoreNotFound(err error, doing string) error {
	if err == nil || apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("%s: %w", doing, err)
}
