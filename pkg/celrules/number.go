package celrules

import (
	"maps"
	"slices"
)

// withDoubles gives the value with doubles wherever the schema says number. JSON does not keep 5 and 5.0 apart, and
// the API server hands out 5 as an integer; CEL would then refuse 5 * 1.5, an expression it accepted when it was compiled.
// What does not change is not copied, and the value itself is never changed.
func (t *schemaType) withDoubles(value any) (converted any, changed bool) {
	if t == nil || !t.number {
		return value, false
	}
	switch v := value.(type) {
	case int64:
		return float64(v), true
	case uint64:
		return float64(v), true
	case []any:
		return t.listWithDoubles(v)
	case map[string]any:
		return t.objectWithDoubles(v)
	default:
		return value, false
	}
}

func (t *schemaType) listWithDoubles(list []any) (converted any, changed bool) {
	result := list
	for i, element := range list {
		double, differs := t.elem.withDoubles(element)
		if !differs {
			continue
		}
		if !changed {
			result, changed = slices.Clone(list), true
		}
		result[i] = double
	}
	return result, changed
}

func (t *schemaType) objectWithDoubles(object map[string]any) (converted any, changed bool) {
	result := object
	for name, element := range object {
		double, differs := t.field(name).withDoubles(element)
		if !differs {
			continue
		}
		if !changed {
			result, changed = maps.Clone(object), true
		}
		result[name] = double
	}
	return result, changed
}
