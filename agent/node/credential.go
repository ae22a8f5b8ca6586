package node

import (
	"crypto/sha256"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// nodeUser is what the Node authorizer wants a kubelet's common name to begin with.
const nodeUser = "system:node:"

// DefaultKubeconfigs are where a kubelet keeps its credential: under k0s, and under kubeadm.
func DefaultKubeconfigs() []string {
	return []string{"/var/lib/k0s/kubelet.conf", "/etc/kubernetes/kubelet.conf"}
}

// Credential is the kubelet's own credential as it is on disk.
type Credential struct {
	// Path of the kubeconfig.
	Path string
	// NodeName is the Node it may change.
	NodeName string
	config   *rest.Config
	key      string
}

// LoadCredential reads the first kubeconfig that exists. nodeName overrides the name in the client certificate. Its errors are all
// ErrNoCredential: the API server has not been asked yet.
func LoadCredential(paths []string, nodeName string, now time.Time) (Credential, error) {
	path, text, err := firstExisting(paths)
	if err != nil {
		return Credential{}, fmt.Errorf("%w: %w", ErrNoCredential, err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		return Credential{}, fmt.Errorf("%w: kubeconfig %s: %w", ErrNoCredential, path, err)
	}
	name, err := nameFrom(config, nodeName, now)
	if err != nil {
		return Credential{}, fmt.Errorf("%w: kubeconfig %s: %w", ErrNoCredential, path, err)
	}
	key := fmt.Sprintf("%s %s %x", path, name, sha256.Sum256(text))
	return Credential{Path: path, NodeName: name, config: config, key: key}, nil
}

func firstExisting(paths []string) (string, []byte, error) {
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		return path, text, err
	}
	return "", nil, fmt.Errorf("no kubeconfig at %s: this machine has not joined a cluster", strings.Join(paths, " or "))
}

// nameFrom is the override, or the name that the API server will see. Either way an expired certificate is found out here: over an
// open connection the API server would answer 401 and not say why.
func nameFrom(config *rest.Config, override string, now time.Time) (string, error) {
	cert, err := clientCertificate(config)
	if err != nil {
		return "", err
	}
	if cert != nil && now.After(cert.NotAfter) {
		return "", fmt.Errorf("the client certificate expired at %s", cert.NotAfter.UTC().Format(time.RFC3339))
	}
	if override != "" {
		return override, nil
	}
	if cert == nil || !strings.HasPrefix(cert.Subject.CommonName, nodeUser) {
		return "", fmt.Errorf("it has no client certificate for %s<name>, so the Node's name is not known; give --node-name", nodeUser)
	}
	return strings.TrimPrefix(cert.Subject.CommonName, nodeUser), nil
}

// clientCertificate is nil when the kubeconfig has none.
func clientCertificate(config *rest.Config) (*x509.Certificate, error) {
	data := config.CertData
	if len(data) == 0 {
		if config.CertFile == "" {
			return nil, nil
		}
		var err error
		if data, err = os.ReadFile(config.CertFile); err != nil {
			return nil, fmt.Errorf("reading the client certificate: %w", err)
		}
	}
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			return nil, errors.New("the client certificate holds no PEM block CERTIFICATE")
		}
		if block.Type == "CERTIFICATE" { // the kubelet keeps certificate and key in one file
			return x509.ParseCertificate(block.Bytes)
		}
	}
}
