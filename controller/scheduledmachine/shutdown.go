package scheduledmachine

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/child"
	"5spot.finos.org/node-reclaim/controller/drain"
	"5spot.finos.org/node-reclaim/controller/events"
	"5spot.finos.org/node-reclaim/controller/machine"
	"5spot.finos.org/node-reclaim/controller/metrics"
)

const (
	// bootstrapLimit is how long a Machine that has to go is left without bootstrap data: a provider that never writes any must not keep the
	// machine for ever.
	bootstrapLimit = 10 * time.Minute
	// unreachableLimit bounds a drain without nodeDrainTimeout while the child cluster cannot be reached, for it may be gone for good.
	unreachableLimit = 10 * time.Minute
	// drainRetry is when a drain is tried again that the child's API server answered with an error.
	drainRetry = 5 * time.Second
)

// step is one part of a shutdown. It is over, or it has told the scope what it waits for.
type step func(context.Context, *scope) (over bool, err error)

// shutDown takes a machine out of its cluster with grace, as far as is possible now.
func (r *Reconciler) shutDown(ctx context.Context, s *scope) error {
	if !s.recorded() {
		s.wait(v1alpha1.ReasonGracePeriod, "The machine has to leave its cluster")
		return nil // its own watch event comes back when the record is stored
	}
	for _, run := range []step{awaitGrace, r.drain, awaitBootstrapData, r.deleteMachine} {
		if over, err := run(ctx, s); err != nil || !over {
			return err
		}
	}
	return nil
}

// recorded says that the shutdown of this Machine has a record, and begins one otherwise. A time that is still to come, by another clock or
// another hand, must not stretch the shutdown.
func (s *scope) recorded() bool {
	record, now := s.sm.Status.Shutdown, microtime(s.now)
	if record == nil || record.MachineUID != s.machine.GetUID() {
		s.sm.Status.Shutdown = &v1alpha1.ShutdownStatus{MachineUID: s.machine.GetUID(), StartedAt: now}
		return false
	}
	if now.Before(&record.StartedAt) {
		record.StartedAt = now
	}
	if record.DrainStartedAt != nil && now.Before(record.DrainStartedAt) {
		record.DrainStartedAt = &now
	}
	return true
}

// awaitGrace leaves the owners of the workloads the time that the spec gives them. A Machine that never became a Node has none.
func awaitGrace(_ context.Context, s *scope) (bool, error) {
	node, joined := capi.NodeRef(s.machine)
	end := s.sm.Status.Shutdown.StartedAt.Add(timeout(s.sm.Spec.GracefulShutdownTimeout))
	if !joined || s.clusterLeaves() || s.over(end) {
		return true, nil
	}
	s.wait(v1alpha1.ReasonGracePeriod, "Node %s is drained from %s on, after spec.gracefulShutdownTimeout", node, clock(end))
	return false, nil
}

// drain cordons the Node and evicts its pods, until they are gone or nodeDrainTimeout is. A cluster that is being deleted has no other place for them.
func (r *Reconciler) drain(ctx context.Context, s *scope) (bool, error) {
	name, joined := capi.NodeRef(s.machine)
	if !joined || s.clusterLeaves() {
		return true, nil
	}
	record := s.sm.Status.Shutdown
	if record.DrainStartedAt == nil {
		now := microtime(s.now)
		record.DrainStartedAt = &now
	}
	if end, bounded := s.drainEnd(); bounded && s.over(end) {
		ctrl.LoggerFrom(ctx).Info("The drain is out of time", "node", name)
		s.drained = metrics.DrainTimedOut
		return true, nil
	}
	if s.child == nil {
		s.wait(v1alpha1.ReasonNotConnected, "Node %s cannot be drained: %s", name, reclaim.CleanReason(s.childErr.Error()))
		return false, nil
	}
	if s.node == nil {
		return true, nil // gone, or not ours to drain
	}
	return r.drainPass(ctx, s)
}

// drainPass is one look at the Node and its pods.
func (r *Reconciler) drainPass(ctx context.Context, s *scope) (bool, error) {
	cordoned, err := cordon(ctx, s)
	var left drain.Left
	if err == nil && cordoned {
		left, err = drain.Pass(ctx, s.child, s.node, r.countEviction)
	}
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		s.again(drainRetry)
		s.wait(v1alpha1.ReasonDraining, "Node %s cannot be drained: %s", s.node.Name, reclaim.CleanReason(err.Error()))
	case !cordoned:
		s.wait(v1alpha1.ReasonDraining, "Cordoning Node %s", s.node.Name)
	case len(left) == 0:
		s.drained = metrics.Drained
		return true, nil
	default:
		s.again(left.Again())
		s.wait(v1alpha1.ReasonDraining, "Draining Node %s, pods left: %d. %s", s.node.Name, len(left), left)
	}
	return false, nil
}

func (r *Reconciler) countEviction(err error) {
	switch {
	case err == nil:
		r.Metrics.Eviction(metrics.Evicted)
	case apierrors.IsTooManyRequests(err):
		r.Metrics.Eviction(metrics.EvictionRefused)
	default:
		r.Metrics.Eviction(metrics.EvictionFailed)
	}
}

