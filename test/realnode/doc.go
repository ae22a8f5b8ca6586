// Package realnode runs what is installed on a child cluster on a node that is one: systemd as PID 1, containerd, and a kubelet that
// joins the lab's child cluster when Cluster API makes a Machine of it. Controller, Cluster API and control planes are real, too; only
// k0smotron's SSH is played: the stand-in tells the node to join and to leave. The kernel's process events do not reach a container,
// so the agent sweeps here; test/node has them.
//
// It needs root, the Debian packages systemd-container and debootstrap, and the binaries of `make controlplane-node`.
package realnode
