// Package controlplane starts real control planes on loopback for tests and for the demo: etcd and kube-apiserver, with the Node
// authorizer and NodeRestriction, and Cluster API's core manager beside them. The binaries come from tools/controlplane.
//
// It must not know the product: what is installed into a control plane is the caller's.
//
//	cp, err := controlplane.Start(controlplane.Options{CRDs: []string{"deploy/crds"}})
//	defer cp.Stop()
//	kubelet, err := cp.Node("ws-1") // may touch its own Node only
package controlplane
