package eject

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/pods"
)

// firstGrace is one second rather than none: every kubelet takes both as one second or two, but with it the pod stays in the API until its
// containers are dead, so that the API tells when that is.
const firstGrace = 1

// podPoll is how often the API is asked whether the pods are gone.
const podPoll = 250 * time.Millisecond

// deletePods deletes the node's pods, all at once. No eviction, so no PodDisruptionBudget is asked; an error on one stops no other.
func (r *Reconciler) deletePods(ctx context.Context, s *scope, times *v1alpha1.Removal) error {
	if s.removal().PodsDeletedAt != nil {
		return nil
	}
	all, err := r.pods(ctx, s)
	if err != nil {
		return err
	}
	if err := deleteAll(ctx, s, all, firstGrace); err != nil {
		return err
	}
	times.PodsDeletedAt, times.PodsDeleted = microtime(r.Now()), int32(len(all))
	return nil
}

// awaitPods waits until the deleted pods are gone. After PodKillWait it gives up, and takes what is left off the API.
func (r *Reconciler) awaitPods(ctx context.Context, s *scope) (time.Duration, error) {
	removal := s.removal()
	if removal.PodsGoneAt != nil {
		return 0, nil
	}
	left, err := r.podsLeft(ctx, s)
	overdue := !r.within(removal.ObservedAt, r.PodKillWait)
	switch {
	case err != nil:
	case overdue:
		err = deleteAll(ctx, s, left, 0)
	default:
		err = deleteAll(ctx, s, undeleted(left), firstGrace)
	}
	if overdue || err == nil && len(left) == 0 && removal.PodsDeletedAt != nil {
		removal.PodsGoneAt = microtime(r.Now())
		return 0, err
	}
	return podPoll, err
}

// within says that a moment of the record is less than a while ago. By the clock of another replica it may be still to come; a clock that is far off must
// not stretch a removal.
func (r *Reconciler) within(since metav1.MicroTime, limit time.Duration) bool {
	return r.Now().Sub(since.Time).Abs() < limit
}

func (r *Reconciler) podsLeft(ctx context.Context, s *scope) ([]metav1.PartialObjectMetadata, error) {
	if s.child == nil {
		return nil, fmt.Errorf("the child cluster is not reachable: %w", s.childErr)
	}
	all, err := r.pods(ctx, s)
	var left []metav1.PartialObjectMetadata
	for _, pod := range all {
		if !pods.Dead(&pod) {
			left = append(left, pod)
		}
	}
	return left, err
}

// undeleted are the pods that were bound to the Node after the first list.
func undeleted(pods []metav1.PartialObjectMetadata) []metav1.PartialObjectMetadata {
	var late []metav1.PartialObjectMetadata
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil {
			late = append(late, pod)
		}
	}
	return late
}

// pods lists the node's pods that have to go.
func (r *Reconciler) pods(ctx context.Context, s *scope) ([]metav1.PartialObjectMetadata, error) {
	return pods.OnNode(ctx, s.child, s.removal().NodeName)
}

func deleteAll(ctx context.Context, s *scope, pods []metav1.PartialObjectMetadata, grace int64) error {
	deletes := make([]func() error, len(pods))
	for i := range pods {
		deletes[i] = func() error { return deletePod(ctx, s, &pods[i], grace) }
	}
	if err := parallel(deletes...); err != nil {
		return fmt.Errorf("deleting pods: %w", firstFew(err))
	}
	return nil
}

func deletePod(ctx context.Context, s *scope, pod *metav1.PartialObjectMetadata, grace int64) error {
	uid := pod.UID
	err := s.child.Do(ctx, func(ctx context.Context) error {
		return s.child.Client.Delete(ctx, pod, client.GracePeriodSeconds(grace), client.Preconditions{UID: &uid})
	})
	if gone(err) {
		return nil
	}
	return err
}

// firstFew keeps a hundred equal errors out of one log line.
func firstFew(err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok || len(joined.Unwrap()) <= 3 {
		return err
	}
	all := joined.Unwrap()
	return errors.Join(all[0], all[1], fmt.Errorf("and %d more", len(all)-2))
}
