package integration

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// process is a controller in a process of its own.
type process struct {
	cmd  *exec.Cmd
	log  *lockedBuffer
	done chan struct{}
}

// startController starts the controller under a kubeconfig; it ends with the test at the latest.
func startController(t *testing.T, kubeconfig []byte) *process {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(file, kubeconfig, 0o600))
	p := &process{log: &lockedBuffer{}, done: make(chan struct{})}
	p.cmd = exec.Command(os.Args[0], "--kubeconfig="+file, "--health-address=0", "--metrics-address=0")
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

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(data)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
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
