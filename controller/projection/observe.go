package projection

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/child"
	"5spot.finos.org/node-reclaim/controller/machine"
)

// wishes are those of all ScheduledMachines that name a child cluster. Without a connection no Node is known.
func (r *Reconciler) wishes(ctx context.Context, key child.ClusterKey, connection *child.Connection) ([]wish, error) {
	var all v1alpha1.ScheduledMachineList
	if err := r.Client.List(ctx, &all, client.InNamespace(key.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing ScheduledMachines in %s: %w", key.Namespace, err)
	}
	machines, err := machine.List(ctx, r.Client, r.Version, key.Namespace)
	if err != nil {
		return nil, err
	}
	var ours []*v1alpha1.ScheduledMachine
	for i := range all.Items {
		if sm := &all.Items[i]; child.Key(sm) == key {
			ours = append(ours, sm)
		}
	}
	projected, err := r.lists.project(key, ours)
	if err != nil {
		return nil, err
	}
	var wishes []wish
	for _, sm := range ours {
		w, err := wishOf(ctx, sm, machines, connection)
		if err != nil {
			return nil, err
		}
		w.list = projected[sm.UID].list
		wishes = append(wishes, w)
	}
	return wishes, nil
}

func wishOf(ctx context.Context, sm *v1alpha1.ScheduledMachine, machines []unstructured.Unstructured, connection *child.Connection) (wish, error) {
	w := wish{sm: sm}
	own := ownMachine(sm, machines)
	if own == nil || connection == nil {
		return w, nil
	}
	name, err := capi.NodeName(sm, own, machines)
	var mismatch *capi.MismatchError
	if errors.As(err, &mismatch) {
		w.doubtful, _ = capi.NodeRef(own)
		return w, nil
	}
	if err != nil || name == "" {
		return w, err
	}
	node := &corev1.Node{}
	err = connection.Reader.Get(ctx, types.NamespacedName{Name: name}, node)
	if apierrors.IsNotFound(err) {
		return w, nil
	}
	w.node = node
	return w, err
}

func ownMachine(sm *v1alpha1.ScheduledMachine, machines []unstructured.Unstructured) *unstructured.Unstructured {
	for i := range machines {
		if machines[i].GetName() == sm.Name && capi.OwnedBy(&machines[i], sm) {
			return &machines[i]
		}
	}
	return nil
}

// observe reads a child cluster from memory.
func (r *Reconciler) observe(ctx context.Context, key child.ClusterKey, connection *child.Connection) (*observed, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	o := &observed{
		mark: r.mark(key), nodes: map[string]*corev1.Node{}, configs: map[string]*corev1.ConfigMap{}, failed: map[string]error{},
	}
	var namespaces corev1.NamespaceList
	var nodes corev1.NodeList
	var configs corev1.ConfigMapList
	for what, list := range map[string]client.ObjectList{"Namespaces": &namespaces, "Nodes": &nodes, "ConfigMaps": &configs} {
		if err := connection.Reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("listing the %s of the child cluster: %w", what, err)
		}
	}
	for i := range nodes.Items {
		o.nodes[nodes.Items[i].Name] = &nodes.Items[i]
	}
	for i := range configs.Items {
		o.configs[configs.Items[i].Name] = &configs.Items[i]
	}
	for i := range namespaces.Items {
		if namespaces.Items[i].Name == reclaim.Namespace {
			o.namespace = &namespaces.Items[i]
		}
	}
	return o, nil
}
