// Package v1alpha1 holds the ScheduledMachine API, group 5spot.finos.org. It is the source of the
// CustomResourceDefinition, the deepcopy functions and docs/api.md; `make generate` writes all three.
//
// +kubebuilder:object:generate=true
// +groupName=5spot.finos.org
package v1alpha1
