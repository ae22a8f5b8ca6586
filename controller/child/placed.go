package child

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/reclaim"
)

// served is what a connection keeps in memory.
func served() map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&corev1.Node{}:      {Transform: stripNode},
		&corev1.Namespace{}: {Field: fields.OneTermEqualSelector(metav1.ObjectNameField, reclaim.Namespace), Transform: cache.TransformStripManagedFields()},
		&corev1.ConfigMap{}: {
			Namespaces: map[string]cache.Config{reclaim.Namespace: {LabelSelector: projected()}},
			Transform:  stripConfigMap,
		},
	}
}

func projected() labels.Selector {
	there, err := labels.NewRequirement(reclaim.LabelProjectedBy, selection.Exists, nil)
	if err != nil {
		return labels.Nothing() // the key is a constant
	}
	return labels.NewSelector().Add(*there)
}

// watchPlaced does not wait for the first list: a child cluster that refuses it is still one from which machines can be removed.
func watchPlaced(ctx context.Context, c cache.Cache, key ClusterKey, notify PlacedHandler) error {
	for _, object := range []client.Object{&corev1.Namespace{}, &corev1.ConfigMap{}} {
		informer, err := c.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return err
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(any) { notify(key) },
			UpdateFunc: func(any, any) { notify(key) },
			DeleteFunc: func(any) { notify(key) },
		}); err != nil {
			return err
		}
	}
	return nil
}

// stripConfigMap keeps the one key that is ours.
func stripConfigMap(obj any) (any, error) {
	configMap, ok := obj.(*corev1.ConfigMap)
	if !ok {
		return obj, nil // a tombstone
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: configMap.Namespace, Name: configMap.Name, UID: configMap.UID, ResourceVersion: configMap.ResourceVersion, Labels: configMap.Labels,
		},
		Data: map[string]string{reclaim.ConfigKey: configMap.Data[reclaim.ConfigKey]}, Immutable: configMap.Immutable,
	}, nil
}
