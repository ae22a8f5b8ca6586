package capi

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	"5spot.finos.org/node-reclaim/api/v1alpha1"
)

// Bootstrap builds the bootstrap object. An error names the field of the ScheduledMachine that is wrong.
func Bootstrap(sm *v1alpha1.ScheduledMachine) (*unstructured.Unstructured, error) {
	return provided(sm, sm.Spec.BootstrapSpec, "spec.bootstrapSpec")
}

// Infrastructure builds the infrastructure object. An error names the field of the ScheduledMachine that is wrong.
func Infrastructure(sm *v1alpha1.ScheduledMachine) (*unstructured.Unstructured, error) {
	return provided(sm, sm.Spec.InfrastructureSpec, "spec.infrastructureSpec")
}

// UsesSystemHostname says that k0smotron names the Node after the host. Otherwise it has the Machine's name.
func UsesSystemHostname(sm *v1alpha1.ScheduledMachine) bool {
	spec, err := specOf(sm.Spec.BootstrapSpec, "spec.bootstrapSpec")
	uses, _ := spec["useSystemHostname"].(bool)
	return err == nil && uses
}

// KeepsHostname says the same of a Machine as it was made: its host does not follow a spec that was changed since. Where it does not say, as one of
// an earlier version, the spec does.
func KeepsHostname(sm *v1alpha1.ScheduledMachine, machine *unstructured.Unstructured) bool {
	if made, err := strconv.ParseBool(machine.GetAnnotations()[v1alpha1.SystemHostnameAnnotation]); err == nil {
		return made
	}
	return UsesSystemHostname(sm)
}

func provided(sm *v1alpha1.ScheduledMachine, template v1alpha1.ObjectTemplate, path string) (*unstructured.Unstructured, error) {
	spec, err := specOf(template, path)
	if err != nil {
		return nil, err
	}
	object := newObject(sm, schema.FromAPIVersionAndKind(template.APIVersion, template.Kind))
	object.Object["spec"] = spec
	hash, err := hashOf(object)
	if err != nil {
		return nil, fmt.Errorf("%s.spec: %w", path, err)
	}
	object.SetAnnotations(merge(object.GetAnnotations(), map[string]string{v1alpha1.TemplateHashAnnotation: hash}))
	return object, nil
}

// Outdated says that an object was made from another template than the one that is wanted. The API server adds defaults and providers add more,
// so only what was asked for then can be compared, by its hash. Without one, as in earlier versions, nobody can tell, and it is not.
func Outdated(there, wanted *unstructured.Unstructured) bool {
	was, known := there.GetAnnotations()[v1alpha1.TemplateHashAnnotation]
	is, hashed := wanted.GetAnnotations()[v1alpha1.TemplateHashAnnotation]
	return known && hashed && was != is
}

// hashOf is the same for the same template in any order of its fields: JSON sorts the keys of maps.
func hashOf(object *unstructured.Unstructured) (string, error) {
	data, err := json.Marshal([]any{object.GetAPIVersion(), object.GetKind(), object.Object["spec"]})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16]), nil
}

// specOf decodes a provider's spec as it is, whatever it says: its own schema judges it.
func specOf(template v1alpha1.ObjectTemplate, path string) (map[string]any, error) {
	var spec map[string]any
	if err := json.Unmarshal(template.Spec.Raw, &spec); err != nil || spec == nil {
		return nil, fmt.Errorf("%s.spec: must be an object, the spec of the %s to create, for example {version: v1.34.1+k0s.0}", path, template.Kind)
	}
	return spec, nil
}
