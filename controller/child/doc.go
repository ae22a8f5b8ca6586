// Package child keeps one connection per child cluster: reached through the Secret <clusterName>-kubeconfig, which is a tenant's
// input and is therefore refused unless it holds nothing but inline credentials and a server.
//
// A Cache owns the connections. It builds one when a ScheduledMachine needs it, rebuilds it when the Secret changes or the cluster is
// back after an outage, and closes it when nobody needs it. "Not connected" is an ordinary answer with a reason for a condition,
// not a failure: no caller waits for a child cluster, so a child that hangs delays nobody else.
//
//	connection, err := cache.Get(child.Key(sm))   // err says why not, for the condition ChildClusterReachable
//	connection.Reader.Get(ctx, …)                 // Nodes, from memory
//	connection.Client.Delete(ctx, …)              // straight to the API server, no throttling
//
// The package must not know what is done to Nodes.
package child
