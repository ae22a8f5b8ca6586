package stubk0smotron

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// Options say how the hosts behave. The zero value is a host that joins and leaves at once and runs no pods.
type Options struct {
	// ProvisionTime is how long the host takes to join. 0 means at once.
	ProvisionTime time.Duration
	// HostStopTime is how long stopping and cleaning the host takes, from the moment its kubelet ends. 0 means at once. On a
	// real host it grows with the pods whose containers still run.
	HostStopTime time.Duration
	// PodKillTime is how long a deleted pod's containers take to die. 0 means 2 s: what a kubelet gives containers that ignore
	// SIGTERM when the grace period is one second.
	PodKillTime time.Duration
	// HeartbeatInterval is the time between two status updates of a Node. 0 means 10 s, the kubelet's own.
	HeartbeatInterval time.Duration
	// Host describes the host at an address. Without it every host is Host{}.
	Host func(address string) Host
}

// Host is what a workstation brings along.
type Host struct {
	// Hostname names the Node where the K0sWorkerConfig says useSystemHostname; everywhere else the Machine's name does.
	// Empty means the address.
	Hostname string
	// MachineID is the content of /etc/machine-id. Empty means one derived from the address.
	MachineID string
	// KubeletVersion is what the Node reports. Empty means v1.37.2.
	KubeletVersion string
	// Pods are put on the Node when it has joined.
	Pods []Pods
	// Real is the host itself, where there is one. Of the rest only Hostname counts then: the kubelet is the host's own.
	Real RealHost
}

// RealHost is a host that exists, reached as k0smotron reaches one over SSH.
type RealHost interface {
	// Join starts a kubelet that will register a Node of that name, with that provider ID and those labels.
	Join(ctx context.Context, nodeName, providerID string, labels map[string]string) error
	// Leave ends the kubelet and what it runs. The Node stays. It may be called before Join.
	Leave(ctx context.Context) error
}

// PodKind is what created a pod.
type PodKind string

// Kinds of pods. The zero value is a plain pod without an owner.
const (
	PlainPod     PodKind = ""
	DaemonSetPod PodKind = "DaemonSet"
	MirrorPod    PodKind = "Mirror"
)

// Pods are a number of equal pods on one Node.
type Pods struct {
	// Name is the first part of the pods' names, and the name of their DaemonSet and PodDisruptionBudget.
	Name string
	// Namespace is created when it is not there. Empty means "default".
	Namespace string
	Count     int
	Kind      PodKind
	Labels    map[string]string
	// Finalizers keep a pod Terminating after its containers have died, as those of a Job do.
	Finalizers []string
	// ForbidEviction puts a PodDisruptionBudget without any allowance over all pods with these Labels.
	ForbidEviction bool
}

func (o Options) withDefaults() Options {
	if o.PodKillTime == 0 {
		o.PodKillTime = 2 * time.Second
	}
	if o.HeartbeatInterval == 0 {
		o.HeartbeatInterval = 10 * time.Second
	}
	if o.Host == nil {
		o.Host = func(string) Host { return Host{} }
	}
	return o
}

// host is the described host at address, complete.
func (o Options) host(address string) Host {
	h := o.Host(address)
	if h.Hostname == "" {
		h.Hostname = address
	}
	if h.MachineID == "" {
		sum := sha256.Sum256([]byte(address))
		h.MachineID = hex.EncodeToString(sum[:16])
	}
	if h.KubeletVersion == "" {
		h.KubeletVersion = "v1.37.2"
	}
	return h
}