// cordon says that the Node is cordoned. Before it does that itself it has it recorded, and so leaves an admin's cordon alone: the record is there
// whenever the cordon is ours.
func cordon(ctx context.Context, s *scope) (bool, error) {
	if s.node.Spec.Unschedulable {
		return true, nil
	}
	live := &corev1.Node{}
	err := s.child.Do(ctx, func(ctx context.Context) error {
		return s.child.Client.Get(ctx, types.NamespacedName{Name: s.node.Name}, live)
	})
	if err != nil || live.Spec.Unschedulable {
		return err == nil, err
	}
	if record := s.sm.Status.Shutdown; record.CordonedNodeUID != live.UID {
		record.CordonedNodeUID = live.UID
		return false, nil // its own watch event comes back when that is stored
	}
	return true, drain.Cordon(ctx, s.child, live, true)
}

// drainEnd is when the drain is given up.
func (s *scope) drainEnd() (end time.Time, bounded bool) {
	start := s.sm.Status.Shutdown.DrainStartedAt.Time
	if limit := timeout(s.sm.Spec.NodeDrainTimeout); limit > 0 {
		return start.Add(limit), true
	}
	reachable := meta.FindStatusCondition(s.sm.Status.Conditions, v1alpha1.ConditionChildClusterReachable)
	if s.child != nil || reachable == nil {
		return time.Time{}, false
	}
	if lost := reachable.LastTransitionTime.Time; lost.After(start) {
		start = lost
	}
	return start.Add(unreachableLimit), true
}

// awaitBootstrapData keeps a Machine until its provider can clean up after it.
func awaitBootstrapData(_ context.Context, s *scope) (bool, error) {
	end := s.sm.Status.Shutdown.StartedAt.Add(bootstrapLimit)
	if capi.BootstrapDataReady(s.machine) || s.over(end) {
		return true, nil
	}
	s.wait(v1alpha1.ReasonWaitingForBootstrap, "%s %s has not written bootstrap data yet. Deleted before, the machine would leave its %s behind for ever; "+
		"it is deleted at %s all the same", s.sm.Spec.BootstrapSpec.Kind, s.sm.Name, s.sm.Spec.InfrastructureSpec.Kind, clock(end))
	return false, nil
}

// deleteMachine deletes the Machine, unless that was decided on what is no longer so.
func (r *Reconciler) deleteMachine(ctx context.Context, s *scope) (bool, error) {
	same, err := r.stillSo(ctx, s)
	if err != nil || !same {
		return false, err
	}
	if err := machine.Delete(ctx, r.Client, r.Version, key(s.sm), s.machine.GetUID()); err != nil {
		return false, err
	}
	ctrl.LoggerFrom(ctx).Info("Machine deleted")
	r.reportDrain(s)
	s.wait(v1alpha1.ReasonMachineDeleting, "%s", awaitingMachine)
	return true, nil
}

// reportDrain reports how the drain ended, once: what the condition ShuttingDown said last tells whether the Machine was deleted before, on a cache
// that did not know. Where the drain is out of time, that condition names the pods, and seconds ago they were there.
func (r *Reconciler) reportDrain(s *scope) {
	last := s.condition(v1alpha1.ConditionShuttingDown)
	if s.drained == "" || last.reason == v1alpha1.ReasonMachineDeleting {
		return
	}
	r.Metrics.Drain(s.drained)
	if s.drained != metrics.DrainTimedOut {
		return
	}
	if last.reason != v1alpha1.ReasonDraining && last.reason != v1alpha1.ReasonNotConnected {
		last.message = "" // of the time before the drain
	}
	name, _ := capi.NodeRef(s.machine)
	events.DrainTimedOut(r.Events, s.sm, name, last.message)
}

// stay undoes a shutdown that had begun: the schedule wants the machine again.
func (r *Reconciler) stay(ctx context.Context, s *scope) error {
	record := s.sm.Status.Shutdown
	if record == nil {
		return nil
	}
	if record.CordonedNodeUID != "" && (s.child == nil || s.condition(v1alpha1.ConditionNodeIdentityMismatch).status == metav1.ConditionTrue) {
		return nil // told again when it can be reached, and when it is known whose it is
	}
	if s.node != nil && s.node.UID == record.CordonedNodeUID {
		if err := drain.Cordon(ctx, s.child, s.node, false); err != nil && !child.Moved(err) {
			return err
		}
	}
	s.sm.Status.Shutdown = nil
	return nil
}

// timeout is a timeout of the spec. The API server admits none that does not parse; the rest is its default.
func timeout(t v1alpha1.Timeout) time.Duration {
	d, err := time.ParseDuration(string(t))
	if err != nil {
		return 5 * time.Minute
	}
	return d
}

// over says that a moment has come, and otherwise has it looked at again then.
func (s *scope) over(end time.Time) bool {
	if !s.now.Before(end) {
		return true
	}
	s.again(end.Sub(s.now))
	return false
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05Z") }

// microtime is a time as the API server keeps it.
func microtime(t time.Time) metav1.MicroTime {
	return metav1.NewMicroTime(t.Truncate(time.Microsecond))
}
