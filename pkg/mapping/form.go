package mapping

import (
	"maps"
	"net/url"
	"slices"
	"strings"
)

// encodeForm writes a flat object as application/x-www-form-urlencoded, its keys sorted. A list repeats its key; null
// leaves it out. field is the operation's place in the mapping.
func encodeForm(field string, value any) ([]byte, error) {
	object, ok := value.(map[string]any)
	if !ok {
		return nil, &ExpressionError{Field: field, Problem: "a form is made of an object, and the body is " + kindOf(value)}
	}
	var form strings.Builder
	for _, key := range slices.Sorted(maps.Keys(object)) {
		list, isList := object[key].([]any)
		if !isList {
			list = []any{object[key]}
		}
		for _, element := range list {
			if element == nil {
				continue
			}
			text, ok := formatScalar(element)
			if !ok {
				return nil, &ExpressionError{Field: field, Problem: "a form holds text, numbers, booleans and lists of these; " +
					cut(key) + " is or holds " + kindOf(element) + ": map each of its keys, or write it as text with toJSON(...)"}
			}
			if form.Len() > 0 {
				form.WriteByte('&')
			}
			form.WriteString(url.QueryEscape(key) + "=" + url.QueryEscape(text))
		}
	}
	return []byte(form.String()), nil
}
