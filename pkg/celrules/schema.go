package celrules

import (
	"strings"

	"github.com/google/cel-go/cel"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// schemaType is a type with what its schema says beyond CEL's own type: the fields of an object, and the sizes
// for the cost estimate. A tree of them is all that is kept of a schema.
type schemaType struct {
	cel *cel.Type
	// fields are those of an object by their real names; nil for everything else.
	fields map[string]*schemaType
	// open says that the object takes fields that are not in the schema.
	open bool
	// elem is the type of a list's elements or of a map's values.
	elem *schemaType
	// maxSize is how many elements or characters there can be at most; 0 when the schema does not say.
	maxSize uint64
	// number says that here, or somewhere below, the schema says number.
	number bool
}

// typeNamePrefix begins the name of every object type of a schema. It cannot be written in an expression, so that a type
// name never hides a variable or a field.
const typeNamePrefix = "object<"

func typeName(path string) string {
	return typeNamePrefix + path + ">"
}

func isSchemaTypeName(name string) bool {
	return strings.HasPrefix(name, typeNamePrefix)
}

func untyped() *schemaType {
	return &schemaType{cel: cel.DynType}
}

// object makes an object type of the given fields.
func object(path string, fields map[string]*schemaType) *schemaType {
	t := &schemaType{cel: cel.ObjectType(typeName(path)), fields: fields}
	for _, field := range fields {
		t.number = t.number || field.number
	}
	return t
}

func mapOf(elem *schemaType) *schemaType {
	return &schemaType{cel: cel.MapType(cel.StringType, elem.cel), elem: elem, number: elem.number}
}

func listOf(elem *schemaType) *schemaType {
	return &schemaType{cel: cel.ListType(elem.cel), elem: elem, number: elem.number}
}

func simple(t *cel.Type) *schemaType {
	return &schemaType{cel: t}
}

// stringFields makes an object of strings.
func stringFields(path string, names []string) *schemaType {
	fields := make(map[string]*schemaType, len(names))
	for _, name := range names {
		fields[name] = simple(cel.StringType)
	}
	return object(path, fields)
}

// typeOfSchema gives the type of values that fit the schema. What the schema leaves open is untyped. The format is left
// out on purpose: expressions run on the raw object, where a date is a string.
func typeOfSchema(path string, s *apiextensionsv1.JSONSchemaProps) *schemaType {
	if s == nil || s.XIntOrString {
		return untyped()
	}
	switch s.Type {
	case "object":
		return typeOfObject(path, s)
	case "array":
		return typeOfArray(path, s)
	case "string":
		return typeOfString(s)
	case "boolean":
		return nullable(simple(cel.BoolType), s)
	case "integer":
		return nullable(simple(cel.IntType), s)
	case "number":
		t := nullable(simple(cel.DoubleType), s)
		t.number = true
		return t
	default:
		return untyped()
	}
}

func typeOfObject(path string, s *apiextensionsv1.JSONSchemaProps) *schemaType {
	open := s.XPreserveUnknownFields != nil && *s.XPreserveUnknownFields
	switch {
	case len(s.Properties) > 0 || s.XEmbeddedResource:
		fields := make(map[string]*schemaType, len(s.Properties))
		for name := range s.Properties {
			property := s.Properties[name]
			fields[name] = typeOfSchema(path+"."+name, &property)
		}
		if s.XEmbeddedResource {
			addResourceFields(path, fields)
		}
		t := object(path, fields)
		t.open = open
		return t
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil && !open:
		t := mapOf(typeOfSchema(path+".*", s.AdditionalProperties.Schema))
		t.maxSize = sizeOf(s.MaxProperties)
		return t
	default:
		return untyped()
	}
}

func typeOfArray(path string, s *apiextensionsv1.JSONSchemaProps) *schemaType {
	elem := untyped()
	if s.Items != nil && s.Items.Schema != nil {
		elem = typeOfSchema(path+"[]", s.Items.Schema)
	}
	t := listOf(elem)
	t.maxSize = sizeOf(s.MaxItems)
	return t
}

func typeOfString(s *apiextensionsv1.JSONSchemaProps) *schemaType {
	t := nullable(simple(cel.StringType), s)
	t.maxSize = sizeOf(s.MaxLength)
	return t
}

// nullable makes a scalar comparable with null where the schema allows null.
func nullable(t *schemaType, s *apiextensionsv1.JSONSchemaProps) *schemaType {
	if s.Nullable {
		t.cel = cel.NullableType(t.cel)
	}
	return t
}

func sizeOf(limit *int64) uint64 {
	if limit == nil || *limit < 0 {
		return 0
	}
	return uint64(*limit)
}

// typeOfResource is typeOfSchema for a whole custom resource: a CRD leaves out what every resource has.
func typeOfResource(path string, s *apiextensionsv1.JSONSchemaProps) *schemaType {
	if s == nil {
		return untyped()
	}
	root := *s
	root.XEmbeddedResource = true
	root.Type = "object"
	return typeOfSchema(path, &root)
}

// addResourceFields adds what every resource has: apiVersion, kind and metadata as the API server fills it.
func addResourceFields(path string, fields map[string]*schemaType) {
	fields["apiVersion"] = simple(cel.StringType)
	fields["kind"] = simple(cel.StringType)
	fields["metadata"] = typeOfMetadata(path + ".metadata")
}

// typeOfMetadata is metav1.ObjectMeta as JSON holds it.
func typeOfMetadata(path string) *schemaType {
	text, integer, flag := simple(cel.StringType), simple(cel.IntType), simple(cel.BoolType)
	owner := object(path+".ownerReferences[]", map[string]*schemaType{
		"apiVersion": text, "kind": text, "name": text, "uid": text, "controller": flag, "blockOwnerDeletion": flag,
	})
	return object(path, map[string]*schemaType{
		"name": text, "generateName": text, "namespace": text, "uid": text, "resourceVersion": text, "selfLink": text,
		"generation":        integer,
		"creationTimestamp": text, "deletionTimestamp": text, "deletionGracePeriodSeconds": integer,
		"labels": mapOf(text), "annotations": mapOf(text),
		"finalizers":      listOf(text),
		"ownerReferences": listOf(owner),
		"managedFields":   listOf(untyped()),
	})
}
