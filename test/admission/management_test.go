package admission

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/test/controlplane"
)

const (
	controllerAccount = "system:serviceaccount:5spot-system:5spot-controller"
	record            = `{"status":{"reclaim":{"id":"x","nodeName":"ws-1","requestedAt":"2026-01-01T00:00:00.000000Z","observedAt":"2026-01-01T00:00:00.000000Z"}}}`
	termination       = `{"status":{"termination":{"nodeName":"ws-1","machineUID":"m-1","observedAt":"2026-01-01T00:00:00.000000Z"}}}`
	longer            = `{"status":{"reclaim":{"reason":"process-match: java"}}}`
)

func TestOnlyTheControllerRecordsARemoval(t *testing.T) {
	cp, admin := start(t, "management", controlplane.Options{CRDs: []string{filepath.Join(controlplane.Root(), "deploy", "crds", "5spot.finos.org_scheduledmachines.yaml")}})
	tenant, controller := writer(t, cp, admin, "tenant"), writer(t, cp, admin, controllerAccount)
	sm := scheduledMachine()
	require.NoError(t, tenant.Create(t.Context(), sm))
	status := func(as client.Client, body string, o ...client.SubResourcePatchOption) error {
		return as.Status().Patch(t.Context(), sm.DeepCopy(), client.RawPatch("application/merge-patch+json", []byte(body)), o...)
	}
	require.Eventually(t, func() bool { return apierrors.IsForbidden(status(tenant, record, client.DryRunAll)) }, patience, poll,
		"the policy never took effect")

	const alone = "status.reclaim and status.termination are written by the controller alone, and tenant is somebody else"
	denied(t, status(tenant, record), alone)
	denied(t, status(tenant, termination), alone)
	require.NoError(t, status(tenant, `{"status":{"message":"hello"}}`), "before there is a record")
	require.NoError(t, status(controller, record))
	require.NoError(t, status(tenant, `{"status":{"message":"hello again"}}`), "the record is there and unchanged")
	require.NoError(t, status(controller, longer))
	require.NoError(t, status(controller, termination))
	denied(t, status(tenant, `{"status":{"termination":{"nodeName":"ws-2"}}}`), alone)
	denied(t, status(tenant, `{"status":{"termination":null}}`), alone)
	denied(t, status(tenant, `{"status":{"reclaim":{"reason":"mine"}}}`), alone)
	denied(t, status(tenant, `{"status":{"reclaim":null}}`), alone)
	denied(t, status(tenant, `{"status":null}`), alone)
	administrator, err := client.New(cp.Config, client.Options{Scheme: scheme(t)})
	require.NoError(t, err)
	require.NoError(t, status(administrator, `{"status":{"reclaim":null}}`))
}

// writer may do everything with ScheduledMachines and their status.
func writer(t *testing.T, cp *controlplane.ControlPlane, admin kubernetes.Interface, user string) client.Client {
	t.Helper()
	grant(t, admin, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: user},
		rbacv1.PolicyRule{APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"*"}, Verbs: []string{"*"}})
	config := rest.CopyConfig(cp.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	c, err := client.New(config, client.Options{Scheme: scheme(t)})
	require.NoError(t, err)
	return c
}

func scheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(s))
	return s
}

func scheduledMachine() *v1alpha1.ScheduledMachine {
	nothing := runtime.RawExtension{Raw: []byte("{}")}
	return &v1alpha1.ScheduledMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "ws-1"},
		Spec: v1alpha1.ScheduledMachineSpec{
			ClusterName: "team-a", Schedule: v1alpha1.Schedule{Cron: "* * * * *"},
			BootstrapSpec: v1alpha1.ObjectTemplate{
				APIVersion: "bootstrap.cluster.x-k8s.io/v1beta1", Kind: "K0sWorkerConfig", Spec: nothing,
			},
			InfrastructureSpec: v1alpha1.ObjectTemplate{
				APIVersion: "infrastructure.cluster.x-k8s.io/v1beta1", Kind: "RemoteMachine", Spec: nothing,
			},
		},
	}
}
