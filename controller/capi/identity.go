package capi

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// MismatchError says why a Node that Cluster API mapped to a Machine is not touched.
type MismatchError struct{ Fault string }

func (e *MismatchError) Error() string { return e.Fault }

// NodeName is the name of the one Node that may be acted on for a ScheduledMachine, empty while none is mapped. A node chooses its own labels,
// addresses and providerID, and k0smotron maps by those; it cannot choose its name. So the mapped Node must be named like the Machine. Where
// the bootstrap provider lets hosts keep their names, the mapping must be unambiguous among all Machines of the cluster.
func NodeName(sm *v1alpha1.ScheduledMachine, machine *unstructured.Unstructured, all []unstructured.Unstructured) (string, error) {
	name, ok := NodeRef(machine)
	if !ok || name == machine.GetName() {
		return name, nil
	}
	if !KeepsHostname(sm, machine) {
		return "", &MismatchError{fmt.Sprintf("Machine %s is mapped to Node %s, which has another name; nothing is done to that Node until Machine.status.nodeRef is right",
			machine.GetName(), name)}
	}
	for i := range all {
		other, _ := NodeRef(&all[i])
		if other == name && all[i].GetUID() != machine.GetUID() && cluster(&all[i]) == cluster(machine) {
			return "", &MismatchError{fmt.Sprintf("Node %s is claimed by Machines %s and %s; nothing is done to it until one claim is gone",
				name, machine.GetName(), all[i].GetName())}
		}
	}
	return name, nil
}

func cluster(machine *unstructured.Unstructured) string {
	name, _, _ := unstructured.NestedString(machine.Object, "spec", "clusterName")
	return name
}
