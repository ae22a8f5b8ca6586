// Package capi translates between a ScheduledMachine and Cluster API's objects: it builds the Machine, bootstrap and infrastructure
// objects, and reads from a Machine what the controller acts on. It holds all that is known here about the shapes of
// cluster.x-k8s.io v1beta1 and v1beta2; which of them a management cluster serves is for the caller to find out.
//
// It is pure: no client, no clock. Objects are unstructured, because a provider's kind is whatever the ScheduledMachine says.
package capi
