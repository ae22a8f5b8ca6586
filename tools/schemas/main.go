// The program schemas writes JSON schemas for kubeconform: of Kubernetes' own kinds, from its OpenAPI document, and of the kinds of
// CustomResourceDefinitions. They are strict: a field that the API does not know is an error, as it is to `kubectl apply`.
//
//	schemas -openapi swagger.json -out DIRECTORY CRD-DIRECTORY...
//
// The schema of a kind is DIRECTORY/GROUP/KIND_VERSION.json, the kind in lower case; the group of the core kinds is v1.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// definitions is the file that the schemas of Kubernetes' kinds refer to.
const definitions = "definitions.json"

type object = map[string]any

func main() {
	openapi := flag.String("openapi", "", "Kubernetes' swagger.json")
	out := flag.String("out", "", "the directory to write")
	flag.Parse()
	if err := run(*openapi, *out, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "schemas:", err)
		os.Exit(1)
	}
}

func run(openapi, out string, crdDirectories []string) error {
	if err := kubernetes(openapi, out); err != nil {
		return err
	}
	for _, dir := range crdDirectories {
		files, err := filepath.Glob(filepath.Join(dir, "*_*.yaml"))
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := custom(file, out); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return nil
}

// kubernetes writes one file with every definition, and for each kind one that refers to it.
func kubernetes(openapi, out string) error {
	var document struct {
		Definitions map[string]object `json:"definitions"`
	}
	if err := read(openapi, &document); err != nil {
		return err
	}
	for name, definition := range document.Definitions {
		for _, k := range kinds(definition) {
			if err := write(filepath.Join(out, k.file()), object{"$ref": "../" + definitions + "#/definitions/" + name}); err != nil {
				return err
			}
		}
		strict(definition)
	}
	document.Definitions["io.k8s.apimachinery.pkg.util.intstr.IntOrString"] = object{"type": []string{"string", "integer"}}
	document.Definitions["io.k8s.apimachinery.pkg.api.resource.Quantity"] = object{"type": []string{"string", "number"}}
	return write(filepath.Join(out, definitions), object{"definitions": document.Definitions})
}

// custom writes the schema of each version of a CustomResourceDefinition.
func custom(file, out string) error {
	var crd struct {
		Spec struct {
			Group    string
			Names    struct{ Kind string }
			Versions []struct {
				Name   string
				Schema struct {
					OpenAPIV3Schema object `json:"openAPIV3Schema"`
				}
			}
		}
	}
	if err := read(file, &crd); err != nil {
		return err
	}
	for _, version := range crd.Spec.Versions {
		schema := version.Schema.OpenAPIV3Schema
		strict(schema)
		k := kind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind}
		if err := write(filepath.Join(out, k.file()), schema); err != nil {
			return err
		}
	}
	return nil
}

type kind struct{ Group, Version, Kind string }

func (k kind) file() string {
	group := k.Group
	if group == "" {
		group = k.Version
	}
	return filepath.Join(group, strings.ToLower(k.Kind)+"_"+k.Version+".json")
}

func kinds(definition object) []kind {
	var all []kind
	list, _ := definition["x-kubernetes-group-version-kind"].([]any)
	for _, entry := range list {
		gvk, _ := entry.(object)
		text := func(key string) string { s, _ := gvk[key].(string); return s }
		all = append(all, kind{text("group"), text("version"), text("kind")})
	}
	return all
}

// strict forbids, wherever a schema lists an object's fields, every other field.
func strict(schema object) {
	if schema["x-kubernetes-int-or-string"] == true {
		schema["type"] = []string{"string", "integer"}
	}
	_, listed := schema["properties"].(object)
	if _, said := schema["additionalProperties"]; listed && !said && schema["x-kubernetes-preserve-unknown-fields"] != true {
		schema["additionalProperties"] = false
	}
	for _, value := range schema {
		deeper(value)
	}
}

func deeper(value any) {
	switch value := value.(type) {
	case object:
		strict(value)
	case []any:
		for _, element := range value {
			deeper(element)
		}
	}
}

func read(path string, into any) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return yaml.Unmarshal(content, into)
}

func write(path string, schema object) error {
	content, err := json.Marshal(schema)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o644)
}
