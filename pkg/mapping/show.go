package mapping

import (
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/celrules"
)

// What differs is shown to people with the wanted and the observed value, so that they see what a server makes of what it is
// sent. A value from a Secret, or one that is never read back, is never compared, and so never comes here; a field whose
// value the CRD marks with format: password is not shown. Of an observed object only what stands under a key that
// the custom resource has too is shown: what the server keeps beside it is nobody's business.

const (
	// maxShown bounds one value, in characters.
	maxShown = 48
	// maxShownList bounds the elements of a list that are shown.
	maxShownList = 8
)

// differs describes a difference.
func (f *fieldPlan) differs(want, got any) Difference {
	d := Difference{Path: f.written}
	if !f.hidden {
		n := f.narrow(want, got)
		d.Detail = fmt.Sprintf("%s (found %s, wanted %s)", n.place, shown(n.observed), shown(n.wanted))
	}
	return d
}

// shown writes a value for people.
func shown(value any) string {
	switch v := value.(type) {
	case nil:
		return "nothing"
	case map[string]any:
		return "an object"
	case []any:
		if len(v) > maxShownList || slices.ContainsFunc(v, isContainer) {
			return fmt.Sprintf("a list of %d", len(v))
		}
	}
	text, err := encodeJSON(value)
	if err != nil {
		return kindOf(value)
	}
	if runes := []rune(string(text)); len(runes) > maxShown {
		return string(runes[:maxShown]) + "…"
	}
	return string(text)
}

func isContainer(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	default:
		return false
	}
}

// hidden tells whether a field's value may be a password, as far as the CRD's schema says what is one. An expression may
// take anything from the custom resource. What comes from another one is never shown here: it may be its password.
func (c *compiler) hidden(f *fieldPlan) bool {
	if f.value != nil && f.value.uses(celrules.Refs) {
		return true
	}
	if c.target.Schema == nil {
		return false
	}
	if f.value != nil {
		return f.value.uses(celrules.Self) && hasPassword(c.target.Schema)
	}
	place := lookUp(c.target.Schema, f.from)
	return place.schema != nil && hasPassword(place.schema)
}

// hasPassword looks for format: password in a schema and below it. A CRD's schema is a finite tree.
func hasPassword(schema *apiextensionsv1.JSONSchemaProps) bool {
	if schema.Format == "password" {
		return true
	}
	for _, property := range schema.Properties {
		if hasPassword(&property) {
			return true
		}
	}
	if items := schema.Items; items != nil && items.Schema != nil && hasPassword(items.Schema) {
		return true
	}
	more := schema.AdditionalProperties
	return more != nil && more.Schema != nil && hasPassword(more.Schema)
}

// SendAll lets the update hold every field that it may hold, also when nothing is known to differ.
func (s *Pass) SendAll() { s.all = true }

// unasked tells whether an update that holds what differs holds a field all the same.
func (s *Pass) unasked(f *fieldPlan) bool {
	return f.writeOnly || f.always || s.all && !f.immutable
}

// sends tells whether an update that holds what differs may hold a field.
func (s *Pass) sends(f *fieldPlan) bool {
	return f.onUpdate && (s.unasked(f) || !f.immutable && f.compare != v1alpha1.CompareIgnore)
}
