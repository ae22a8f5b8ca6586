package controlplane

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/util/cert"
)

// CAPI is a running core manager of Cluster API.
type CAPI struct {
	// Log is the path of its log.
	Log  string
	cmd  *exec.Cmd
	done chan struct{}
}

// StartCAPI starts Cluster API's core manager on c and waits until it is ready. It ends before the control plane does.
func (c *ControlPlane) StartCAPI() (*CAPI, error) {
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(c.dir, "capi.kubeconfig")
	if err := os.WriteFile(kubeconfig, c.Kubeconfig, 0o600); err != nil {
		return nil, err
	}
	certDir, err := c.webhookCertificate()
	if err != nil {
		return nil, err
	}
	m := &CAPI{Log: filepath.Join(c.dir, "capi-core.log"), done: make(chan struct{})}
	m.cmd = exec.Command(filepath.Join(c.assets, CAPIBinary),
		"--kubeconfig="+kubeconfig,
		"--webhook-cert-dir="+certDir, "--webhook-port="+strconv.Itoa(ports[0]),
		"--health-addr=127.0.0.1:"+strconv.Itoa(ports[1]),
		"--diagnostics-address=0", "--leader-elect=false",
		"--skip-crd-migration-phases=StorageVersionMigration,CleanupManagedFields") // no old objects, and it would want more CRDs
	if err := m.start(); err != nil {
		return nil, err
	}
	if err := m.awaitReady("http://127.0.0.1:" + strconv.Itoa(ports[1]) + "/readyz"); err != nil {
		return nil, errors.Join(err, m.Stop())
	}
	return m, nil
}

func (m *CAPI) start() error {
	log, err := os.Create(m.Log)
	if err != nil {
		return err
	}
	m.cmd.Stdout, m.cmd.Stderr = log, log
	// Ctrl-C in a terminal reaches the whole foreground group; this one is stopped in order instead.
	m.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := m.cmd.Start(); err != nil {
		return fmt.Errorf("starting Cluster API: %w", err)
	}
	go func() {
		defer close(m.done)
		defer log.Close()
		_ = m.cmd.Wait() // its exit status is in the log; Stop and awaitReady only need the fact
	}()
	return nil
}

func (m *CAPI) awaitReady(url string) error {
	deadline := time.NewTimer(startTimeout)
	defer deadline.Stop()
	poll := time.NewTicker(100 * time.Millisecond)
	defer poll.Stop()
	for {
		select {
		case <-m.done:
			tail, _ := os.ReadFile(m.Log)
			return fmt.Errorf("the Cluster API manager ended while starting: %s", tail[max(0, len(tail)-2000):])
		case <-deadline.C:
			return fmt.Errorf("the Cluster API manager is not ready after %s", startTimeout)
		case <-poll.C:
			if answers(url) {
				return nil
			}
		}
	}
}

func answers(url string) bool {
	response, err := http.Get(url) //nolint:gosec,noctx // a loopback address of our own
	if err != nil {
		return false
	}
	defer response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// Stop ends the manager, by force when it does not end by itself.
func (m *CAPI) Stop() error {
	if err := m.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case <-m.done:
		return nil
	case <-time.After(stopTimeout):
		return m.cmd.Process.Kill()
	}
}

// CAPIForTest is StartCAPI for a test.
func (c *ControlPlane) CAPIForTest(t testing.TB) *CAPI {
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
