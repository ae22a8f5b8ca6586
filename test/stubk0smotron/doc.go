// Package stubk0smotron stands in for k0smotron's two controllers, and for the hosts that they reach over SSH, so that Cluster
// API's real core manager can take a Machine through its whole life without a host. It must not know the product: what it does
// is what k0smotron 2.x was seen to do, whoever asks.
//
//	hosts, err := stubk0smotron.SetupWithManager(mgr, stubk0smotron.Options{HostStopTime: 3 * time.Second})
//	err = stubk0smotron.CreateCluster(ctx, c, types.NamespacedName{Namespace: "team-a", Name: "child"}, kubeconfig)
//	// From here a Machine with a K0sWorkerConfig and a RemoteMachine becomes a Node of that child.
//
// The management cluster needs Cluster API's CRDs and those of [CRDDirectory]; the child's API server needs the Node authorizer.
//
// # Imitated
//
// Bootstrap: a K0sWorkerConfig that a Machine owns gets its data Secret.
//
// Infrastructure: a RemoteMachine gets its finalizer, waits for the bootstrap data, and blocks one of five workers while its host
// is provisioned; then come the provider ID and the status of both contracts, v1beta1 and v1beta2. On delete it blocks a worker
// while the host is stopped and cleaned, and only then loses the finalizer. One that is deleted before its Machine has bootstrap
// data stays for ever, as with k0smotron.
//
// Hosts: a host that joins runs a kubelet under the Node's own identity. It registers the Node, once: a Node that is deleted
// while its kubelet runs does not come back. It sends heartbeats, starts pods, and removes a pod that was deleted with a grace
// period once its containers had time to die. When the host's stop begins, the kubelet ends at once and finishes nothing any
// more. [Hosts.Reboot] brings a host back that the stop never reached: it registers with the credential that it still has.
//
// # Not imitated
//
// SSH and its failures, the containers themselves, mirror pods coming back after a delete, pools, provision jobs, the lag between
// a Node's registration and its provider ID, and everything that a scheduler or a controller manager does on the child (the
// not-ready taint that admission gives a new Node stays). The hosts are kept in memory: after a restart of the stub a host that
// had joined is silent.
package stubk0smotron
