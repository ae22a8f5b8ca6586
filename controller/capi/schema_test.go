package capi

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// TestMachineFitsCAPIsOwnSchema: the API server drops a field that the CRD does not know, so a misspelled one would go unnoticed.
func TestMachineFitsCAPIsOwnSchema(t *testing.T) {
	schemas := machineSchemas(t)
	for _, version := range []Version{V1Beta1, V1Beta2} {
		require.Contains(t, schemas, version)
		requireFits(t, schemas[version], Machine(scheduledMachine(t), version).Object, string(version))
	}
}

// machineSchemas reads the Machine CRD from the CAPI module that tools/controlplane/capi is built from.
func machineSchemas(t *testing.T) map[Version]map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(clusterAPI(t), "core/config/crd/bases/cluster.x-k8s.io_machines.yaml"))
	require.NoError(t, err)
	crd := &unstructured.Unstructured{}
	require.NoError(t, yaml.Unmarshal(data, &crd.Object))
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	require.NoError(t, err)
	schemas := map[Version]map[string]any{}
	for _, version := range versions {
		schema, _, err := unstructured.NestedMap(version.(map[string]any), "schema", "openAPIV3Schema")
		require.NoError(t, err)
		schemas[Version(version.(map[string]any)["name"].(string))] = schema
	}
	return schemas
}

// clusterAPI is the module's folder. The module is not among our own requirements, because it wants older Kubernetes libraries.
func clusterAPI(t *testing.T) string {
	t.Helper()
	download := exec.Command("go", "mod", "download", "-json", "sigs.k8s.io/cluster-api")
	download.Dir = "../../tools/controlplane/capi"
	out, err := download.Output()
	var module struct{ Dir string }
	if err != nil || json.Unmarshal(out, &module) != nil || module.Dir == "" {
		reason := "the module sigs.k8s.io/cluster-api is neither in the module cache nor to be downloaded: " + string(out)
		if os.Getenv("CI") != "" {
			t.Fatal(reason)
		}
		t.Skip(reason)
	}
	return module.Dir
}

// requireFits checks types, required fields, and that no field is unknown.
func requireFits(t *testing.T, schema map[string]any, value any, path string) {
	t.Helper()
	switch value := value.(type) {
	case map[string]any:
		require.Equal(t, "object", schema["type"], path)
		requireFieldsFit(t, schema, value, path)
	case int64:
		require.Equal(t, "integer", schema["type"], path)
	default:
		require.Equal(t, "string", schema["type"], path)
		require.IsType(t, "", value, path)
	}
}

func requireFieldsFit(t *testing.T, schema, object map[string]any, path string) {
	t.Helper()
	required, _ := schema["required"].([]any)
	for _, name := range required {
		require.Contains(t, object, name, path)
	}
	properties, ok := schema["properties"].(map[string]any)
	if !ok {
		return // as metadata, which is not the CRD's to describe
	}
	for name, field := range object {
		require.Contains(t, slices.Sorted(maps.Keys(properties)), name, path)
		requireFits(t, properties[name].(map[string]any), field, path+"."+name)
	}
}
