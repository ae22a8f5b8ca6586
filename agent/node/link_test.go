package node

import (
	"bufio"
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/transport"

	"5spot.finos.org/node-reclaim/test/workstation"
)

var mark = map[string]string{"5spot.finos.org/test": "x"}

// All against one real API server with the Node authorizer and NodeRestriction, each part with a Node of its own.
func TestLink(t *testing.T) {
	c := newCluster(t)
	for _, part := range []struct {
		name string
		run  func(*testing.T, *cluster)
	}{
		{"a Node is followed from creation to replacement", followsTheNode},
		{"another machine's Node is not ours", refusesAnotherMachine},
		{"a Node is not ours for want of machine ids", refusesAMachineWithoutID},
		{"a change in between is a conflict", noticesConflicts},
		{"an admission policy's no is told apart", tellsForbidden},
		{"a kubeconfig that goes and comes back is noticed", followsTheKubeconfig},
		{"a credential that is refused is not an outage", tellsRefusal},
		{"a rotated certificate is followed", followsRotation},
		{"a dead connection costs one attempt", leavesADeadConnection},
		{"an outage is survived", survivesAnOutage}, // the last: it stops the API server
	} {
		t.Run(part.name, func(t *testing.T) { part.run(t, c) })
	}
}

func followsTheNode(t *testing.T, c *cluster) {
	h := c.host(t, "ws-1")
	l := h.link()
	require.Equal(t, "ws-1", await(t, l, Gone).Node.Name)
	n := h.register()
	first := await(t, l, Present)
	require.Equal(t, string(n.UID), first.Node.UID)

	require.NoError(t, c.admin.Delete(t.Context(), n))
	require.Empty(t, await(t, l, Gone).Node.UID)
	h.register()
	require.NotEqual(t, first.Node.UID, await(t, l, Present).Node.UID)
}

func refusesAnotherMachine(t *testing.T, c *cluster) {
	h := c.host(t, "ws-2")
	n := h.register()
	require.NoError(t, h.Report(t.Context(), n, "somebody-else"))
	l := h.link()
	v := await(t, l, Foreign)
	require.Empty(t, v.Node.UID, "nothing can be written to it")
	require.Contains(t, v.Detail, `Node ws-2 has machine id "somebody-else", this host has "`+workstation.MachineID+`"`)
	require.NoError(t, h.Report(t.Context(), n, workstation.MachineID))
	await(t, l, Present)
}

// Two machines made from an image with an empty /etc/machine-id are not one.
func refusesAMachineWithoutID(t *testing.T, c *cluster) {
	h := c.host(t, "ws-no-id")
	require.NoError(t, h.Report(t.Context(), h.register(), ""))
	require.NoError(t, os.WriteFile(h.MachineIDFile(), []byte("\n"), 0o600))
	require.Contains(t, await(t, h.link(), Foreign).Detail, "this host has no machine id that could tell it from another")
}

func noticesConflicts(t *testing.T, c *cluster) {
	h := c.host(t, "ws-3")
	n := h.register()
	l := h.link()
	v := await(t, l, Present)
	written, err := l.Annotate(t.Context(), v.Node, mark)
	require.NoError(t, err)
	require.Equal(t, "x", written.Annotations["5spot.finos.org/test"])
	require.True(t, v.Node.Older(written))

	_, err = l.Annotate(t.Context(), v.Node, mark)
	require.ErrorIs(t, err, ErrConflict)
	read, err := l.Get(t.Context())
	require.NoError(t, err)
	require.Equal(t, written, read)

	require.NoError(t, c.admin.Delete(t.Context(), n))
	await(t, l, Gone)
	_, err = l.Annotate(t.Context(), read, mark)
	require.ErrorIs(t, err, ErrGone)
}

func tellsForbidden(t *testing.T, c *cluster) {
	l := c.registered(t, "ws-4").link()
	await(t, l, Present)
	forbid(t, c)
	require.EventuallyWithT(t, func(check *assert.CollectT) {
		fresh, err := l.Get(t.Context())
		require.NoError(check, err)
		_, err = l.Annotate(t.Context(), fresh, map[string]string{"5spot.finos.org/forbidden": "x"})
		require.ErrorIs(check, err, ErrForbidden)
		require.ErrorContains(check, err, "not on a Sunday")
	}, patience, 100*time.Millisecond)
}

// forbid makes a policy against one annotation. It takes the API server a moment to hear of it.
func forbid(t *testing.T, c *cluster) {
	t.Helper()
	fail := admissionv1.Fail
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "sunday"},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"nodes"}},
				},
			}}},
			Validations: []admissionv1.Validation{{
				Expression: "!has(object.metadata.annotations) || !('5spot.finos.org/forbidden' in object.metadata.annotations)",
				Message:    "not on a Sunday",
				Reason:     ptr(metav1.StatusReasonForbidden),
			}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "sunday"},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: "sunday", ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	require.NoError(t, c.admin.Create(t.Context(), policy))
	require.NoError(t, c.admin.Create(t.Context(), binding))
}

