package status

import (
	"k8s.io/apimachinery/pkg/api/equality"
)

// MergePatch gives the JSON merge patch (RFC 7386) that makes one status of another.
func MergePatch(from, to map[string]any) map[string]any {
	patch := map[string]any{}
	for key, value := range to {
		was, had := from[key]
		if had && equality.Semantic.DeepEqual(was, value) {
			continue
		}
		before, isMap := was.(map[string]any)
		after, willBeMap := value.(map[string]any)
		if isMap && willBeMap {
			patch[key] = MergePatch(before, after)
			continue
		}
		patch[key] = value
	}
	for key := range from {
		if _, stays := to[key]; !stays {
			patch[key] = nil
		}
	}
	return patch
}
