package integration

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/test/logbuffer"
)

// process is a controller in a process of its own.
type process struct {
	cmd  *exec.Cmd
	log  *logbuffer.Buffer
	done chan struct{}
}

// startController starts the controller under a kubeconfig; it ends with the test at the latest. Alone, it needs no Lease, and does not wait
// for that of one that was killed before.
func startController(t *testing.T, kubeconfig []byte, flags ...string) *process {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, kubeconfig, 0o600))
	p := &process{log: &logbuffer.Buffer{}, done: make(chan struct{})}
	p.cmd = exec.Command(os.Args[0], append([]string{
		"--kubeconfig=" + file, "--health-address=0", "--metrics-address=0", "--leader-elect=false", "--log-format=json",
	}, flags...)...)
	p.cmd.Env = append(os.Environ(), asController+"=1")
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	require.NoError(t, p.cmd.Start())
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait()
	}()
	t.Cleanup(func() {
		p.signal(syscall.SIGTERM)
		if t.Failed() {
			t.Log("controller:\n" + p.log.String())
		}
	})
	return p
}

// freeAddress is one that nobody listens on now.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// get is the answer to an HTTP GET: 0 while nobody answers.
func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

// signal sends a signal and waits for the end.
func (p *process) signal(s os.Signal) {
	_ = p.cmd.Process.Signal(s) // it may have ended already
	<-p.done
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// bodyOf reads a request's body and leaves it readable.
func bodyOf(r *http.Request) string {
	if r.Body == nil {
		return ""
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return ""
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return string(body)
}
