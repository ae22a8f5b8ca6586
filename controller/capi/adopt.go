package capi

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// BringOver gives a Machine, bootstrap or infrastructure object that the earlier version in Rust made what a new one has from the start, and says
// whether it is such an object. Its owner reference ceases to be a controller's, because Cluster API takes only what has no controller: under the
// old one it neither adopts the Machine nor owns what the Machine refers to, and `kubectl delete cluster` waits for ever.
func BringOver(object *unstructured.Unstructured, sm *v1alpha1.ScheduledMachine) bool {
	if !FromRust(object, sm) {
		return false
	}
	refs := object.GetOwnerReferences()
	at := slices.IndexFunc(refs, func(ref metav1.OwnerReference) bool { return controls(ref, sm) })
	refs[at].Controller, refs[at].BlockOwnerDeletion = nil, nil
	object.SetOwnerReferences(refs)
	marked := newObject(sm, object.GroupVersionKind())
	if object.GroupVersionKind().GroupKind() == (schema.GroupKind{Group: Group, Kind: "Machine"}) {
		marked.SetAnnotations(merge(marked.GetAnnotations(), asMade(sm)))
	}
	object.SetLabels(merge(object.GetLabels(), marked.GetLabels()))
	object.SetAnnotations(merge(object.GetAnnotations(), marked.GetAnnotations()))
	return true
}

// FromRust says that the earlier version in Rust made an object for this very ScheduledMachine, and that it is as it was then.
func FromRust(object *unstructured.Unstructured, sm *v1alpha1.ScheduledMachine) bool {
	return OwnedBy(object, sm) && slices.ContainsFunc(object.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return controls(ref, sm) })
}

// controls says that an owner reference makes this very ScheduledMachine the controller of an object.
func controls(ref metav1.OwnerReference, sm *v1alpha1.ScheduledMachine) bool {
	group, err := schema.ParseGroupVersion(ref.APIVersion)
	return err == nil && group.Group == v1alpha1.GroupVersion.Group && ref.Kind == "ScheduledMachine" &&
		ref.UID == sm.UID && ref.Controller != nil && *ref.Controller
}
