package mapping

import (
	"fmt"

	"github.com/restmapping/operator/api/v1alpha1"
)

// equalByKey compares lists of objects as maps: the same keys, and under each what is desired. Order does not count.
func equalByKey(key string, desired, observed any) bool {
	if desired == nil {
		return observed == nil
	}
	want, problem := byKey(key, desired)
	if problem != "" {
		return false
	}
	if observed == nil {
		return len(want) == 0
	}
	got, problem := byKey(key, observed)
	if problem != "" || len(want) != len(got) {
		return false
	}
	for name, element := range want {
		other, there := got[name]
		if !there || !equalValues(v1alpha1.CompareExact, element, other) {
			return false
		}
	}
	return true
}

// byKey gives the elements of a list by the value of their key. problem says why that cannot be done; it holds no value.
func byKey(key string, value any) (elements map[string]any, problem string) {
	list, ok := value.([]any)
	if !ok {
		return nil, fmt.Sprintf("is %s; compare: MapByKey needs a list of objects", kindOf(value))
	}
	elements = make(map[string]any, len(list))
	for i, element := range list {
		object, ok := element.(map[string]any)
		if !ok {
			return nil, fmt.Sprintf("element %d is %s; compare: MapByKey needs a list of objects", i, kindOf(element))
		}
		name, ok := formatScalar(object[key])
		if !ok {
			return nil, fmt.Sprintf("element %d has no text or number under the key %q, which compare: MapByKey needs", i, key)
		}
		if _, twice := elements[name]; twice {
			return nil, fmt.Sprintf("element %d has the same %q as one before it, so compare: MapByKey cannot tell them apart", i, key)
		}
		elements[name] = element
	}
	return elements, ""
}
