package stubk0smotron

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// remoteMachineFinalizer is k0smotron's own.
const remoteMachineFinalizer = "remotemachine.k0smotron.io/finalizer"

// infrastructureWorkers is how many hosts k0smotron is at work on at once; the others wait.
const infrastructureWorkers = 5

// infrastructureReconciler plays k0smotron's RemoteMachine controller.
type infrastructureReconciler struct {
	client client.Client
	// reader reads past the cache: a stale object would join its host twice.
	reader  client.Reader
	hosts   *Hosts
	options Options
}

func (r *infrastructureReconciler) setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("stub-remotemachine").
		For(newRemoteMachine()).
		Watches(newMachine(), handler.EnqueueRequestsFromMapFunc(infrastructureOf)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: infrastructureWorkers,
			// One process may run several stubs, each with a manager of its own.
			SkipNameValidation: ptr.To(true),
		}).
		Complete(r)
}

// infrastructureOf names a Machine's RemoteMachine, which waits for the Machine's bootstrap data.
func infrastructureOf(_ context.Context, object client.Object) []reconcile.Request {
	machine, ok := object.(*unstructured.Unstructured)
	if !ok || stringField(machine, "spec", "infrastructureRef", "kind") != "RemoteMachine" {
		return nil
	}
	name := stringField(machine, "spec", "infrastructureRef", "name")
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: machine.GetNamespace(), Name: name}}}
}

// Reconcile joins a RemoteMachine's host to its child cluster, or takes it out.
func (r *infrastructureReconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	remote := newRemoteMachine()
	if err := r.reader.Get(ctx, req.NamespacedName, remote); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	machine, err := owner(ctx, r.reader, remote)
	if err != nil || machine == nil {
		return reconcile.Result{}, err
	}
	if remote.GetDeletionTimestamp().IsZero() {
		err = r.provision(ctx, remote, machine)
	} else {
		err = r.release(ctx, remote, machine)
	}
	return reconcile.Result{}, err
}

func (r *infrastructureReconciler) provision(ctx context.Context, remote, machine *unstructured.Unstructured) error {
	if boolField(remote, "status", "ready") {
		return nil
	}
	before := remote.DeepCopy()
	if controllerutil.AddFinalizer(remote, remoteMachineFinalizer) {
		if err := r.client.Patch(ctx, remote, client.MergeFrom(before)); err != nil {
			return fmt.Errorf("adding the finalizer to RemoteMachine %s: %w", remote.GetName(), err)
		}
	}
	if !hasBootstrapData(machine) {
		return nil
	}
	if err := pause(ctx, r.options.ProvisionTime); err != nil {
		return err
	}
	if err := r.join(ctx, remote, machine); err != nil {
		return fmt.Errorf("joining the host of RemoteMachine %s: %w", remote.GetName(), err)
	}
	return r.markProvisioned(ctx, remote)
}

func (r *infrastructureReconciler) join(ctx context.Context, remote, machine *unstructured.Unstructured) error {
	identity, err := r.identify(ctx, remote, machine)
	if err != nil {
		return err
	}
	child, err := childConfig(ctx, r.reader, machine)
	if err != nil {
		return err
	}
	return r.hosts.join(ctx, child, identity)
}

// identify says under which name and with which marks the host joins.
func (r *infrastructureReconciler) identify(ctx context.Context, remote, machine *unstructured.Unstructured) (identity, error) {
	address := stringField(remote, "spec", "address")
	if address == "" {
		return identity{}, reconcile.TerminalError(fmt.Errorf(
			"RemoteMachine %s: spec.address is empty; set it to the host's address", remote.GetName()))
	}
	id := identity{
		host:        r.options.host(address),
		address:     address,
		nodeName:    machine.GetName(),
		machineName: machine.GetName(),
		machineUID:  machine.GetUID(),
		providerID:  providerID(remote),
	}
	bySystem, err := r.usesSystemHostname(ctx, machine)
	if bySystem {
		id.nodeName = id.host.Hostname
	}
	return id, err
}

func (r *infrastructureReconciler) usesSystemHostname(ctx context.Context, machine *unstructured.Unstructured) (bool, error) {
	key := client.ObjectKey{
		Namespace: machine.GetNamespace(),
		Name:      stringField(machine, "spec", "bootstrap", "configRef", "name"),
	}
	if key.Name == "" { // a Machine may name its data Secret directly
		return false, nil
	}
	config := newWorkerConfig()
	if err := r.reader.Get(ctx, key, config); err != nil {
		return false, fmt.Errorf("reading K0sWorkerConfig %s: %w", key, err)
	}
	return boolField(config, "spec", "useSystemHostname"), nil
}

func (r *infrastructureReconciler) markProvisioned(ctx context.Context, remote *unstructured.Unstructured) error {
	before := remote.DeepCopy()
	if err := unstructured.SetNestedField(remote.Object, providerID(remote), "spec", "providerID"); err != nil {
		return fmt.Errorf("setting spec.providerID of RemoteMachine %s: %w", remote.GetName(), err)
	}
	if err := r.client.Patch(ctx, remote, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("patching spec.providerID of RemoteMachine %s: %w", remote.GetName(), err)
	}
	return setStatus(ctx, r.client, remote, map[string]any{
		"ready":          true,
		"initialization": map[string]any{"provisioned": true},
	})
}

// release stops the host, which takes its time, and lets the RemoteMachine go. Without bootstrap data k0smotron cannot tell what
// to clean, and never lets it go.
func (r *infrastructureReconciler) release(ctx context.Context, remote, machine *unstructured.Unstructured) error {
	if !hasBootstrapData(machine) {
		return nil
	}
	before := remote.DeepCopy()
	if !controllerutil.RemoveFinalizer(remote, remoteMachineFinalizer) {
		return nil
	}
	if err := r.hosts.stop(ctx, stringField(remote, "spec", "address")); err != nil {
		return err
	}
	if err := pause(ctx, r.options.HostStopTime); err != nil {
		return err
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := client.IgnoreNotFound(r.client.Patch(ctx, remote, patch)); err != nil {
		return fmt.Errorf("removing the finalizer from RemoteMachine %s: %w", remote.GetName(), err)
	}
	return nil
}

func hasBootstrapData(machine *unstructured.Unstructured) bool {
	return stringField(machine, "spec", "bootstrap", "dataSecretName") != ""
}

func providerID(remote *unstructured.Unstructured) string {
	port, _, _ := unstructured.NestedInt64(remote.Object, "spec", "port")
	return fmt.Sprintf("remote-machine://%s:%d", stringField(remote, "spec", "address"), port)
}

// pause holds the worker, as a command over SSH does.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
