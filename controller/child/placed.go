package child

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/api/v1alpha1"
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

// HashText is what is remembered of the text in a ConfigMap.
func HashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// only are the labels of these keys.
func only(labels map[string]string, keys ...string) map[string]string {
	kept := map[string]string{}
	for _, key := range keys {
		if value, there := labels[key]; there {
			kept[key] = value
		}
	}
	return kept
}

// stripConfigMap keeps a hash of the one key that is ours. Whoever may write ConfigMaps on the child would otherwise fill the memory that all child
// clusters share.
func stripConfigMap(obj any) (any, error) {
	configMap, ok := obj.(*corev1.ConfigMap)
	if !ok {
		return obj, nil // a tombstone
	}
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: configMap.Namespace, Name: configMap.Name, UID: configMap.UID, ResourceVersion: configMap.ResourceVersion,
			Labels: only(configMap.Labels, reclaim.LabelProjectedBy, v1alpha1.ScheduledMachineLabel),
		},
		Data: map[string]string{reclaim.ConfigKey: HashText(configMap.Data[reclaim.ConfigKey])},
	}, nil
}