func followsTheKubeconfig(t *testing.T, c *cluster) {
	h := c.registered(t, "ws-5")
	require.NoError(t, h.Leave())
	l := h.link()
	require.Contains(t, await(t, l, NoCredential).Detail, "this machine has not joined a cluster")
	_, err := l.Get(t.Context())
	require.ErrorIs(t, err, ErrNoCredential)
	require.NoError(t, h.Join(h.Kubelet.Host))
	await(t, l, Present)
	require.NoError(t, h.Leave())
	await(t, l, NoCredential)
	_, err = l.Get(t.Context())
	require.ErrorIs(t, err, ErrNoCredential, "the connection still stands, but is not used")
}

func tellsRefusal(t *testing.T, c *cluster) {
	h := c.registered(t, "ws-6")
	require.NoError(t, h.UseCertificate(certificateFor(t, "system:node:ws-6", time.Now().Add(time.Hour)), nil))
	l := h.link()
	await(t, l, NoCredential)
	require.NoError(t, h.UseCertificate(h.Kubelet.CertData, h.Kubelet.KeyData))
	await(t, l, Present)
}

// client-go looks at certificate files every five minutes; the interval is a variable for tests like this one.
func followsRotation(t *testing.T, c *cluster) {
	defer func(d time.Duration) { transport.CertCallbackRefreshDuration = d }(transport.CertCallbackRefreshDuration)
	transport.CertCallbackRefreshDuration = 100 * time.Millisecond
	h := c.registered(t, "ws-7")
	l := h.link()
	v := await(t, l, Present)
	_, err := l.Annotate(t.Context(), v.Node, mark)
	require.NoError(t, err)
	before := credentialOfLastPatch(t, c, "ws-7")

	rotated, err := c.Node("ws-7")
	require.NoError(t, err)
	require.NoError(t, h.UseCertificate(rotated.Config().CertData, rotated.Config().KeyData))
	require.EventuallyWithT(t, func(check *assert.CollectT) {
		n, err := l.Get(t.Context())
		require.NoError(check, err)
		_, err = l.Annotate(t.Context(), n, mark)
		require.NoError(check, err)
		require.NotEqual(check, before, credentialOfLastPatch(t, c, "ws-7"))
	}, patience, 100*time.Millisecond)
}

// credentialOfLastPatch reads from the audit log which certificate made the last PATCH of a Node.
func credentialOfLastPatch(t *testing.T, c *cluster, name string) string {
	t.Helper()
	f, err := os.Open(c.AuditLog)
	require.NoError(t, err)
	defer f.Close()
	last := ""
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var event struct {
			Verb      string
			ObjectRef struct{ Name string }
			User      struct{ Extra map[string][]string }
		}
		require.NoError(t, json.Unmarshal(lines.Bytes(), &event))
		if event.Verb == "patch" && event.ObjectRef.Name == name {
			last = strings.Join(event.User.Extra["authentication.kubernetes.io/credential-id"], ",")
		}
	}
	require.NotEmpty(t, last)
	return last
}

func leavesADeadConnection(t *testing.T, c *cluster) {
	h := c.registered(t, "ws-8")
	server, err := url.Parse(h.Kubelet.Host)
	require.NoError(t, err)
	w := newWire(t, server.Host)
	require.NoError(t, h.Join("https://"+w.Addr().String()))
	l := h.link()
	v := await(t, l, Present)

	w.goDead()
	_, err = l.Annotate(t.Context(), v.Node, mark)
	require.Error(t, err)
	_, err = l.Annotate(t.Context(), v.Node, mark)
	require.NoError(t, err, "the second attempt has a connection of its own")
	await(t, l, Present)
}

func survivesAnOutage(t *testing.T, c *cluster) {
	l := c.registered(t, "ws-9").link()
	before := await(t, l, Present)
	require.NoError(t, c.StopAPIServer())
	away := await(t, l, Away)
	require.Equal(t, before.Node.UID, away.Node.UID, "what was last known still counts")
	_, err := l.Annotate(t.Context(), away.Node, mark)
	require.Error(t, err)
	require.NotErrorIs(t, err, ErrNoCredential)

	require.NoError(t, c.StartAPIServer())
	v := await(t, l, Present)
	_, err = l.Annotate(t.Context(), v.Node, mark)
	require.NoError(t, err)
}

func ptr[T any](v T) *T { return &v }
