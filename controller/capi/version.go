package capi

import "k8s.io/apimachinery/pkg/runtime/schema"

// Version is a version of the cluster.x-k8s.io API. CAPI before 1.11 serves v1beta1 alone, CAPI from 1.16 on v1beta2 alone.
type Version string

// The versions that differ in shape.
const (
	V1Beta1 Version = "v1beta1"
	V1Beta2 Version = "v1beta2"
)

// Group is the API group of Machine and Cluster.
const Group = "cluster.x-k8s.io"

// Keys with which Cluster API reads its objects.
const (
	// ClusterNameLabel is on every object that belongs to a Cluster.
	ClusterNameLabel = "cluster.x-k8s.io/cluster-name"
	// ExcludeDrainAnnotation, when present on a Machine, keeps CAPI from draining its Node.
	ExcludeDrainAnnotation = "machine.cluster.x-k8s.io/exclude-node-draining"
	// ExcludeVolumeDetachAnnotation, when present on a Machine, keeps CAPI from waiting for its Node's volumes.
	ExcludeVolumeDetachAnnotation = "machine.cluster.x-k8s.io/exclude-wait-for-node-volume-detach"

	pausedAnnotation       = "cluster.x-k8s.io/paused"
	preDrainHookPrefix     = "pre-drain.delete.hook.machine.cluster.x-k8s.io"
	preTerminateHookPrefix = "pre-terminate.delete.hook.machine.cluster.x-k8s.io"
)

// MachineKind is the Machine in this version.
func (v Version) MachineKind() schema.GroupVersionKind { return v.kind("Machine") }

// ClusterKind is the Cluster in this version.
func (v Version) ClusterKind() schema.GroupVersionKind { return v.kind("Cluster") }

func (v Version) kind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: Group, Version: string(v), Kind: kind}
}
