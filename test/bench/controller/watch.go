package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kwait "k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// patience is for a busy rehearsal.
	patience = 10 * time.Minute
	// ahead is how many events are kept for who does not read them yet: several for every machine of a fleet.
	ahead = 20 * clusters * perCluster
)

// await asks until it is so.
func await(ctx context.Context, what string, is kwait.ConditionWithContextFunc) error {
	if err := kwait.PollUntilContextTimeout(ctx, 100*time.Millisecond, patience, true, is); err != nil {
		return fmt.Errorf("waiting for %s: %w", what, err)
	}
	return nil
}

// sighting is what a watch has brought, and when: who waits for it may be busy at that moment.
type sighting struct {
	watch.Event
	at time.Time
}

// follow watches what happens from now on to objects that are there. It reads ahead, and goes on where it was when the
// API server ends the watch: it does so to who is slow, as this program is while a fleet is made.
func follow(ctx context.Context, c client.WithWatch, list client.ObjectList, of ...client.ListOption) (<-chan sighting, func(), error) {
	if err := c.List(ctx, list, of...); err != nil {
		return nil, nil, err
	}
	watcher, err := toolswatch.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, since metav1.ListOptions) (watch.Interface, error) {
			return c.Watch(ctx, list, append(slices.Clone(of), &client.ListOptions{Raw: &since})...)
		},
	})
	if err != nil {
		return nil, nil, err
	}
	events := make(chan sighting, ahead)
	go func() {
		defer close(events)
		for e := range watcher.ResultChan() {
			events <- sighting{e, time.Now()}
		}
	}()
	return events, watcher.Stop, nil
}

// awaitGone says when each of n objects was gone, counted from began.
func awaitGone(ctx context.Context, events <-chan sighting, began time.Time, n int) ([]time.Duration, error) {
	var all []time.Duration
	err := until(ctx, events, n, func(e sighting) int {
		if e.Type == watch.Deleted {
			all = append(all, e.at.Sub(began))
		}
		return len(all)
	})
	return all, err
}

// awaitDeleted says when the DELETE of each of n objects was accepted, counted from began: who has a finalizer is there for some time after it.
func awaitDeleted(ctx context.Context, events <-chan sighting, began time.Time, n int) ([]time.Duration, error) {
	deleted := map[types.UID]time.Duration{}
	err := until(ctx, events, n, func(e sighting) int {
		if object, is := e.Object.(metav1.Object); is && (object.GetDeletionTimestamp() != nil || e.Type == watch.Deleted) {
			if _, known := deleted[object.GetUID()]; !known {
				deleted[object.GetUID()] = e.at.Sub(began)
			}
		}
		return len(deleted)
	})
	return slices.Collect(maps.Values(deleted)), err
}

// awaitDeleting says when the last of n pods had its deletion timestamp, counted from began.
func awaitDeleting(ctx context.Context, events <-chan sighting, began time.Time, n int) (last time.Duration, err error) {
	deleting := map[string]bool{}
	err = until(ctx, events, n, func(e sighting) int {
		if pod, is := e.Object.(*corev1.Pod); is && (pod.DeletionTimestamp != nil || e.Type == watch.Deleted) {
			deleting[pod.Name], last = true, e.at.Sub(began)
		}
		return len(deleting)
	})
	return last, err
}

// until reads events until there are n of what it is that counts.
func until(ctx context.Context, events <-chan sighting, n int, counted func(sighting) int) error {
	deadline := time.After(patience)
	for seen := 0; seen < n; {
		select {
		case e, ok := <-events:
			if !ok {
				return errors.New("the watch has ended")
			}
			if e.Type == watch.Error {
				return fmt.Errorf("the watch has ended: %w", apierrors.FromObject(e.Object))
			}
			seen = counted(e)
		case <-deadline:
			return fmt.Errorf("%d of %d after %s", seen, n, patience)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}
