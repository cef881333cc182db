package goldenmapping

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/mapping"
)

var errUndescribed = errors.New("no CRD beside it describes the kind that it refers to")

// referenceSchemas gives the schema of each kind that a mapping refers to, from the CRDs of its neighbours.
func referenceSchemas(m *v1alpha1.RestMapping, neighbours []*apiextensionsv1.CustomResourceDefinition) ([]mapping.ReferenceSchema, error) {
	var schemas []mapping.ReferenceSchema
	for i := range m.Spec.References {
		r := &m.Spec.References[i]
		schema, found := schemaAmong(r, neighbours)
		if !found {
			return nil, fmt.Errorf("reference %s to %s: %w", r.Name, r.Target.Kind, errUndescribed)
		}
		schemas = append(schemas, schema)
	}
	return schemas, nil
}

func schemaAmong(r *v1alpha1.Reference, crds []*apiextensionsv1.CustomResourceDefinition) (mapping.ReferenceSchema, bool) {
	for _, crd := range crds {
		if crd.Spec.Group != r.Target.Group || crd.Spec.Names.Kind != r.Target.Kind {
			continue
		}
		for i := range crd.Spec.Versions {
			if v := &crd.Spec.Versions[i]; v.Name == r.Target.Version && v.Schema != nil {
				namespaced := crd.Spec.Scope == apiextensionsv1.NamespaceScoped
				return mapping.ReferenceSchema{Name: r.Name, Namespaced: namespaced, Schema: v.Schema.OpenAPIV3Schema}, true
			}
		}
	}
	return mapping.ReferenceSchema{}, false
}

// neighbours reads the CRDs of the folders beside a kind's.
func neighbours(dir string) ([]*apiextensionsv1.CustomResourceDefinition, error) {
	files, err := filepath.Glob(filepath.Join(filepath.Dir(dir), "*", CRDFile))
	if err != nil {
		return nil, err
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, file := range files {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := readStrict(file, crd); err != nil {
			return nil, err
		}
		crds = append(crds, crd)
	}
	return crds, nil
}

// loadReferents reads what the custom resource of a case refers to: one file for each reference, by its name, as in
// ref-organization.yaml. They stand there as the operator finds them, with their status.
func loadReferents(dir string) (map[string]map[string]any, error) {
	const prefix, suffix = "ref-", ".yaml"
	files, err := filepath.Glob(filepath.Join(dir, prefix+"*"+suffix))
	if err != nil {
		return nil, err
	}
	referents := map[string]map[string]any{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", filepath.Base(file), err)
		}
		var object map[string]any
		if err := unmarshalExact(text, &object); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		name := filepath.Base(file)
		referents[name[len(prefix):len(name)-len(suffix)]] = object
	}
	return referents, nil
}

// refer gives the objects that the custom resource refers to. Each must be in the case, under the name and of the kind
// that the mapping asks for; the operator would wait for it otherwise.
func (k *Kind) refer(ctx context.Context, self map[string]any, referents map[string]map[string]any) (map[string]map[string]any, error) {
	wanted, err := k.Program.References(ctx, self)
	if err != nil {
		return nil, err
	}
	found := map[string]map[string]any{}
	for _, r := range wanted {
		object := referents[r.Input]
		metadata, _ := object["metadata"].(map[string]any)
		if object["kind"] != r.Kind || object["apiVersion"] != r.Group+"/"+r.Version || metadata["name"] != r.Name {
			return nil, fmt.Errorf("the custom resource refers to %s, and the case has no such object as reference %s", r, r.Input)
		}
		found[r.Input] = object
	}
	if len(found) < len(referents) {
		return nil, fmt.Errorf("the case has %d objects to refer to, and the custom resource refers to %d", len(referents), len(found))
	}
	return found, nil
}
