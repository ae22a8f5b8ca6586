package stubk0smotron

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Groups of Cluster API and its providers.
const (
	clusterGroup        = "cluster.x-k8s.io"
	bootstrapGroup      = "bootstrap.cluster.x-k8s.io"
	infrastructureGroup = "infrastructure.cluster.x-k8s.io"
	controlPlaneGroup   = "controlplane.cluster.x-k8s.io"

	// version is the one that is stored; objects created under another are seen all the same.
	version = "v1beta2"

	clusterNameLabel = "cluster.x-k8s.io/cluster-name"
)

// CRDDirectory is the directory of the provider CRDs on this machine.
func CRDDirectory() string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), "crds")
}

// newObject is an empty object of a kind. The kinds have no Go types here: the stub uses a handful of their fields, and
// Cluster API's own module would bring another minor of Kubernetes along.
func newObject(group, kind string) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(schema.GroupVersionKind{Group: group, Version: version, Kind: kind})
	return object
}

func newMachine() *unstructured.Unstructured { return newObject(clusterGroup, "Machine") }
func newWorkerConfig() *unstructured.Unstructured {
	return newObject(bootstrapGroup, "K0sWorkerConfig")
}
func newRemoteMachine() *unstructured.Unstructured {
	return newObject(infrastructureGroup, "RemoteMachine")
}

// stringField is the string at a path, or "".
func stringField(object *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(object.Object, path...)
	return value
}

// boolField is the boolean at a path, or false.
func boolField(object *unstructured.Unstructured, path ...string) bool {
	value, _, _ := unstructured.NestedBool(object.Object, path...)
	return value
}

// owner reads the Machine that owns object. It is nil as long as Cluster API has not taken the object over.
func owner(ctx context.Context, reader client.Reader, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	for _, reference := range object.GetOwnerReferences() {
		gv, err := schema.ParseGroupVersion(reference.APIVersion)
		if err != nil || gv.Group != clusterGroup || reference.Kind != "Machine" {
			continue
		}
		machine := newMachine()
		key := client.ObjectKey{Namespace: object.GetNamespace(), Name: reference.Name}
		if err := reader.Get(ctx, key, machine); err != nil {
			return nil, fmt.Errorf("reading Machine %s, the owner of %s %s: %w", key, object.GetKind(), object.GetName(), err)
		}
		return machine, nil
	}
	return nil, nil
}

// setStatus merges fields into an object's status.
func setStatus(ctx context.Context, c client.Client, object *unstructured.Unstructured, fields map[string]any) error {
	before := object.DeepCopy()
	for name, value := range fields {
		if err := unstructured.SetNestedField(object.Object, value, "status", name); err != nil {
			return fmt.Errorf("setting status.%s of %s %s: %w", name, object.GetKind(), object.GetName(), err)
		}
	}
	if err := c.Status().Patch(ctx, object, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("patching the status of %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// existing turns "already exists" into success: what is there came from an earlier attempt.
func existing(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
