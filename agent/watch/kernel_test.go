package watch

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/utils/clock"

	"5spot.finos.org/node-reclaim/agent/connector"
	"5spot.finos.org/node-reclaim/agent/proctest"
)

// agent is an Observer in a process of its own, looking for the command java, which prints what it has to tell.
type agent struct {
	t    *testing.T
	cmd  *exec.Cmd
	said chan line
}

// line is one thing that the agent tells.
type line struct {
	Rung     *Rung
	Match    *Match
	Counters Counters
}

// startAgent runs the agent in new namespaces, given as CLONE_NEW… flags, with a receive buffer of that many bytes.
func startAgent(t *testing.T, namespaces uintptr, receiveBuffer int) *agent {
	t.Helper()
	proctest.NeedRoot(t)
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestTheAgentItself$")
	// It is killed in the end, and cannot remove its temporary files itself.
	cmd.Env = append(os.Environ(), "RECEIVE_BUFFER="+strconv.Itoa(receiveBuffer), "TMPDIR="+t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	a := &agent{t: t, cmd: cmd, said: make(chan line, 1000)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		a.listen(out)
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-read
		_ = cmd.Wait()
	})
	return a
}

// listen takes in what the agent tells, until it ends. Nobody need want to know.
func (a *agent) listen(out io.Reader) {
	for scanner := bufio.NewScanner(out); scanner.Scan(); {
		var l line
		if json.Unmarshal(scanner.Bytes(), &l) != nil {
			continue
		}
		select {
		case a.said <- l:
		default:
		}
	}
}

// TestTheAgentItself is the agent of the tests below; on its own it is nothing.
func TestTheAgentItself(t *testing.T) {
	receiveBuffer, err := strconv.Atoi(os.Getenv("RECEIVE_BUFFER"))
	if err != nil {
		return
	}
	if os.Getpid() == 1 {
		require.NoError(t, syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""))
		require.NoError(t, syscall.Mount("proc", "/proc", "proc", 0, ""))
		proctest.Sleeper(t, "other") // or else it would be alone
	}
	o := New(Options{
		Root: "/proc", Self: os.Getpid(), Clock: clock.RealClock{}, Log: slog.New(slog.DiscardHandler), Beat: func() {},
		Dial: func(ctx context.Context) (Feed, error) { return connector.Dial(ctx, receiveBuffer) },
	})
	go func() { _ = o.Run(t.Context()) }()
	o.Arm(commands("java"))
	tell := json.NewEncoder(os.Stdout)
	again := false
	for { // until it is killed
		l := line{}
		select {
		case r := <-o.Rungs():
			l.Rung = &r
		case m := <-o.Matches():
			l.Match = &m
			again = true
		case <-time.After(100 * time.Millisecond):
			if again {
				o.Arm(commands("java"))
				again = false
			}
		}
		l.Counters = o.Counters()
		require.NoError(t, tell.Encode(l))
	}
}

// until reads what the agent tells until that satisfies want.
func (a *agent) until(what string, want func(line) bool) line {
	a.t.Helper()
	deadline := time.After(60 * time.Second)
	for {
		select {
		case l := <-a.said:
			if want(l) {
				return l
			}
		case <-deadline:
			require.FailNow(a.t, "the agent has not told: "+what)
		}
	}
}

func (a *agent) rung() Rung {
	a.t.Helper()
	return *a.until("its rung", func(l line) bool { return l.Rung != nil }).Rung
}

func (a *agent) finds(pid int) {
	a.t.Helper()
	a.until(fmt.Sprintf("process %d", pid), func(l line) bool { return l.Match != nil && l.Match.PID == pid })
}

func (a *agent) signal(s os.Signal) { require.NoError(a.t, a.cmd.Process.Signal(s)) }

