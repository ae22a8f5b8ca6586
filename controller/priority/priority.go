// Package priority puts ScheduledMachines into controllers' queues in the order of spec.priority: of those that are due at the same moment, the
// higher is first. It must not know what is due.
package priority

import (
	"context"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// byDefault is the CRD's default of spec.priority, for an object that was stored before it.
const byDefault = 50

// Of is the priority of a ScheduledMachine, as a queue takes it.
func Of(sm *v1alpha1.ScheduledMachine) int {
	if sm.Spec.Priority == nil {
		return byDefault
	}
	return int(*sm.Spec.Priority)
}

// Queue is a controller's.
type Queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Add puts a ScheduledMachine into a queue at its priority. One that is there already keeps the higher of the two.
func Add(queue Queue, sm *v1alpha1.ScheduledMachine) {
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(sm)}
	ordered, ok := queue.(priorityqueue.PriorityQueue[reconcile.Request])
	if !ok {
		queue.Add(request)
		return
	}
	of := Of(sm)
	ordered.AddWithOpts(priorityqueue.AddOpts{Priority: &of}, request)
}

// Handler puts every ScheduledMachine that changes into the queue at its priority, and at a start or a take-over all of them.
func Handler() handler.EventHandler {
	add := func(queue Queue, object client.Object) {
		if sm, ok := object.(*v1alpha1.ScheduledMachine); ok {
			Add(queue, sm)
		}
	}
	return handler.Funcs{
		CreateFunc:  func(_ context.Context, e event.CreateEvent, queue Queue) { add(queue, e.Object) },
		UpdateFunc:  func(_ context.Context, e event.UpdateEvent, queue Queue) { add(queue, e.ObjectNew) },
		DeleteFunc:  func(_ context.Context, e event.DeleteEvent, queue Queue) { add(queue, e.Object) },
		GenericFunc: func(_ context.Context, e event.GenericEvent, queue Queue) { add(queue, e.Object) },
	}
}
