package child

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

func kubeconfig(t *testing.T, change func(*clientcmdapi.Config, *clientcmdapi.Cluster, *clientcmdapi.AuthInfo)) []byte {
	t.Helper()
	cluster := &clientcmdapi.Cluster{Server: "https://10.0.0.1:6443", CertificateAuthorityData: []byte("ca")}
	user := &clientcmdapi.AuthInfo{Token: "secret-token"}
	config := &clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": cluster},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": user},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	}
	change(config, cluster, user)
	data, err := clientcmd.Write(*config)
	require.NoError(t, err)
	return data
}

func TestInlineCredentialsAreAccepted(t *testing.T) {
	config, err := ParseKubeconfig(kubeconfig(t, func(*clientcmdapi.Config, *clientcmdapi.Cluster, *clientcmdapi.AuthInfo) {}))
	require.NoError(t, err)
	require.Equal(t, "https://10.0.0.1:6443", config.Host)
	require.Equal(t, "secret-token", config.BearerToken)
	require.Negative(t, config.QPS, "no throttling")

	config, err = ParseKubeconfig(kubeconfig(t, func(_ *clientcmdapi.Config, _ *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) {
		u.Token, u.ClientCertificateData, u.ClientKeyData = "", []byte("cert"), []byte("key")
	}))
	require.NoError(t, err)
	require.Equal(t, []byte("key"), config.KeyData)
}

// What a tenant could use to make the controller run, read or send something is refused, and the refusal names the field.
func TestEverythingElseIsRefused(t *testing.T) {
	type (
		f = *clientcmdapi.Config
		c = *clientcmdapi.Cluster
		u = *clientcmdapi.AuthInfo
	)
	for field, change := range map[string]func(f, c, u){
		"users[].user.exec": func(_ f, _ c, u u) {
			u.Exec = &clientcmdapi.ExecConfig{Command: "x", APIVersion: "client.authentication.k8s.io/v1"}
		},
		"users[].user.auth-provider":                     func(_ f, _ c, u u) { u.AuthProvider = &clientcmdapi.AuthProviderConfig{Name: "oidc"} },
		"users[].user.client-certificate":                func(_ f, _ c, u u) { u.ClientCertificate = "/etc/cert" },
		"client-key name files":                          func(_ f, _ c, u u) { u.ClientKey = "/etc/key" },
		"users[].user.tokenFile":                         func(_ f, _ c, u u) { u.TokenFile = "/var/run/secrets/kubernetes.io/serviceaccount/token" },
		"users[].user.as":                                func(_ f, _ c, u u) { u.Impersonate = "system:admin" },
		"users[].user.as is":                             func(_ f, _ c, u u) { u.ImpersonateGroups = []string{"system:masters"} },
		"users[].user.username":                          func(_ f, _ c, u u) { u.Username = "admin" },
		"users[].user has no credential":                 func(_ f, _ c, u u) { u.Token = "" },
		"clusters[].cluster.certificate-authority names": func(_ f, c c, _ u) { c.CertificateAuthority = "/etc/ca" },
		"clusters[].cluster.certificate-authority-data":  func(_ f, c c, _ u) { c.CertificateAuthorityData = nil },
		"clusters[].cluster.insecure-skip-tls-verify":    func(_ f, c c, _ u) { c.InsecureSkipTLSVerify, c.CertificateAuthorityData = true, nil },
		"clusters[].cluster.proxy-url":                   func(_ f, c c, _ u) { c.ProxyURL = "http://10.0.0.9:3128" },
		"clusters[].cluster.server must be":              func(_ f, c c, _ u) { c.Server = "http://10.0.0.1" },
		"server must be an https URL":                    func(_ f, c c, _ u) { c.Server = "https://" },
		`current-context "y"`:                            func(f f, _ c, _ u) { f.CurrentContext = "y" },
		`cluster "z" of the current context is missing`:  func(f f, _ c, _ u) { f.Contexts["x"].Cluster = "z" },
		`user "z" of the current context is missing`:     func(f f, _ c, _ u) { f.Contexts["x"].AuthInfo = "z" },
	} {
		t.Run(field, func(t *testing.T) {
			_, err := ParseKubeconfig(kubeconfig(t, change))
			var refused *RefusedError
			require.ErrorAs(t, err, &refused)
			require.ErrorContains(t, err, field)
			require.NotContains(t, err.Error(), "secret-token")
		})
	}
}

func TestGarbageIsRefusedWithoutBeingRepeated(t *testing.T) {
	for _, garbage := range []string{"", "\x00\xff", "token: secret-token\n  - broken", "[]", "apiVersion: v9\nkind: Other"} {
		_, err := ParseKubeconfig([]byte(garbage))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "secret-token")
	}
}
