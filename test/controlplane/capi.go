package controlplane

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"k8s.io/client-go/util/cert"
)

// StartCAPI starts Cluster API's core manager on c and waits until it is ready. It ends before the control plane does.
func (c *ControlPlane) StartCAPI() (*Program, error) {
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	kubeconfig, err := c.kubeconfigFile()
	if err != nil {
		return nil, err
	}
	certDir, err := c.webhookCertificate()
	if err != nil {
		return nil, err
	}
	m, err := c.start(CAPIBinary,
		"--kubeconfig="+kubeconfig,
		"--webhook-cert-dir="+certDir, "--webhook-port="+strconv.Itoa(ports[0]),
		"--health-addr=127.0.0.1:"+strconv.Itoa(ports[1]),
		"--diagnostics-address=0", "--leader-elect=false",
		"--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields") // no old objects, and it would want more CRDs
	if err != nil {
		return nil, err
	}
	if err := m.awaitReady("http://127.0.0.1:" + strconv.Itoa(ports[1]) + "/readyz"); err != nil {
		return nil, errors.Join(err, m.Stop())
	}
	return m, nil
}

// CAPIForTest is StartCAPI for a test.
func (c *ControlPlane) CAPIForTest(t testing.TB) *Program {
	t.Helper()
	m, err := c.StartCAPI()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Stop(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// webhookCertificate makes the key pair without which the manager does not start, although no webhook is configured.
func (c *ControlPlane) webhookCertificate() (string, error) {
	dir := filepath.Join(c.dir, "webhook")
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", nil, nil)
	if err != nil {
		return "", fmt.Errorf("making the webhook's certificate: %w", err)
	}
	return dir, errors.Join(
		os.MkdirAll(dir, 0o700),
		os.WriteFile(filepath.Join(dir, "tls.crt"), certificate, 0o600),
		os.WriteFile(filepath.Join(dir, "tls.key"), key, 0o600))
}

// freePorts asks the kernel for n distinct free ports.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // closed at once
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
