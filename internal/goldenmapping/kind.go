package goldenmapping

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"sigs.k8s.io/yaml"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/mapping"
)

// The files of a kind.
const (
	CRDFile     = "crd.yaml"
	MappingFile = "mapping.yaml"
	SampleFile  = "sample.yaml"
	CasesFolder = "testdata"
)

// Kind is a mapping, compiled with the CRD beside it.
type Kind struct {
	CRD     *apiextensionsv1.CustomResourceDefinition
	Mapping *v1alpha1.RestMapping
	Program *mapping.Program

	structural *structuralschema.Structural
	validator  validation.SchemaValidator
}

// LoadKind reads and compiles the CRD and the mapping of a folder. Kinds that it refers to are in the folders beside it.
func LoadKind(dir string) (*Kind, error) {
	k := &Kind{CRD: &apiextensionsv1.CustomResourceDefinition{}, Mapping: &v1alpha1.RestMapping{}}
	if err := readStrict(filepath.Join(dir, CRDFile), k.CRD); err != nil {
		return nil, err
	}
	if err := readStrict(filepath.Join(dir, MappingFile), k.Mapping); err != nil {
		return nil, err
	}
	var crds []*apiextensionsv1.CustomResourceDefinition
	if len(k.Mapping.Spec.References) > 0 {
		var err error
		if crds, err = neighbours(dir); err != nil {
			return nil, err
		}
	}
	if err := k.compile(crds); err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return k, nil
}

// NewKind compiles a mapping with a CRD. crds describe the kinds that it refers to.
func NewKind(crd *apiextensionsv1.CustomResourceDefinition, m *v1alpha1.RestMapping, crds ...*apiextensionsv1.CustomResourceDefinition) (*Kind, error) {
	k := &Kind{CRD: crd, Mapping: m}
	return k, k.compile(crds)
}

func readStrict(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", filepath.Base(file), err)
	}
	if err := yaml.UnmarshalStrict(text, into); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

func (k *Kind) compile(crds []*apiextensionsv1.CustomResourceDefinition) error {
	version, err := k.version()
	if err != nil {
		return err
	}
	target := mapping.TargetSchema{
		Namespaced:        k.CRD.Spec.Scope == apiextensionsv1.NamespaceScoped,
		Schema:            version.Schema.OpenAPIV3Schema,
		StatusSubresource: version.Subresources != nil && version.Subresources.Status != nil,
	}
	if lacks := mapping.CheckTarget(target); len(lacks) > 0 {
		return fmt.Errorf("the CRD cannot hold the operator's status: %v", lacks)
	}
	references, err := referenceSchemas(k.Mapping, crds)
	if err != nil {
		return err
	}
	if k.Program, err = mapping.Compile(k.Mapping, target, references...); err != nil {
		return err
	}
	return k.compileSchema(version)
}

// version finds the version of the CRD that the mapping serves.
func (k *Kind) version() (*apiextensionsv1.CustomResourceDefinitionVersion, error) {
	target := k.Mapping.Spec.Target
	if k.CRD.Spec.Group != target.Group || k.CRD.Spec.Names.Kind != target.Kind {
		return nil, fmt.Errorf("the mapping is for %s in %s, and the CRD for %s in %s", target.Kind, target.Group, k.CRD.Spec.Names.Kind, k.CRD.Spec.Group)
	}
	for i := range k.CRD.Spec.Versions {
		v := &k.CRD.Spec.Versions[i]
		if v.Name == target.Version && v.Served && v.Schema != nil && v.Schema.OpenAPIV3Schema != nil {
			return v, nil
		}
	}
	return nil, fmt.Errorf("the CRD does not serve version %s with a schema", target.Version)
}

func (k *Kind) compileSchema(version *apiextensionsv1.CustomResourceDefinitionVersion) error {
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(version.Schema.OpenAPIV3Schema, internal, nil); err != nil {
		return fmt.Errorf("convert the CRD's schema: %w", err)
	}
	var err error
	if k.structural, err = structuralschema.NewStructural(internal); err != nil {
		return fmt.Errorf("the CRD's schema is not structural: %w", err)
	}
	if k.validator, _, err = validation.NewSchemaValidator(internal); err != nil {
		return fmt.Errorf("validator of the CRD's schema: %w", err)
	}
	return nil
}

// Admit does to an object what the API server does when it is applied: it fills in the defaults, and refuses what the
// schema does not allow.
func (k *Kind) Admit(ctx context.Context, object map[string]any) error {
	if unknown := structuralUnknown(object, k.structural); len(unknown) > 0 {
		return fmt.Errorf("fields that the CRD does not have: %v", unknown)
	}
	defaulting.Default(object, k.structural)
	if list := validation.ValidateCustomResource(nil, object, k.validator); len(list) > 0 {
		return fmt.Errorf("the CRD refuses it: %w", list.ToAggregate())
	}
	return k.checkRules(ctx, object)
}

var errNoKind = errors.New("the object has no apiVersion or kind of this CRD")

// Serves tells whether an object is of this kind.
func (k *Kind) Serves(object map[string]any) bool {
	target := k.Mapping.Spec.Target
	return object["kind"] == target.Kind && object["apiVersion"] == target.Group+"/"+target.Version
}
