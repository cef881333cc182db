package status

import "math"

// stored gives a copy of a value as it will be read back from the API server: a whole number is an integer whatever it
// was computed as, a number beyond int64 is a double, and a member without a value is not there. Anything else would
// look like a change in every pass.
func stored(value any) any {
	switch v := value.(type) {
	case map[string]any:
		return storedObject(v)
	case []any:
		list := make([]any, 0, len(v))
		for _, item := range v {
			list = append(list, stored(item))
		}
		return list
	case uint64:
		return float64(v) // mapping only uses it beyond int64
	case float64:
		if v == math.Trunc(v) && v >= math.MinInt64 && v < math.MaxInt64 {
			return int64(v)
		}
		return v
	default:
		return v
	}
}

func storedObject(object map[string]any) map[string]any {
	out := make(map[string]any, len(object))
	for key, value := range object {
		if value != nil {
			out[key] = stored(value)
		}
	}
	return out
}
