package admission

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"5spot.finos.org/node-reclaim/api/reclaim"
	"5spot.finos.org/node-reclaim/test/controlplane"
)

const (
	asks    = `{"metadata":{"annotations":{"5spot.finos.org/reclaim-requested":"true","5spot.finos.org/reclaim-reason":"process-match: java"}}}`
	clears  = `{"metadata":{"annotations":{"5spot.finos.org/reclaim-requested":null,"5spot.finos.org/reclaim-reason":null}}}`
	armed   = `{"metadata":{"annotations":{"5spot.finos.org/reclaim-agent-state":"{\"state\":\"armed\"}"}}}`
	beats   = `{"status":{"conditions":[{"type":"Ready","status":"True","reason":"KubeletReady","message":"posting"}]}}`
	foreign = "only system:node:ws-1 may set or change"
)

// child is a child cluster with two Nodes, ws-1 and ws-2, under the policy.
type child struct {
	cp                      *controlplane.ControlPlane
	admin, node, other, pod kubernetes.Interface
}

func startChild(t *testing.T) *child {
	t.Helper()
	cp, admin := start(t, "child", controlplane.Options{})
	c := &child{cp: cp, admin: admin, node: nodeItself(t, cp, "ws-1"), other: nodeItself(t, cp, "ws-2")}
	c.pod = podThatMayPatchNodes(t, cp, admin)
	for name, as := range map[string]kubernetes.Interface{"ws-1": c.node, "ws-2": c.other} {
		_, err := as.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool {
		_, err := admin.CoreV1().Nodes().Patch(t.Context(), "ws-2", "application/merge-patch+json", []byte(asks),
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsForbidden(err)
	}, patience, poll, "the policy never took effect")
	return c
}

func TestOnlyTheNodeItselfMayAskToLeave(t *testing.T) {
	c := startChild(t)
	ctx := t.Context()
	for name, body := range map[string]string{"request": asks, "agent state": armed} {
		t.Run(name+" by others", func(t *testing.T) {
			denied(t, patch(ctx, c.admin, "ws-1", body), foreign)
			denied(t, patch(ctx, c.admin, "ws-1", body, "status"), foreign)
			denied(t, patch(ctx, c.pod, "ws-1", body), foreign)
			denied(t, patch(ctx, c.pod, "ws-1", body, "status"), foreign)
			require.True(t, apierrors.IsForbidden(patch(ctx, c.other, "ws-1", body)), "NodeRestriction")
		})
		t.Run(name+" by itself", func(t *testing.T) {
			require.NoError(t, patch(ctx, c.node, "ws-1", body))
			require.NoError(t, patch(ctx, c.admin, "ws-1", cleared(body)), "others may clear it")
			require.NoError(t, patch(ctx, c.node, "ws-1", body, "status"))
			require.NoError(t, patch(ctx, c.pod, "ws-1", cleared(body), "status"), "others may clear it")
		})
	}
	t.Run("what is there and unchanged concerns nobody", func(t *testing.T) { unchanged(ctx, t, c) })
	t.Run("a Node is born with it", func(t *testing.T) { born(ctx, t, c) })
	t.Run("a name without the group is not the node", func(t *testing.T) {
		impostor, err := c.cp.User("system:node:ws-1", "system:masters")
		require.NoError(t, err)
		denied(t, patch(ctx, typed(t, impostor.Config()), "ws-1", `{"metadata":{"annotations":{"5spot.finos.org/reclaim-reason":"x"}}}`), foreign)
	})
	t.Run("the shell tool's kubectl", func(t *testing.T) { shellTool(t, c) })
}

// unchanged: if heartbeats and other writes were evaluated, those of an administrator and a pod would be refused here.
func unchanged(ctx context.Context, t *testing.T, c *child) {
	require.NoError(t, patch(ctx, c.node, "ws-1", asks))
	require.NoError(t, patch(ctx, c.node, "ws-1", beats, "status"))
	for _, as := range []kubernetes.Interface{c.admin, c.pod} {
		require.NoError(t, patch(ctx, as, "ws-1", beats, "status"))
		require.NoError(t, patch(ctx, as, "ws-1", `{"spec":{"unschedulable":true}}`))
		require.NoError(t, patch(ctx, as, "ws-1", asks), "the same value")
		require.NoError(t, patch(ctx, as, "ws-1", `{"metadata":{"labels":{"team":"a"}}}`))
		denied(t, patch(ctx, as, "ws-1", `{"metadata":{"annotations":{"5spot.finos.org/reclaim-reason":"mine"}}}`), foreign)
	}
	require.NoError(t, patch(ctx, c.admin, "ws-1", `{"metadata":{"annotations":{"5spot.finos.org/reclaim-reason":null}}}`), "one of two")
	require.NoError(t, patch(ctx, c.admin, "ws-1", clears))
	require.NoError(t, patch(ctx, c.admin, "ws-1", `{"metadata":{"annotations":null}}`))
}

func born(ctx context.Context, t *testing.T, c *child) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "ws-3", Annotations: map[string]string{reclaim.AnnotationRequested: "true"}}}
	for _, as := range []kubernetes.Interface{c.admin, c.pod} {
		_, err := as.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		denied(t, err, "only system:node:ws-3 may set or change")
	}
	_, err := nodeItself(t, c.cp, "ws-3").CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	require.NoError(t, err)
	node.Name, node.Annotations = "ws-4", map[string]string{"example.org/team": "a"}
	_, err = c.admin.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
	require.NoError(t, err)
}

// shellTool writes as tools/reclaim-on-match.sh does: kubectl annotate under the kubelet's kubeconfig.
func shellTool(t *testing.T, c *child) {
	user, err := c.cp.Node("ws-1")
	require.NoError(t, err)
	kubeconfig, err := user.KubeConfig()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "kubelet.conf")
	require.NoError(t, os.WriteFile(file, kubeconfig, 0o600))
	out, err := exec.CommandContext(t.Context(), c.cp.Kubectl(), "--kubeconfig="+file, "--cache-dir="+t.TempDir(), "annotate", "node", "ws-1",
		reclaim.AnnotationRequested+"=true", reclaim.AnnotationReason+"=process-match: java",
		reclaim.AnnotationRequestedAt+"=2026-04-19T21:30:00Z").CombinedOutput()
	require.NoError(t, err, string(out))
}

// cleared is the patch that removes what body sets.
func cleared(body string) string {
	if body == armed {
		return `{"metadata":{"annotations":{"5spot.finos.org/reclaim-agent-state":null}}}`
	}
	return clears
}
