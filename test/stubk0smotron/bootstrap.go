package stubk0smotron

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// capiSecret is the type that Cluster API gives its Secrets; their content is under "value".
const capiSecret corev1.SecretType = "cluster.x-k8s.io/secret"

// bootstrapReconciler plays k0smotron's bootstrap controller.
type bootstrapReconciler struct {
	client client.Client
	// reader reads past the cache: a stale object would be bootstrapped twice.
	reader client.Reader
}

func (r *bootstrapReconciler) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("stub-k0sworkerconfig").
		For(newWorkerConfig()).
		// One process may run several stubs, each with a manager of its own.
		WithOptions(controller.Options{SkipNameValidation: ptr.To(true)}).
		Complete(r)
}

// Reconcile writes the data Secret of a K0sWorkerConfig that a Machine owns.
func (r *bootstrapReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	config := newWorkerConfig()
	if err := r.reader.Get(ctx, req.NamespacedName, config); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !config.GetDeletionTimestamp().IsZero() || stringField(config, "status", "dataSecretName") != "" {
		return reconcile.Result{}, nil
	}
	machine, err := owner(ctx, r.reader, config)
	if err != nil || machine == nil {
		return reconcile.Result{}, err
	}
	secret := dataSecret(config, machine)
	if err := existing(r.client.Create(ctx, secret)); err != nil {
		return reconcile.Result{}, fmt.Errorf("creating the data Secret of K0sWorkerConfig %s: %w", req, err)
	}
	return reconcile.Result{}, setStatus(ctx, r.client, config, map[string]any{
		"ready":          true,
		"dataSecretName": secret.Name,
		"initialization": map[string]any{"dataSecretCreated": true},
	})
}

func dataSecret(config, machine *unstructured.Unstructured) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       config.GetNamespace(),
			Name:            config.GetName(),
			Labels:          map[string]string{clusterNameLabel: stringField(machine, "spec", "clusterName")},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(config, config.GroupVersionKind())},
		},
		Type:       capiSecret,
		StringData: map[string]string{"value": "#cloud-config\n"},
	}
}
