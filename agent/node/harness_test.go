package node

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/test/controlplane"
)

const (
	patience = 30 * time.Second
	hostUUID = "3d1219c7c4c5404aaa1f6d2a48adfda4"
)

// cluster is a real API server with an administrator.
type cluster struct {
	*controlplane.ControlPlane
	admin client.Client
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	cp := controlplane.ForTest(t, controlplane.Options{})
	admin, err := client.New(cp.Config, client.Options{})
	require.NoError(t, err)
	return &cluster{ControlPlane: cp, admin: admin}
}

// node makes a Node as a kubelet on this host would.
func (c *cluster) node(t *testing.T, name, machineID string) *corev1.Node {
	t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	require.NoError(t, c.admin.Create(t.Context(), n))
	c.report(t, n, machineID)
	return n
}

// report is the kubelet's status update.
func (c *cluster) report(t *testing.T, n *corev1.Node, machineID string) {
	t.Helper()
	n.Status.NodeInfo.MachineID = machineID
	require.NoError(t, c.admin.Status().Update(t.Context(), n))
}

// host is the directory of a workstation: kubeconfig, certificate, machine id.
type host struct {
	t      *testing.T
	dir    string
	config *rest.Config
}

func (c *cluster) host(t *testing.T, name string) *host {
	t.Helper()
	h := &host{t: t, dir: t.TempDir()}
	h.config = c.kubelet(t, name)
	h.write("machine-id", []byte(hostUUID+"\n"))
	h.write("ca.pem", h.config.CAData)
	h.write("kubelet.pem", h.config.CertData, h.config.KeyData)
	h.join(h.config.Host)
	return h
}

func (c *cluster) kubelet(t *testing.T, name string) *rest.Config {
	t.Helper()
	user, err := c.Node(name)
	require.NoError(t, err)
	return user.Config()
}

func (h *host) path(name string) string { return filepath.Join(h.dir, name) }

func (h *host) write(name string, parts ...[]byte) {
	h.t.Helper()
	var all []byte
	for _, p := range parts {
		all = append(append(all, p...), '\n')
	}
	require.NoError(h.t, os.WriteFile(h.path(name)+".new", all, 0o600))
	require.NoError(h.t, os.Rename(h.path(name)+".new", h.path(name)))
}

// join writes the kubeconfig, leave removes it.
func (h *host) join(server string) {
	h.write("kubelet.conf", []byte(kubeconfig(server, h.path("ca.pem"), byFile)))
}

func (h *host) leave() { require.NoError(h.t, os.Remove(h.path("kubelet.conf"))) }

// link runs a Link on the host.
func (h *host) link() *Link {
	l := NewLink(Options{
		Kubeconfigs:   []string{h.path("kubelet.conf")},
		MachineIDFile: h.path("machine-id"),
		Version:       "test",
		Clock:         clock.RealClock{},
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); l.Run(ctx) }()
	h.t.Cleanup(func() { cancel(); <-done })
	return l
}

// await reads views until one has that standing.
func await(t *testing.T, l *Link, s Standing) View {
	t.Helper()
	deadline := time.After(patience)
	var last View
	for {
		select {
		case last = <-l.Views():
			if last.Standing == s {
				return last
			}
		case <-deadline:
			require.FailNow(t, "not seen", "want %q, last %+v", s, last)
		}
	}
}

// wire is a TCP relay to the API server that can go dead the way a network does: what is open stays open and says nothing.
type wire struct {
	net.Listener
	to  string
	mu  sync.Mutex
	cut chan struct{}
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	w := &wire{Listener: l, to: to, cut: make(chan struct{})}
	go w.serve()
	t.Cleanup(func() { _ = l.Close() })
	return w
}

func (w *wire) serve() {
	for {
		near, err := w.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", w.to)
		if err != nil {
			_ = near.Close()
			continue
		}
		cut := w.current()
		go relay(near, far, cut)
		go relay(far, near, cut)
	}
}

func (w *wire) current() chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cut
}

// goDead silences every open connection for good. New ones work.
func (w *wire) goDead() {
	w.mu.Lock()
	defer w.mu.Unlock()
	close(w.cut)
	w.cut = make(chan struct{})
}

func relay(to, from net.Conn, cut chan struct{}) {
	defer to.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		select {
		case <-cut:
			_, _ = io.Copy(io.Discard, from)
			return
		default:
		}
		if err != nil {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}
