package integration

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/controller/child"
	"5spot.finos.org/node-reclaim/test/lab"
)

// Each of these ScheduledMachines names a cluster of its own, whose Secret or API server is at fault.
func TestChildClusterThatCannotBeReachedIsACondition(t *testing.T) {
	l, _ := newLab(t)
	for name, tt := range map[string]struct {
		change func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)
		says   string
	}{
		"exec": {func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
			u.Exec = &clientcmdapi.ExecConfig{Command: "/bin/touch", Args: []string{t.TempDir() + "/ran"}, APIVersion: "client.authentication.k8s.io/v1"}
		}, "users[].user.exec"},
		"file":        {func(_ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) { u.TokenFile = "/etc/passwd" }, "users[].user.tokenFile"},
		"proxy":       {func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.ProxyURL = "http://127.0.0.1:1" }, "proxy-url"},
		"unreachable": {func(c *clientcmdapi.Cluster, _ *clientcmdapi.AuthInfo) { c.Server = "https://127.0.0.1:1" }, "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			sm := lab.ScheduledMachine("child-"+name, "10.0.2.1", "java")
			sm.Spec.ClusterName = name
			secret(t, l, name, tt.change)
			require.NoError(t, l.Admin.Create(t.Context(), sm))
			t.Cleanup(func() { remove(t, l, sm) })
			require.Eventually(t, func() bool {
				c := meta.FindStatusCondition(read(t, l, sm).Status.Conditions, v1alpha1.ConditionChildClusterReachable)
				return c != nil && c.Status == metav1.ConditionFalse && c.Reason == "NotConnected" && strings.Contains(c.Message, tt.says)
			}, patience, poll, "no condition that says %q: %v", tt.says, read(t, l, sm).Status.Conditions)
		})
	}
}

func secret(t *testing.T, l *lab.Lab, cluster string, change func(*clientcmdapi.Cluster, *clientcmdapi.AuthInfo)) {
	t.Helper()
	config, err := clientcmd.Load(l.Child.Kubeconfig)
	require.NoError(t, err)
	context := config.Contexts[config.CurrentContext]
	change(config.Clusters[context.Cluster], config.AuthInfos[context.AuthInfo])
	data, err := clientcmd.Write(*config)
	require.NoError(t, err)
	require.NoError(t, l.Admin.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: lab.Namespace, Name: cluster + "-kubeconfig"},
		Type:       child.SecretType,
		Data:       map[string][]byte{child.SecretKey: data},
	}))
}
