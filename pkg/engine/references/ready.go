package references

import (
	"fmt"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/status"
)

// NotReady says why an object cannot be referred to yet; empty when it can. It is judged as kstatus does: by Ready at the
// present generation. hasConditions tells that objects of the kind have conditions; one of another kind is ready as soon
// as it is there.
func NotReady(object map[string]any, hasConditions bool) string {
	metadata, _ := object["metadata"].(map[string]any)
	if metadata["deletionTimestamp"] != nil {
		return "it is being deleted"
	}
	current, _ := object["status"].(map[string]any)
	generation, _ := metadata["generation"].(int64)
	if observed, says := current["observedGeneration"].(int64); says && observed != generation {
		return "it was not looked at since it was changed last"
	}
	ready := status.Find(current, v1alpha1.ConditionReady)
	switch {
	case ready == nil && hasConditions:
		return "it has no condition Ready yet"
	case ready == nil:
		return ""
	case ready["status"] != "True":
		return fmt.Sprintf("its condition Ready is %v, with reason %v", ready["status"], ready["reason"])
	}
	if observed, says := ready["observedGeneration"].(int64); says && observed != generation {
		return "its condition Ready is older than its last change"
	}
	return ""
}
