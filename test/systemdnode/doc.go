// Package systemdnode boots a real systemd as PID 1 of a small Debian, in a container of systemd-nspawn, for tests of what is installed
// on a host: the system manager itself answers on /run/systemd/private, and files, units and jobs are real. The network is this
// machine's, so that a control plane on loopback is within reach. The kernel's process events are not: they go to the initial PID
// namespace alone.
//
// It must not know what is installed.
//
//	n := systemdnode.Boot(t, systemdnode.Options{Name: "ws-1"})
//	out, err := n.Enter("systemctl", "status").CombinedOutput()
//	text, err := os.ReadFile(n.Path("/etc/machine-id"))
//
// A node is thrown away with its test. The root file system below it is made once by debootstrap and kept in the user's cache
// directory; each node writes to a layer of its own above. A program that talks to the node's systemd has to be in its PID namespace,
// or systemd hangs up on a client that it cannot see: run it with Enter.
package systemdnode
