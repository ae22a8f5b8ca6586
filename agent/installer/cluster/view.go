package cluster

import "time"

// Sight is what is known about an object.
type Sight int

const (
	// Unknown means that the API server has never said.
	Unknown Sight = iota
	// Absent means that the API server said that there is none.
	Absent
	// There means that it was seen.
	There
)

// Node is the own Node as last known.
type Node struct {
	Sight Sight
	// At is when that was.
	At time.Time
	// AbsentSince is when it was first missed, and has not been seen since.
	AbsentSince time.Time
	UID         string
	Labels      map[string]string
	// MachineID is what its kubelet reports as /etc/machine-id.
	MachineID string
}

// DaemonSet is the own DaemonSet as last known.
type DaemonSet struct {
	Sight Sight
	At    time.Time
	UID   string
	// Generation changes with its spec, and not with its status.
	Generation int64
	// Deleting says that it is about to go.
	Deleting bool
	// NodeSelector of its pods.
	NodeSelector map[string]string
}

// Selects says whether the DaemonSet wants a pod on a Node with these labels, by its nodeSelector.
func (d DaemonSet) Selects(labels map[string]string) bool {
	for key, value := range d.NodeSelector {
		if got, there := labels[key]; !there || got != value {
			return false
		}
	}
	return true
}

// ConfigMap is the Node's configuration as last known.
type ConfigMap struct {
	Sight Sight
	At    time.Time
	// Text is under the key reclaim.toml; HasKey says that the key is there.
	Text   string
	HasKey bool
}

// View is everything at one moment. Each object is as old as its At says.
type View struct {
	Node      Node
	DaemonSet DaemonSet
	ConfigMap ConfigMap
	// Fault says why the last look was not complete.
	Fault error
}
