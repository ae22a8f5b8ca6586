// Package admission tests the policies of deploy/admission on a real API server, under real identities.
package admission

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"5spot.finos.org/node-reclaim/test/controlplane"
)

const (
	patience = 60 * time.Second
	poll     = 50 * time.Millisecond
)

// start brings up a control plane under one of the overlays of deploy/admission.
func start(t *testing.T, overlay string, options controlplane.Options) (*controlplane.ControlPlane, kubernetes.Interface) {
	t.Helper()
	cp := controlplane.ForTest(t, options)
	apply(t, cp, overlay)
	admin, err := kubernetes.NewForConfig(cp.Config)
	require.NoError(t, err)
	return cp, admin
}

// apply takes the way that the manifests document, after a dry run that must be clean.
func apply(t *testing.T, cp *controlplane.ControlPlane, overlay string) {
	t.Helper()
	dir := filepath.Join(controlplane.Root(), "deploy", "admission", overlay)
	manifests, err := exec.CommandContext(t.Context(), cp.Kubectl(), "kustomize", dir).Output()
	require.NoError(t, err)
	for _, args := range [][]string{{"--dry-run=server"}, {"--server-side"}} {
		cmd := kubectl(t, cp, append([]string{"apply", "-f", "-"}, args...)...)
		cmd.Stdin = strings.NewReader(string(manifests))
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		require.NotContains(t, strings.ToLower(string(out)), "warning")
	}
}

func kubectl(t *testing.T, cp *controlplane.ControlPlane, args ...string) *exec.Cmd {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, cp.Kubeconfig, 0o600))
	return exec.CommandContext(t.Context(), cp.Kubectl(), append([]string{"--kubeconfig=" + file, "--cache-dir=" + t.TempDir()}, args...)...)
}

// typed is a client under an identity.
func typed(t *testing.T, config *rest.Config) kubernetes.Interface {
	t.Helper()
	c, err := kubernetes.NewForConfig(config)
	require.NoError(t, err)
	return c
}

func nodeItself(t *testing.T, cp *controlplane.ControlPlane, name string) kubernetes.Interface {
	t.Helper()
	user, err := cp.Node(name)
	require.NoError(t, err)
	return typed(t, user.Config())
}

// podThatMayPatchNodes is the token of a ServiceAccount that may write Nodes, as a kubelet gets one for a pod.
func podThatMayPatchNodes(t *testing.T, cp *controlplane.ControlPlane, admin kubernetes.Interface) kubernetes.Interface {
	t.Helper()
	ctx := t.Context()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "network-plugin"}}
	_, err := admin.CoreV1().ServiceAccounts("default").Create(ctx, account, metav1.CreateOptions{})
	require.NoError(t, err)
	grant(t, admin, rbacv1.Subject{Kind: "ServiceAccount", Namespace: "default", Name: account.Name}, rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"nodes", "nodes/status"}, Verbs: []string{"get", "create", "patch", "update"},
	})
	request, err := admin.CoreV1().ServiceAccounts("default").CreateToken(ctx, account.Name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	require.NoError(t, err)
	config := rest.AnonymousClientConfig(cp.Config)
	config.BearerToken = request.Status.Token
	return typed(t, config)
}

// grant allows a subject what a rule says, in the whole cluster.
func grant(t *testing.T, admin kubernetes.Interface, subject rbacv1.Subject, rule rbacv1.PolicyRule) {
	t.Helper()
	name := strings.ReplaceAll(subject.Name, ":", ".")
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{rule}}
	_, err := admin.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
	require.NoError(t, err)
	_, err = admin.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{subject},
	}, metav1.CreateOptions{})
	require.NoError(t, err)
}

// patch is a merge patch of a Node, or of its status where a subresource is named.
func patch(ctx context.Context, as kubernetes.Interface, node, body string, subresource ...string) error {
	_, err := as.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, []byte(body), metav1.PatchOptions{}, subresource...)
	return err
}

// denied asserts that the policy refused, and not RBAC or NodeRestriction.
func denied(t *testing.T, err error, says string) {
	t.Helper()
	require.True(t, apierrors.IsForbidden(err), "%v", err)
	require.ErrorContains(t, err, "ValidatingAdmissionPolicy")
	require.ErrorContains(t, err, says)
}
