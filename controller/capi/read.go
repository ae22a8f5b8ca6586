package capi

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// OwnedBy says that the controller made the object for this very ScheduledMachine, and not for an earlier one of the same name.
// Labels and owner references do not count: others may set them.
func OwnedBy(object metav1.Object, sm *v1alpha1.ScheduledMachine) bool {
	return sm.UID != "" && object.GetNamespace() == sm.Namespace &&
		object.GetAnnotations()[v1alpha1.OwnerUIDAnnotation] == string(sm.UID)
}

// NodeRef is the name of the Node that CAPI mapped to a Machine. Both versions keep it in the same place.
func NodeRef(machine *unstructured.Unstructured) (name string, ok bool) {
	name = text(machine, "status", "nodeRef", "name")
	return name, name != ""
}

// text reads a string, or nothing where there is none.
func text(object *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(object.Object, path...)
	return value
}
