package integration

import (
	"context"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/test/controlplane"
	"5spot.finos.org/node-reclaim/test/lab"
)

// everyRuleUsed fails when the controller's roles allow something that no controller of this whole run did.
func everyRuleUsed(ctx context.Context, l *lab.Lab) error {
	allowed, err := permissions(ctx, l)
	if err != nil {
		return err
	}
	err = l.Management.Audit(func(event controlplane.AuditEvent) {
		if event.User.Username != lab.ControllerUser {
			return
		}
		delete(allowed, permission(event.Verb, event.ObjectRef.APIGroup, event.ObjectRef.Resource, event.ObjectRef.Subresource))
		if strings.Contains(event.RequestURI, "sendInitialEvents=true") { // a list in the form of a watch; servers that do not know it get a list
			delete(allowed, permission("list", event.ObjectRef.APIGroup, event.ObjectRef.Resource, event.ObjectRef.Subresource))
		}
	})
	if err != nil {
		return err
	}
	if unused := slices.Sorted(maps.Keys(allowed)); len(unused) > 0 {
		return fmt.Errorf("the controller's roles allow what no test needed: %s", strings.Join(unused, ", "))
	}
	return nil
}

// permissions are those of the roles as they were applied.
func permissions(ctx context.Context, l *lab.Lab) (map[string]bool, error) {
	var cluster rbacv1.ClusterRole
	if err := l.Admin.Get(ctx, types.NamespacedName{Name: "5spot-controller"}, &cluster); err != nil {
		return nil, err
	}
	var own rbacv1.Role
	if err := l.Admin.Get(ctx, types.NamespacedName{Namespace: ownNamespace, Name: "5spot-controller-leader-election"}, &own); err != nil {
		return nil, err
	}
	allowed := map[string]bool{}
	for _, rule := range append(cluster.Rules, own.Rules...) {
		for _, verb := range rule.Verbs {
			for _, resource := range rule.Resources {
				resource, subresource, _ := strings.Cut(resource, "/")
				allowed[permission(verb, rule.APIGroups[0], resource, subresource)] = true
			}
		}
	}
	return allowed, nil
}

func permission(verb, group, resource, subresource string) string {
	if subresource != "" {
		resource += "/" + subresource
	}
	if group != "" {
		resource += "." + group
	}
	return verb + " " + resource
}

func TestEditorsOfANamespaceLendMachinesButDoNotWriteStatus(t *testing.T) {
	controlplane.Require(t)
	l := shared
	user, err := l.Management.User("editor")
	require.NoError(t, err)
	grant := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: "editor"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "5spot-scheduledmachine-edit"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "editor"}},
	}
	require.NoError(t, l.Admin.Create(t.Context(), grant))
	t.Cleanup(func() { require.NoError(t, l.Admin.Delete(context.Background(), grant)) })
	editor, err := client.New(user.Config(), client.Options{Scheme: l.Admin.Scheme()})
	require.NoError(t, err)

	sm := lab.ScheduledMachine("edited", "10.0.7.1")
	require.Eventually(t, func() bool { return editor.Create(t.Context(), sm.DeepCopy(), client.DryRunAll) == nil }, patience, poll)
	err = editor.Status().Patch(t.Context(), sm, mergePatch(`{"status":{"phase":"Active"}}`), client.DryRunAll)
	require.True(t, apierrors.IsForbidden(err), "%v", err)
}

func TestMonitoringIsAnOverlay(t *testing.T) {
	controlplane.Require(t)
	built, err := exec.CommandContext(t.Context(), shared.Management.Kubectl(), "kustomize",
		filepath.Join(controlplane.Root(), "deploy", "controller", "overlays", "monitoring")).Output()
	require.NoError(t, err)
	require.Contains(t, string(built), "kind: ServiceMonitor")
}
