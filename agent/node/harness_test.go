package node

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"5spot.finos.org/node-reclaim/test/controlplane"
	"5spot.finos.org/node-reclaim/test/workstation"
)

const patience = 30 * time.Second

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

// host is a workstation whose files change in the course of a test.
type host struct {
	*workstation.Workstation
	t *testing.T
}

func (c *cluster) host(t *testing.T, name string) *host {
	t.Helper()
	w, err := workstation.New(c.ControlPlane, name, t.TempDir())
	require.NoError(t, err)
	return &host{Workstation: w, t: t}
}

// registered is a host whose Node is there.
func (c *cluster) registered(t *testing.T, name string) *host {
	t.Helper()
	h := c.host(t, name)
	h.register()
	return h
}

func (h *host) register() *corev1.Node {
	h.t.Helper()
	n, err := h.Register(h.t.Context())
	require.NoError(h.t, err)
	return n
}

// link runs a Link on the host.
func (h *host) link() *Link {
	l := NewLink(Options{
		Kubeconfigs:   []string{h.Kubeconfig()},
		MachineIDFile: h.MachineIDFile(),
		Version:       "test",
		Clock:         clock.RealClock{},
	})
	l.recheck = 100 * time.Millisecond
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
