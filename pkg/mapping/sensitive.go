package mapping

import (
	"maps"
	"slices"

	"github.com/restmapping/operator/pkg/celrules"
	"github.com/restmapping/operator/pkg/rest"
)

// What a mapping marks as sensitive in the server's answers may go into requests and into Secrets, and is shown nowhere. An
// expression whose value people see does not get it at all: it is cut out of the documents that the expression is given. That
// holds for whatever the expression does with them; the compiler refuses one that names the place, because it would find
// nothing there.

// marks are the places that hold sensitive values, below each variable.
type marks map[celrules.Variable][]bodyPath

// shown gives what an expression may see whose value is shown to people.
func (m marks) shown(variables map[celrules.Variable]any) map[celrules.Variable]any {
	if len(m) == 0 {
		return variables
	}
	visible := maps.Clone(variables)
	for variable, paths := range m {
		if document, given := visible[variable]; given {
			for _, path := range paths {
				document = path.without(document)
			}
			visible[variable] = document
		}
	}
	return visible
}

// without gives a document without what stands at the path. The document itself is left as it is. A list on the way stands
// for all of its elements.
func (p bodyPath) without(document any) any {
	switch v := document.(type) {
	case map[string]any:
		inner, there := v[p[0]]
		if !there {
			return v
		}
		left := maps.Clone(v)
		if len(p) == 1 {
			delete(left, p[0])
		} else {
			left[p[0]] = p[1:].without(inner)
		}
		return left
	case []any:
		left := make([]any, len(v))
		for i := range v {
			left[i] = p.without(v[i])
		}
		return left
	default:
		return document
	}
}

// texts gives every text and number at the path and below it. A list on the way stands for all of its elements.
func (p bodyPath) texts(document any) []string {
	var found []string
	switch v := document.(type) {
	case map[string]any:
		if len(p) > 0 {
			if inner, there := v[p[0]]; there {
				return p[1:].texts(inner)
			}
			return nil
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			found = append(found, p.texts(v[key])...)
		}
	case []any:
		for _, element := range v {
			found = append(found, p.texts(element)...)
		}
	case nil, bool:
	default:
		if text, ok := formatScalar(v); ok && len(p) == 0 {
			found = append(found, text)
		}
	}
	return found
}

// SensitiveValues gives the values of an answer that the mapping marks as sensitive, so that they can be taken out of what
// is shown. They must never be shown themselves.
func (s *Pass) SensitiveValues(resp *rest.Response) []string {
	if len(s.program.sensitive) == 0 || resp == nil {
		return nil
	}
	return s.program.sensitive.texts(celrules.Response, responseObject(resp))
}

// SensitiveOf is SensitiveValues for an object as it was selected.
func (s *Pass) SensitiveOf(observed any) []string {
	return s.program.sensitive.texts(celrules.Observed, observed)
}

func (m marks) texts(variable celrules.Variable, document any) []string {
	var found []string
	for _, path := range m[variable] {
		found = append(found, path.texts(document)...)
	}
	return found
}
