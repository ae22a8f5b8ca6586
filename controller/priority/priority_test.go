package priority_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/priority"
)

func TestOfThoseDueAtTheSameMomentTheHigherIsFirst(t *testing.T) {
	queue := priorityqueue.New[reconcile.Request]("test")
	defer queue.ShutDown()
	for name, of := range map[string]int32{"spare": 0, "build": 50, "gpu": 100, "desk": 49} {
		priority.Add(queue, machine(name, &of))
	}
	priority.Handler().Create(t.Context(), event.CreateEvent{Object: machine("old", nil)}, queue)
	low := int32(1)
	priority.Add(queue, machine("gpu", &low)) // changes nothing: it is there at 100
	require.Eventually(t, func() bool { return queue.Len() == 5 }, patience, poll)
	var order []string
	for range 5 {
		request, of, _ := queue.GetWithPriority()
		if of != 50 {
			order = append(order, request.Name)
		}
	}
	require.Equal(t, []string{"gpu", "desk", "spare"}, order)
}

const (
	patience = 10 * time.Second
	poll     = time.Millisecond
)

func machine(name string, of *int32) *v1alpha1.ScheduledMachine {
	sm := &v1alpha1.ScheduledMachine{}
	sm.Name, sm.Spec.Priority = name, of
	return sm
}
