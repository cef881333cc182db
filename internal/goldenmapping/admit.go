package goldenmapping

import (
	"context"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apimachinery/pkg/runtime"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
)

// structuralUnknown lists the fields that the API server would drop.
func structuralUnknown(object map[string]any, schema *structuralschema.Structural) []string {
	return pruning.PruneWithOptions(runtime.DeepCopyJSON(object), schema, true,
		structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
}

// checkRules evaluates the CRD's own CEL rules, those for a new object.
func (k *Kind) checkRules(ctx context.Context, object map[string]any) error {
	validator := cel.NewValidator(k.structural, true, celconfig.PerCallLimit)
	if validator == nil {
		return nil
	}
	list, _ := validator.Validate(ctx, nil, k.structural, object, nil, celconfig.RuntimeCELCostBudget)
	return list.ToAggregate()
}