// cpu is the processor time that the agent has used.
func (a *agent) cpu() time.Duration {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(a.cmd.Process.Pid), "stat"))
	require.NoError(a.t, err)
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, err := strconv.Atoi(fields[11])
	require.NoError(a.t, err)
	system, err := strconv.Atoi(fields[12])
	require.NoError(a.t, err)
	return time.Duration(user+system) * 10 * time.Millisecond // ticks of USER_HZ
}

// storm makes n execs as fast as a shell can: one that replaces itself over and over, on each processor.
func storm(t *testing.T, n int) {
	t.Helper()
	script := filepath.Join(t.TempDir(), "again")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/dash\n[ \"$1\" = 0 ] || exec \"$0\" $(($1-1))\n"), 0o755))
	var chains sync.WaitGroup
	for range runtime.NumCPU() {
		chains.Go(func() { _ = exec.Command(script, strconv.Itoa(n/runtime.NumCPU())).Run() })
	}
	chains.Wait()
}

func TestCase21_AnotherPIDNamespace(t *testing.T) {
	proctest.NeedRoot(t)
	listener, err := connector.Dial(t.Context(), connector.ReceiveBuffer) // lets the host's events through to everybody
	require.NoError(t, err)
	defer listener.Close()

	a := startAgent(t, syscall.CLONE_NEWPID|syscall.CLONE_NEWNS, connector.ReceiveBuffer)
	rung := a.rung()
	require.Equal(t, RungSweep, rung.Name)
	require.Contains(t, rung.Why, "no ACK within 1s")
	proctest.Sleeper(t, "java")
	l := a.until("some more sweeps", func(l line) bool { return l.Counters.Sweeps > 5 })
	require.Zero(t, l.Counters.Execs, "the host's events are not looked at")
	require.Nil(t, l.Match)
}

func TestCase23_AnotherNetworkNamespace(t *testing.T) {
	a := startAgent(t, syscall.CLONE_NEWNET, connector.ReceiveBuffer)
	rung := a.rung()
	require.Equal(t, RungSweep, rung.Name)
	require.Contains(t, rung.Why, "in a network namespace of its own")
	a.finds(proctest.Sleeper(t, "java").Pid)
}

func TestCase26_StoppedDuringAStorm(t *testing.T) {
	// The product's buffer may just hold 20,000 execs. Half of it does not.
	a := startAgent(t, 0, connector.ReceiveBuffer/2)
	require.Equal(t, RungConnector, a.rung().Name)
	a.signal(syscall.SIGSTOP)
	stopped := time.Now()
	storm(t, 10_000)
	java := proctest.Sleeper(t, "java")
	storm(t, 10_000)
	<-time.After(3*time.Second - time.Since(stopped))
	a.signal(syscall.SIGCONT)
	a.finds(java.Pid)
	require.NoError(t, java.Kill())
	a.until("the overflow", func(l line) bool {
		require.Nil(t, l.Rung, "the rung is as it was")
		return l.Counters.Overflows > 0
	})
	java = proctest.Sleeper(t, "java")
	a.finds(java.Pid)
	require.NoError(t, java.Kill())

	t.Run("Case 27 and then it does not spin", func(t *testing.T) {
		before := a.cpu()
		<-time.After(5 * time.Second)
		require.Less(t, a.cpu()-before, 500*time.Millisecond, "in 5 s; spinning takes all of them")
	})
}

func TestCase28_ATinyReceiveBuffer(t *testing.T) {
	a := startAgent(t, 0, 4096)
	require.Equal(t, RungConnector, a.rung().Name)
	a.signal(syscall.SIGSTOP) // an agent that is quick enough never overflows
	storm(t, 100)
	java := proctest.Sleeper(t, "java")
	storm(t, 100)
	a.signal(syscall.SIGCONT)
	a.finds(java.Pid)
	require.NoError(t, java.Kill())
	a.until("an overflow", func(l line) bool { return l.Counters.Overflows > 0 })
}

func TestCase30_ARealProcessThatRunsAlready(t *testing.T) {
	java := proctest.Sleeper(t, "java")
	a := startAgent(t, 0, connector.ReceiveBuffer)
	a.finds(java.Pid)
}
