package capi

import (
	"maps"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// Machine builds the Machine of a ScheduledMachine. It carries from the start the annotations that keep CAPI from draining and from
// waiting for volumes: a Machine that is already being drained is not looked at again for some time, so an emergency could
// not add them. The owner reference is not a controller's, because CAPI adopts only a Machine without a controller.
func Machine(sm *v1alpha1.ScheduledMachine, version Version) *unstructured.Unstructured {
	template := sm.Spec.MachineTemplate
	if template == nil {
		template = &v1alpha1.MachineTemplate{}
	}
	machine := newObject(sm, version.MachineKind())
	machine.SetLabels(merge(template.Labels, machine.GetLabels()))
	machine.SetAnnotations(merge(template.Annotations, machine.GetAnnotations(), asMade(sm)))
	machine.SetOwnerReferences([]metav1.OwnerReference{{
		APIVersion: v1alpha1.GroupVersion.String(),
		Kind:       "ScheduledMachine",
		Name:       sm.Name,
		UID:        sm.UID,
	}})
	machine.Object["spec"] = machineSpec(sm, version, template.Version)
	return machine
}

// asMade are the annotations with which CAPI leaves draining to us, and the one that says what the Node is named after.
func asMade(sm *v1alpha1.ScheduledMachine) map[string]string {
	return map[string]string{
		ExcludeDrainAnnotation: "true", ExcludeVolumeDetachAnnotation: "true",
		v1alpha1.SystemHostnameAnnotation: strconv.FormatBool(UsesSystemHostname(sm)),
	}
}

// machineSpec bounds CAPI's attempts to delete the Node, in which it would otherwise persist for ever where no webhook of its own
// sets the bound. 10 seconds is what that webhook sets.
func machineSpec(sm *v1alpha1.ScheduledMachine, version Version, kubernetes string) map[string]any {
	spec := map[string]any{
		"clusterName":       sm.Spec.ClusterName,
		"bootstrap":         map[string]any{"configRef": reference(sm, version, sm.Spec.BootstrapSpec)},
		"infrastructureRef": reference(sm, version, sm.Spec.InfrastructureSpec),
	}
	if version == V1Beta1 {
		spec["nodeDeletionTimeout"] = "10s"
	} else {
		spec["deletion"] = map[string]any{"nodeDeletionTimeoutSeconds": int64(10)}
	}
	if kubernetes != "" {
		spec["version"] = kubernetes
	}
	return spec
}

func reference(sm *v1alpha1.ScheduledMachine, version Version, to v1alpha1.ObjectTemplate) map[string]any {
	if version == V1Beta1 {
		return map[string]any{"apiVersion": to.APIVersion, "kind": to.Kind, "name": sm.Name, "namespace": sm.Namespace}
	}
	group, _, _ := strings.Cut(to.APIVersion, "/")
	return map[string]any{"apiGroup": group, "kind": to.Kind, "name": sm.Name}
}

// newObject is an object of the ScheduledMachine's name and namespace. It always has both maps: k0smotron's pool of machines writes into
// them without asking.
func newObject(sm *v1alpha1.ScheduledMachine, kind schema.GroupVersionKind) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{}}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(sm.Namespace)
	object.SetName(sm.Name)
	object.SetLabels(map[string]string{v1alpha1.ScheduledMachineLabel: sm.Name, ClusterNameLabel: sm.Spec.ClusterName})
	object.SetAnnotations(map[string]string{v1alpha1.OwnerUIDAnnotation: string(sm.UID)})
	return object
}

// merge joins maps; a later one wins.
func merge(all ...map[string]string) map[string]string {
	merged := map[string]string{}
	for _, one := range all {
		maps.Copy(merged, one)
	}
	return merged
}
