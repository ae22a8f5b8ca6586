// Package machine reads and deletes Cluster API Machines on the management cluster. Their form is capi's; why one is deleted is the caller's.
package machine

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"5spot.finos.org/node-reclaim/controller/capi"
)

// Get is the Machine of that name, nil when there is none.
func Get(ctx context.Context, c client.Reader, version capi.Version, name types.NamespacedName) (*unstructured.Unstructured, error) {
	machine := Empty(version)
	err := c.Get(ctx, name, machine)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading Machine %s: %w", name, err)
	}
	return machine, nil
}

// List are the Machines of a namespace. From a cache they are not to be changed.
func List(ctx context.Context, c client.Reader, version capi.Version, namespace string) ([]unstructured.Unstructured, error) {
	kind := version.MachineKind()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := c.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing Machines in %s: %w", namespace, err)
	}
	return list.Items, nil
}

// Delete deletes the Machine of that name and UID. One that is gone, or was replaced by another of its name, is deleted.
func Delete(ctx context.Context, c client.Writer, version capi.Version, name types.NamespacedName, uid types.UID) error {
	machine := Empty(version)
	machine.SetNamespace(name.Namespace)
	machine.SetName(name.Name)
	err := c.Delete(ctx, machine, client.Preconditions{UID: &uid})
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("deleting Machine %s: %w", name, err)
}

// Empty is a Machine that only knows its kind, for watches.
func Empty(version capi.Version) *unstructured.Unstructured {
	machine := &unstructured.Unstructured{}
	machine.SetGroupVersionKind(version.MachineKind())
	return machine
}

// Owner maps a Machine to the ScheduledMachine of its name, whatever became of its labels; whether it is that one's, the reconcile that follows
// asks by UID.
func Owner(_ context.Context, machine client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(machine)}}
}
