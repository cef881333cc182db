package mapping

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// maxNamesInMessage bounds how many field names a message lists.
const maxNamesInMessage = 12

// schemaPlace is where a path leads in a schema. Exactly one of schema, open and problem is set.
type schemaPlace struct {
	schema *apiextensionsv1.JSONSchemaProps
	// open says that the schema lets anything stand there.
	open bool
	// problem says why the path leads nowhere.
	problem string
}

func (p schemaPlace) found() bool { return p.problem == "" }

// lookUp follows a path of object keys through a schema.
func lookUp(schema *apiextensionsv1.JSONSchemaProps, path bodyPath) schemaPlace {
	for i, key := range path {
		next, open := child(schema, key)
		switch {
		case open:
			return schemaPlace{open: true}
		case next == nil:
			return schemaPlace{problem: missingField(schema, path[:i], key)}
		}
		schema = next
	}
	return schemaPlace{schema: schema}
}

// child gives the schema of one key, or open when the object takes any key.
func child(schema *apiextensionsv1.JSONSchemaProps, key string) (next *apiextensionsv1.JSONSchemaProps, open bool) {
	if property, ok := schema.Properties[key]; ok {
		return &property, false
	}
	if isOpen(schema) {
		return nil, true
	}
	if additional := schema.AdditionalProperties; additional != nil {
		return additional.Schema, additional.Schema == nil && additional.Allows
	}
	return nil, false
}

func isOpen(schema *apiextensionsv1.JSONSchemaProps) bool {
	return schema.XPreserveUnknownFields != nil && *schema.XPreserveUnknownFields || schema.XEmbeddedResource
}

func missingField(schema *apiextensionsv1.JSONSchemaProps, above bodyPath, key string) string {
	where := above.String()
	if where == "" {
		where = "the object"
	}
	switch {
	case schema.Type == "array":
		return fmt.Sprintf("%s is a list in the CRD's schema, and a path cannot go into lists; use value with CEL", where)
	case schema.Type != "" && schema.Type != "object":
		return fmt.Sprintf("%s is of type %s in the CRD's schema and has no fields", where, schema.Type)
	}
	names := slices.Sorted(maps.Keys(schema.Properties))
	if len(names) > maxNamesInMessage {
		names = append(names[:maxNamesInMessage], "...")
	}
	return fmt.Sprintf("%s has no field %s in the CRD's schema; it has: %s", where, key, strings.Join(names, ", "))
}

// statusOf gives the schema of status; nil when the CRD has none.
func statusOf(schema *apiextensionsv1.JSONSchemaProps) *apiextensionsv1.JSONSchemaProps {
	if schema == nil {
		return nil
	}
	if isOpen(schema) && len(schema.Properties) == 0 {
		return schema
	}
	status, ok := schema.Properties["status"]
	if !ok {
		return nil
	}
	return &status
}

// typeProblem says why a value does not fit the types of a schema; empty when it does. The API server would refuse
// the whole status for one wrong type, so a person would see nothing at all.
func typeProblem(schema *apiextensionsv1.JSONSchemaProps, value any) string {
	if number, ok := value.(uint64); ok && number > 1<<63-1 {
		return "the number is too large for Kubernetes; give it as text with string(...)"
	}
	if schema == nil || schema.XIntOrString || value == nil && schema.Nullable {
		return ""
	}
	switch schema.Type {
	case "object":
		return objectProblem(schema, value)
	case "array":
		return listProblem(schema, value)
	case "":
		return ""
	}
	if !scalarFits(schema.Type, value) {
		return fmt.Sprintf("the CRD's schema wants the type %s, and this is %s", schema.Type, kindOf(value))
	}
	return ""
}

func scalarFits(want string, value any) bool {
	switch v := value.(type) {
	case string:
		return want == "string"
	case bool:
		return want == "boolean"
	case int64, uint64:
		return want == "integer" || want == "number"
	case float64:
		return want == "number" || want == "integer" && v == float64(int64(v))
	default:
		return false
	}
}

func objectProblem(schema *apiextensionsv1.JSONSchemaProps, value any) string {
	object, ok := value.(map[string]any)
	if !ok {
		return "the CRD's schema wants an object, and this is " + kindOf(value)
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		next, open := child(schema, key)
		if open || next == nil {
			continue // an unknown key is pruned, as everywhere in Kubernetes
		}
		if problem := typeProblem(next, object[key]); problem != "" {
			return key + ": " + problem
		}
	}
	return ""
}

func listProblem(schema *apiextensionsv1.JSONSchemaProps, value any) string {
	list, ok := value.([]any)
	if !ok {
		return "the CRD's schema wants a list, and this is " + kindOf(value)
	}
	if schema.Items == nil || schema.Items.Schema == nil {
		return ""
	}
	for i, element := range list {
		if problem := typeProblem(schema.Items.Schema, element); problem != "" {
			return fmt.Sprintf("[%d]: %s", i, problem)
		}
	}
	return ""
}
