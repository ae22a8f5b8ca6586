package connector

import (
	"context"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/agent/proctest"
)

func TestTheKernelReportsAnExec(t *testing.T) {
	proctest.NeedRoot(t)
	c, err := Dial(t.Context(), ReceiveBuffer)
	require.NoError(t, err)
	defer c.Close()
	cmd := exec.Command("/bin/true")
	require.NoError(t, cmd.Run())
	for next(t, c) != cmd.Process.Pid { // others' come in between
	}
}

func TestTheKernelAnswersAProbe(t *testing.T) {
	proctest.NeedRoot(t)
	c, err := Dial(t.Context(), ReceiveBuffer)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.ask())
	for c.awaited {
		_, err := c.receive()
		require.NoError(t, err)
	}
}

func TestCloseEndsAWaitingNext(t *testing.T) {
	proctest.NeedRoot(t)
	c, err := Dial(t.Context(), ReceiveBuffer)
	require.NoError(t, err)
	ended := make(chan error)
	go func() {
		var err error
		for err == nil {
			_, err = c.Next()
		}
		ended <- err
	}()
	require.NoError(t, c.Close())
	select {
	case err := <-ended:
		require.Error(t, err)
	case <-time.After(5 * time.Second):
		t.Fatal("Next still waits")
	}
}

func TestDialEndsWithItsContext(t *testing.T) {
	proctest.NeedRoot(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Dial(ctx, ReceiveBuffer)
	require.ErrorIs(t, err, context.Canceled)
}

// TestCasesWithoutConnector: each environment has its own reason, in words.
func TestCasesWithoutConnector(t *testing.T) {
	if proctest.SecondLife() {
		_, err := Dial(t.Context(), ReceiveBuffer)
		t.Log("reason:", err)
		return
	}
	proctest.NeedRoot(t)
	for name, tt := range map[string]struct {
		namespaces uintptr
		want       string
	}{
		"Case 23 unshare -n":          {syscall.CLONE_NEWNET, "connection refused: in a network namespace of its own"},
		"Case 21 unshare -p":          {syscall.CLONE_NEWPID, "no ACK within 1s: in a PID or user namespace of its own"},
		"a user namespace of its own": {syscall.CLONE_NEWUSER, "no ACK within 1s: in a PID or user namespace of its own"},
	} {
		t.Run(name, func(t *testing.T) {
			listener, err := Dial(t.Context(), ReceiveBuffer) // lets the host's events through to everybody
			require.NoError(t, err)
			defer listener.Close()
			require.Contains(t, proctest.Again(t, "TestCasesWithoutConnector", tt.namespaces), tt.want)
		})
	}
}
