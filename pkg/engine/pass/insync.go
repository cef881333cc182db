package pass

import (
	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/fleet"
)

// InSync tells whether a custom resource's own status says that this generation is ready and in sync.
func InSync(obj *fleet.Object) bool {
	content, err := obj.Unstructured()
	if err != nil {
		return false
	}
	current, _ := content["status"].(map[string]any)
	observed, ok := current["observedGeneration"].(int64)
	return ok && observed == obj.GetGeneration() && isTrue(current, v1alpha1.ConditionReady) && isTrue(current, v1alpha1.ConditionSynced)
}
