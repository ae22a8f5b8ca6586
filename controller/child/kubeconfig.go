package child

import (
	"errors"
	"fmt"
	"net/url"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// RefusedError says why a kubeconfig is not used: which field, and what to do.
type RefusedError struct{ Fault string }

func (e *RefusedError) Error() string { return "kubeconfig refused: " + e.Fault }

func refused(format string, args ...any) error {
	return &RefusedError{Fault: fmt.Sprintf(format, args...)}
}

// ParseKubeconfig reads a tenant's kubeconfig. Whatever would make the controller run a program, read a file of its own host, or send its
// traffic elsewhere is refused: allowed are an https server, and inline CA, client certificate, key and token.
func ParseKubeconfig(data []byte) (*rest.Config, error) {
	file, err := clientcmd.Load(data)
	if err != nil {
		return nil, refused("it is not a kubeconfig; write the whole file under the Secret's key %q", SecretKey)
	}
	context, ok := file.Contexts[file.CurrentContext]
	if !ok {
		return nil, refused("current-context %q is not among its contexts", file.CurrentContext)
	}
	cluster, ok := file.Clusters[context.Cluster]
	if !ok {
		return nil, refused("cluster %q of the current context is missing", context.Cluster)
	}
	user, ok := file.AuthInfos[context.AuthInfo]
	if !ok {
		return nil, refused("user %q of the current context is missing", context.AuthInfo)
	}
	if err := errors.Join(checkCluster(cluster), checkUser(user)); err != nil {
		return nil, err
	}
	return restConfig(cluster, user), nil
}

func checkCluster(c *clientcmdapi.Cluster) error {
	server, err := url.Parse(c.Server)
	switch {
	case err != nil || server.Scheme != "https" || server.Host == "":
		return refused("clusters[].cluster.server must be an https URL, for example https://10.0.0.1:6443")
	case c.CertificateAuthority != "":
		return refused("clusters[].cluster.certificate-authority names a file; put it inline as certificate-authority-data")
	case c.InsecureSkipTLSVerify:
		return refused("clusters[].cluster.insecure-skip-tls-verify would trust any server; give certificate-authority-data")
	case c.ProxyURL != "":
		return refused("clusters[].cluster.proxy-url is not followed; remove it")
	case len(c.CertificateAuthorityData) == 0:
		return refused("clusters[].cluster.certificate-authority-data is missing")
	}
	return nil
}

func checkUser(u *clientcmdapi.AuthInfo) error {
	switch {
	case u.Exec != nil:
		return refused("users[].user.exec would run a program on the controller; give a token or a client certificate inline")
	case u.AuthProvider != nil:
		return refused("users[].user.auth-provider would run a plugin on the controller; give a token or a client certificate inline")
	case u.ClientCertificate != "" || u.ClientKey != "":
		return refused("users[].user.client-certificate and client-key name files; put them inline as client-certificate-data and client-key-data")
	case u.TokenFile != "":
		return refused("users[].user.tokenFile names a file; put the token inline")
	case u.Impersonate != "" || u.ImpersonateUID != "" || len(u.ImpersonateGroups) > 0 || len(u.ImpersonateUserExtra) > 0:
		return refused("users[].user.as is not followed; give a credential of that user")
	case u.Username != "" || u.Password != "":
		return refused("users[].user.username and password are not supported by Kubernetes any more; give a token or a client certificate inline")
	case u.Token == "" && (len(u.ClientCertificateData) == 0 || len(u.ClientKeyData) == 0):
		return refused("users[].user has no credential; give a token, or client-certificate-data with client-key-data")
	}
	return nil
}

func restConfig(c *clientcmdapi.Cluster, u *clientcmdapi.AuthInfo) *rest.Config {
	return &rest.Config{
		Host:        c.Server,
		BearerToken: u.Token,
		TLSClientConfig: rest.TLSClientConfig{
			CAData:     c.CertificateAuthorityData,
			CertData:   u.ClientCertificateData,
			KeyData:    u.ClientKeyData,
			ServerName: c.TLSServerName,
		},
		UserAgent: "5spot-controller",
		QPS:       -1, // an emergency is a burst by nature; the cap on parallel writes bounds it instead
	}
}
