package systemdnode

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"5spot.finos.org/node-reclaim/agent/proctest"
)

const (
	patience = 2 * time.Minute
	poll     = 50 * time.Millisecond
	// powerOffTimeout is for an orderly end; after it, the node is killed.
	powerOffTimeout = 30 * time.Second
	// powerOff is systemd's signal for it: SIGRTMIN+4.
	powerOff = syscall.Signal(34 + 4)
)

// Options of a Node.
type Options struct {
	// Name of the machine, and its host name.
	Name string
	// Furnish puts files into root before the boot. It is an empty directory that is laid over the image.
	Furnish func(root string) error
	// CgroupV1 boots with this machine's version 1 hierarchies, as far as it has them, instead of version 2.
	CgroupV1 bool
	// Args are further arguments of systemd-nspawn.
	Args []string
}

// Node is a running systemd.
type Node struct {
	t      testing.TB
	cmd    *exec.Cmd
	ended  chan struct{}
	log    bytes.Buffer
	leader int
}

// Boot starts a node and waits until its boot is over. It ends with the test, which is skipped without root or the programs; in CI it
// fails then.
func Boot(t testing.TB, o Options) *Node {
	t.Helper()
	proctest.NeedRoot(t)
	need(t, "systemd-nspawn", "systemd-container")
	need(t, "nsenter", "util-linux")
	lower, layer := image(t), t.TempDir()
	for _, dir := range []string{"upper", "work", "root"} {
		require.NoError(t, os.Mkdir(filepath.Join(layer, dir), 0o755))
	}
	if o.Furnish != nil {
		require.NoError(t, o.Furnish(filepath.Join(layer, "upper")))
	}
	n := &Node{t: t, cmd: command(o, lower, layer), ended: make(chan struct{})}
	n.cmd.Stdout, n.cmd.Stderr = &n.log, &n.log
	require.NoError(t, n.cmd.Start())
	go func() { defer close(n.ended); _ = n.cmd.Wait() }()
	t.Cleanup(n.Stop)
	n.await("has no PID 1", func() bool { n.leader = n.findLeader(); return n.leader != 0 })
	n.await("does not come up", n.up)
	return n
}

// command is start.sh, which becomes systemd-nspawn. The layers are mounted in a mount namespace of its own: however it ends, no mount is
// left.
func command(o Options, lower, layer string) *exec.Cmd {
	args := []string{"--quiet", "--boot", "--register=no", "--keep-unit", "--machine=" + o.Name, "--link-journal=no", "--resolv-conf=off",
		"--timezone=off", "--console=pipe"}
	cmd := exec.Command("unshare", append([]string{"--mount", "--propagation", "slave", "./start.sh", lower, layer}, append(args, o.Args...)...)...)
	cmd.Dir = packageDir()
	unified := "1"
	if o.CgroupV1 {
		unified = "0"
	}
	cmd.Env = append(os.Environ(), "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY="+unified)
	// A test that is killed takes its node along.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
	return cmd
}

// Leader is the PID of the node's systemd as this machine sees it.
func (n *Node) Leader() int { return n.leader }

// Root is the node's file system as its own processes see it.
func (n *Node) Root() string { return fmt.Sprintf("/proc/%d/root", n.leader) }

// Path is where a file of the node is on this machine.
func (n *Node) Path(name string) string { return filepath.Join(n.Root(), name) }

// Enter is a command that will run inside the node.
func (n *Node) Enter(command ...string) *exec.Cmd {
	return exec.Command("nsenter", append([]string{"-t", strconv.Itoa(n.leader), "-m", "-u", "-i", "-p", "-C", "--"}, command...)...)
}

// Run carries out a command inside the node, which must succeed, and gives what it printed.
func (n *Node) Run(command ...string) string {
	n.t.Helper()
	out, err := n.Enter(command...).CombinedOutput()
	require.NoError(n.t, err, "%v: %s", command, out)
	return strings.TrimSpace(string(out))
}

// Again runs the test of that name once more inside the node, where it can talk to systemd, and gives all it printed. It must pass.
func (n *Node) Again(name string) string {
	n.t.Helper()
	const program = "/opt/test"
	self, err := os.ReadFile("/proc/self/exe")
	require.NoError(n.t, err)
	require.NoError(n.t, os.WriteFile(n.Path(program), self, 0o755))
	return proctest.AgainBy(n.t, name, program, n.Enter)
}

// MachineID is the node's.
func (n *Node) MachineID() string {
	n.t.Helper()
	text, err := os.ReadFile(n.Path("/etc/machine-id"))
	require.NoError(n.t, err)
	return strings.TrimSpace(string(text))
}

// Stop powers the node off and removes the cgroups that it leaves behind. Once is enough.
func (n *Node) Stop() {
	if n.leader != 0 {
		_ = syscall.Kill(n.leader, powerOff)
	}
	select {
	case <-n.ended:
	case <-time.After(powerOffTimeout):
		_ = n.cmd.Process.Kill()
		<-n.ended
	}
	n.leader = 0
	for _, hierarchy := range []string{"", "unified", "systemd"} {
		top := filepath.Join("/sys/fs/cgroup", hierarchy, fmt.Sprintf("5spot-node-%d", n.cmd.Process.Pid))
		_ = exec.Command("find", top, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";").Run()
	}
}

func (n *Node) await(fault string, done func() bool) {
	n.t.Helper()
	deadline := time.Now().Add(patience)
	for !done() {
		select {
		case <-n.ended:
			require.FailNow(n.t, "systemd-nspawn has ended", n.log.String())
		case <-time.After(poll):
		}
		if time.Now().After(deadline) {
			n.Stop() // it writes to the log until then
			require.FailNow(n.t, "the node "+fault, n.log.String())
		}
	}
}

// findLeader is the child of systemd-nspawn that is PID 1 of a namespace, once it has become systemd; else zero.
func (n *Node) findLeader() int {
	children, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", n.cmd.Process.Pid))
	for _, child := range strings.Fields(string(children)) {
		status, _ := os.ReadFile("/proc/" + child + "/status")
		if strings.HasPrefix(string(status), "Name:\tsystemd\n") && strings.Contains(string(status), "\nNSpid:\t"+child+"\t1\n") {
			pid, _ := strconv.Atoi(child)
			return pid
		}
	}
	return 0
}

// up: a unit that cannot work in a container may have failed, and it is a boot all the same.
func (n *Node) up() bool {
	out, err := n.Enter("systemctl", "is-system-running").Output()
	var failed *exec.ExitError
	return err == nil || errors.As(err, &failed) && strings.TrimSpace(string(out)) == "degraded"
}
