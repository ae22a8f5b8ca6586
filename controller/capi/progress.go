package capi

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// BootstrapReady says whether a Machine has the data with which its host joins; if not, why is what Cluster API says about it.
func BootstrapReady(machine *unstructured.Unstructured) (ready bool, why string) {
	return isTrue(machine, "bootstrapReady") || isTrue(machine, "initialization", "bootstrapDataSecretCreated"),
		complaint(machine, "BootstrapReady", "BootstrapConfigReady")
}

// InfrastructureReady says whether a Machine's host is set up; if not, why is what Cluster API says about it.
func InfrastructureReady(machine *unstructured.Unstructured) (ready bool, why string) {
	return isTrue(machine, "infrastructureReady") || isTrue(machine, "initialization", "infrastructureProvisioned"),
		complaint(machine, "InfrastructureReady")
}

// isTrue reads a field of the status. v1beta1 and v1beta2 name theirs differently.
func isTrue(machine *unstructured.Unstructured, path ...string) bool {
	value, _, _ := unstructured.NestedBool(machine.Object, append([]string{"status"}, path...)...)
	return value
}

// complaint is the message of the first of these conditions that is there and not True.
func complaint(machine *unstructured.Unstructured, kinds ...string) string {
	conditions, _, _ := unstructured.NestedSlice(machine.Object, "status", "conditions")
	for _, c := range conditions {
		condition, ok := c.(map[string]any)
		kind, _ := condition["type"].(string)
		if message, _ := condition["message"].(string); ok && slices.Contains(kinds, kind) && condition["status"] != "True" {
			return message
		}
	}
	return ""
}
