package projection

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"5spot.finos.org/node-reclaim/controller/capi"
	"5spot.finos.org/node-reclaim/controller/child"
)

// workers is how many child clusters that hang may be written to at once before one that answers has to wait.
const workers = 10

// Back-off for what an API server refuses, and the time until another look where something changed meanwhile.
const (
	firstRetry = 100 * time.Millisecond
	lastRetry  = 30 * time.Second
	lookAgain  = 500 * time.Millisecond
)

// readTimeout bounds the wait for the first list of a new connection's ConfigMaps.
const readTimeout = 2 * time.Second

// Reconciler projects spec.killIfCommands onto child clusters. Its requests name child clusters, not objects.
type Reconciler struct {
	// Client reads from the manager's cache.
	Client client.Client
	// Children are the connections to the child clusters.
	Children *child.Cache
	// Version of the Machines that the management cluster serves.
	Version capi.Version
	// Management tells this management cluster from others that lend machines to the same child cluster; see Identity.
	Management types.UID
	// Wrap is put around the reconciler, to count what it does.
	Wrap func(controller string, inner reconcile.Reconciler) reconcile.Reconciler

	lists lists
}

// Identity is the UID of a cluster's Namespace kube-system, which is as old as the cluster.
func Identity(ctx context.Context, management client.Reader) (types.UID, error) {
	namespace := &corev1.Namespace{}
	if err := management.Get(ctx, types.NamespacedName{Name: "kube-system"}, namespace); err != nil {
		return "", fmt.Errorf("reading Namespace kube-system, whose UID stands for the management cluster: %w", err)
	}
	return namespace.UID, nil
}

func (r *Reconciler) options() controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: workers,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
	}
}

// +kubebuilder:rbac:groups=5spot.finos.org,resources=scheduledmachines,verbs=get;list;watch
// +kubebuilder:rbac:groups=5spot.finos.org,resources=scheduledmachines/status,verbs=patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=namespaces,resourceNames=kube-system,verbs=get

// Reconcile makes one child cluster what its ScheduledMachines ask for, and says on each how far that has come.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	key := child.ClusterKey(req.NamespacedName)
	connection, unreachable := r.Children.Get(key)
	if errors.Is(unreachable, child.ErrConnecting) {
		return ctrl.Result{}, nil // nothing is known yet, and how that ends wakes us
	}
	wishes, err := r.wishes(ctx, key, connection)
	if err != nil {
		return ctrl.Result{}, err
	}
	seen, again, err := r.settle(ctx, key, connection, wishes)
	if seen == nil && unreachable == nil {
		unreachable = err
	}
	stale, reportErr := r.report(ctx, wishes, seen, unreachable)
	if err := errors.Join(err, reportErr); err != nil {
		return ctrl.Result{}, err
	}
	if again || stale {
		return ctrl.Result{RequeueAfter: lookAgain}, nil
	}
	return ctrl.Result{}, nil
}

// settle does what is left to be done in a child cluster, and returns how it was found: nil when it could not be read.
func (r *Reconciler) settle(ctx context.Context, key child.ClusterKey, connection *child.Connection, wishes []wish) (*observed, bool, error) {
	if connection == nil {
		return nil, false, nil
	}
	seen, err := r.observe(ctx, key, connection)
	if err != nil {
		return nil, false, err
	}
	again, err := seen.carryOut(ctx, connection, seen.plan(wishes))
	return seen, again, err
}

// Withdraw takes everything of ours off a child cluster that no ScheduledMachine names any more, while there is a connection to it. What it does
// not get done stays there until one names that cluster again.
func (r *Reconciler) Withdraw(ctx context.Context, key child.ClusterKey) {
	connection, _ := r.Children.Get(key)
	if _, _, err := r.settle(ctx, key, connection, nil); err != nil {
		ctrl.LoggerFrom(ctx).Info("Something of ours stays in a child cluster that is no longer used", "cluster", key.String(), "reason", err.Error())
	}
}

// mark stands for this management cluster and one of its child clusters. A hash, because a label's value holds no namespace and name together.
func (r *Reconciler) mark(key child.ClusterKey) string {
	sum := sha256.Sum256([]byte(string(r.Management) + "/" + key.String()))
	return hex.EncodeToString(sum[:])[:16]
}
