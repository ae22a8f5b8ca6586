package capi

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// OwnedBy says that the controller made the object for this very ScheduledMachine, and not for an earlier one of the same name. The annotation
// decides; where there is none, the owner reference that the earlier version in Rust set. Labels and any other owner reference do not count:
// others set such as a matter of course.
//
// Both name a UID, which only the API server gives, so nobody can make a ScheduledMachine that owns what is there already. Whoever writes
// another's UID into an object must be allowed to change that object, and gives it away; no power over a third one's comes of it.
func OwnedBy(object metav1.Object, sm *v1alpha1.ScheduledMachine) bool {
	if sm.UID == "" || object.GetNamespace() != sm.Namespace {
		return false
	}
	if uid, marked := object.GetAnnotations()[v1alpha1.OwnerUIDAnnotation]; marked {
		return uid == string(sm.UID)
	}
	return slices.ContainsFunc(object.GetOwnerReferences(), func(ref metav1.OwnerReference) bool { return controls(ref, sm) })
}

// NodeRef is the name of the Node that CAPI mapped to a Machine. Both versions keep it in the same place.
func NodeRef(machine *unstructured.Unstructured) (name string, ok bool) {
	name = text(machine, "status", "nodeRef", "name")
	return name, name != ""
}

// BootstrapName is the name of the bootstrap object that a Machine refers to. Both versions keep it in the same place.
func BootstrapName(machine *unstructured.Unstructured) string {
	return text(machine, "spec", "bootstrap", "configRef", "name")
}

// InfrastructureName is the name of the infrastructure object that a Machine refers to.
func InfrastructureName(machine *unstructured.Unstructured) string {
	return text(machine, "spec", "infrastructureRef", "name")
}

// BootstrapKind is the kind of that object; the version is left to the caller.
func BootstrapKind(machine *unstructured.Unstructured) schema.GroupKind {
	return kindOf(machine, "spec", "bootstrap", "configRef")
}

// InfrastructureKind is the kind of that object; the version is left to the caller.
func InfrastructureKind(machine *unstructured.Unstructured) schema.GroupKind {
	return kindOf(machine, "spec", "infrastructureRef")
}

func kindOf(machine *unstructured.Unstructured, ref ...string) schema.GroupKind {
	at := func(field string) string { return text(machine, append(slices.Clone(ref), field)...) }
	group := at("apiGroup")
	if group == "" {
		group, _, _ = strings.Cut(at("apiVersion"), "/")
	}
	return schema.GroupKind{Group: group, Kind: at("kind")}
}

// BootstrapDataReady says that a Machine has its bootstrap data. Deleted before that, it would leave its infrastructure object behind
// for ever: k0smotron waits for the data first.
func BootstrapDataReady(machine *unstructured.Unstructured) bool {
	return text(machine, "spec", "bootstrap", "dataSecretName") != ""
}

// Deletion is how far a Machine's deletion has come.
type Deletion struct {
	// Since is when the Machine was deleted, to the second.
	Since time.Time
	// Hooks are the annotations, sorted, with which others hold the deletion up. Only they may remove them.
	Hooks []string
	// Message is CAPI's own word on what it waits for. CAPI before 1.9 has none.
	Message string
}

// DeletionOf reads how far a Machine's deletion has come. It is false when the Machine is not being deleted.
func DeletionOf(machine *unstructured.Unstructured) (Deletion, bool) {
	deleted := machine.GetDeletionTimestamp()
	if deleted == nil {
		return Deletion{}, false
	}
	deletion := Deletion{Since: deleted.Time, Message: deletingMessage(machine)}
	for key := range machine.GetAnnotations() {
		if strings.HasPrefix(key, preDrainHookPrefix) || strings.HasPrefix(key, preTerminateHookPrefix) {
			deletion.Hooks = append(deletion.Hooks, key)
		}
	}
	slices.Sort(deletion.Hooks)
	return deletion, true
}

// deletingMessage finds the condition Deleting. v1beta1 has it aside, among the conditions taken over from v1beta2.
func deletingMessage(machine *unstructured.Unstructured) string {
	for _, path := range [][]string{{"status", "conditions"}, {"status", "v1beta2", "conditions"}} {
		conditions, _, _ := unstructured.NestedSlice(machine.Object, path...)
		for _, entry := range conditions {
			condition, _ := entry.(map[string]any)
			if condition["type"] == "Deleting" {
				message, _ := condition["message"].(string)
				return message
			}
		}
	}
	return ""
}

// Paused says that Cluster API leaves an object alone for now: a Cluster, and everything in it, by its spec; anything by annotation.
func Paused(object *unstructured.Unstructured) bool {
	paused, _, _ := unstructured.NestedBool(object.Object, "spec", "paused")
	_, annotated := object.GetAnnotations()[pausedAnnotation]
	return paused || annotated
}

// text reads a string, or nothing where there is none.
func text(object *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(object.Object, path...)
	return value
}
