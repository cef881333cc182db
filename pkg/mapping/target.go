package mapping

import (
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// TargetSchema is what a mapping needs to know of the CRD's version it serves.
type TargetSchema struct {
	Namespaced bool
	// Schema is that of the version, for the whole object. Without it nothing is checked against it.
	Schema *apiextensionsv1.JSONSchemaProps
	// StatusSubresource tells whether the version has one.
	StatusSubresource bool
}

// reservedStatus are the fields of status that the operator itself writes.
func reservedStatus() []string {
	return []string{"conditions", "observedGeneration", "identifiers", "lastError", "drift", "lastHandledReconcileAt"}
}

// conditionFields are what every condition carries.
func conditionFields() []string {
	return []string{"type", "status", "reason", "message", "lastTransitionTime", "observedGeneration"}
}

// CheckTarget lists what the CRD lacks so that the status can hold what the operator writes. The API server would drop
// these fields without a word, and every tool would take the object for healthy.
func CheckTarget(t TargetSchema) []string {
	var lacks []string
	if !t.StatusSubresource {
		lacks = append(lacks, "the version has no status subresource; add subresources: {status: {}}")
	}
	status := statusOf(t.Schema)
	if status == nil {
		return append(lacks, "the schema has no status; add status with conditions and observedGeneration")
	}
	if problem := conditionsProblem(lookUp(status, bodyPath{"conditions"})); problem != "" {
		lacks = append(lacks, problem)
	}
	if problem := generationProblem("status", lookUp(status, bodyPath{"observedGeneration"})); problem != "" {
		lacks = append(lacks, problem)
	}
	return lacks
}

func conditionsProblem(place schemaPlace) string {
	switch {
	case place.open:
		return ""
	case !place.found():
		return "status.conditions is not in the schema; add a list of objects with " + strings.Join(conditionFields(), ", ")
	case isOpen(place.schema) && place.schema.Type == "":
		return ""
	case place.schema.Type != "array" || place.schema.Items == nil || place.schema.Items.Schema == nil:
		return "status.conditions is not a list of objects in the schema"
	}
	item := place.schema.Items.Schema
	missing := slices.DeleteFunc(conditionFields(), func(name string) bool { return lookUp(item, bodyPath{name}).found() })
	if len(missing) > 0 {
		return "the items of status.conditions have no " + strings.Join(missing, ", ") + " in the schema"
	}
	return generationProblem("status.conditions[]", lookUp(item, bodyPath{"observedGeneration"}))
}

func generationProblem(where string, place schemaPlace) string {
	switch {
	case place.open:
		return ""
	case !place.found():
		return where + ".observedGeneration is not in the schema; add it with type integer"
	case place.schema.Type != "integer" && !isOpen(place.schema):
		return where + ".observedGeneration is not of type integer in the schema"
	default:
		return ""
	}
}
