package integration

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
	"5spot.finos.org/node-reclaim/test/controlplane"
	"5spot.finos.org/node-reclaim/test/lab"
)

// A controller that dies between two steps of a removal knows nothing of the second when it is back. Here it is killed (SIGKILL) when
// the API server has carried a request out and before the controller gets the answer.
func TestControllerKilledDuringARemoval(t *testing.T) {
	for i, moment := range []struct {
		name string
		is   func(*http.Request, string) bool
	}{
		{"right after it stored the marker", func(r *http.Request, body string) bool {
			return strings.HasSuffix(r.URL.Path, "/status") && strings.Contains(body, `"reclaim":{`)
		}},
		{"right after the schedule was disabled", func(r *http.Request, body string) bool {
			return r.Method == http.MethodPatch && strings.Contains(body, `"enabled":false`)
		}},
		{"right after the Machine's DELETE", func(r *http.Request, _ string) bool {
			return r.Method == http.MethodDelete && strings.Contains(r.URL.Path, "/machines/")
		}},
	} {
		t.Run(moment.name, func(t *testing.T) {
			controlplane.Require(t)
			l := shared
			fuse := newFuse(t, controller.config, moment.is)
			doomed := startController(t, fuse.kubeconfig(t))
			fuse.arm(func() { _ = doomed.cmd.Process.Signal(syscall.SIGKILL) })
			name := fmt.Sprintf("crash-%d", i)
			sm := lab.ScheduledMachine(name, fmt.Sprintf("10.0.1.%d", 100+i), "java")
			active(t, l, sm)
			first := machineUID(t, l, name)
			require.NoError(t, annotate(t, l, name, name, request...))
			require.Eventually(t, func() bool { return !doomed.running() }, patience, poll, "the moment never came")

			startController(t, controller.kubeconfig)
			awaitPhase(t, l, sm, v1alpha1.PhaseDisabled)
			got := read(t, l, sm)
			require.Equal(t, first, got.Status.Reclaim.MachineUID)
			require.False(t, *got.Spec.Schedule.Enabled)
			require.False(t, nodeExists(t, l, name))
			require.Empty(t, podsOf(t, l, name))
			require.Equal(t, 1, eventsOf(t, l, sm)["EmergencyReclaim"])
			require.Never(t, func() bool { return machineUID(t, l, name) != "" }, stillness, poll, "a second Machine appeared")
			remove(t, l, sm) // while its controller runs
		})
	}
}

// fuse is a proxy before an API server that blows once, between a request and its answer.
type fuse struct {
	server *httptest.Server
	once   sync.Once
	mu     sync.Mutex
	blow   func()
}

func newFuse(t *testing.T, upstream *rest.Config, is func(*http.Request, string) bool) *fuse {
	t.Helper()
	f := &fuse{}
	target, err := url.Parse(upstream.Host)
	require.NoError(t, err)
	tlsConfig, err := rest.TLSConfigFor(upstream)
	require.NoError(t, err)
	// The proxy brings the credential: over plain HTTP the client sends none.
	transport, err := rest.HTTPWrappersForConfig(upstream,
		&http.Transport{TLSClientConfig: tlsConfig, TLSNextProto: map[string]func(string, *tls.Conn) http.RoundTripper{}})
	require.NoError(t, err)
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     transport,
		FlushInterval: -1, // watches
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) {},
	}
	f.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := bodyOf(r)
		if !is(r, body) {
			proxy.ServeHTTP(w, r)
			return
		}
		proxy.ServeHTTP(httptest.NewRecorder(), r)
		f.once.Do(f.fire)
		<-r.Context().Done() // the answer is never given
	}))
	t.Cleanup(func() {
		f.server.CloseClientConnections()
		f.server.Close()
	})
	return f
}

func (f *fuse) arm(blow func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.blow = blow
}

func (f *fuse) fire() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.blow()
}

func (f *fuse) kubeconfig(t *testing.T) []byte {
	t.Helper()
	config, err := clientcmd.Load(controller.kubeconfig)
	require.NoError(t, err)
	for _, cluster := range config.Clusters {
		cluster.Server, cluster.CertificateAuthorityData = f.server.URL, nil
	}
	data, err := clientcmd.Write(*config)
	require.NoError(t, err)
	return data
}
