package mapping

import (
	"context"
	"fmt"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/mapping"
)

// Preview says of a mapping that is not stored yet what its status would say: warnings about what keeps it from serving
// and may still come, and an error that is a *mapping.InvalidError when it can never serve. Nothing is kept.
func (r *Reconciler) Preview(ctx context.Context, m *v1alpha1.RestMapping) (warnings []string, err error) {
	rival, err := r.rival(ctx, m)
	if err != nil {
		return nil, err
	}
	if rival != "" {
		rep := newReport(m)
		rep.conflict(rival)
		warnings = append(warnings, rep.message)
	}
	t, err := r.target(ctx, m)
	switch {
	case err != nil:
		return nil, err
	case t.problem != nil && t.schema.Schema == nil:
		return append(warnings, t.problem.message+"; its expressions were not checked"), nil
	case t.problem != nil:
		warnings = append(warnings, t.problem.message)
	}
	known, missing, err := r.previewReferences(ctx, m)
	if err != nil {
		return nil, err
	}
	warnings = append(warnings, missing...)
	program, err := mapping.Compile(m, t.schema, known...)
	if err != nil {
		return warnings, err
	}
	return append(warnings, program.Warnings()...), nil
}

// previewReferences gives the schemas of the kinds that are referred to. One that is not there may still come: what is said of
// it is not checked, and a warning says so.
func (r *Reconciler) previewReferences(ctx context.Context, m *v1alpha1.RestMapping) (known []mapping.ReferenceSchema, warnings []string, err error) {
	references, err := r.references(ctx, m)
	if err != nil {
		return nil, nil, err
	}
	for _, ref := range references {
		if ref.problem != nil {
			warnings = append(warnings, fmt.Sprintf("%s: %s; what uses refs.%s was not checked", ref.field, ref.problem.message, ref.declared.Name))
			continue
		}
		known = append(known, mapping.ReferenceSchema{Name: ref.declared.Name, Namespaced: ref.schema.Namespaced, Schema: ref.schema.Schema})
	}
	return known, warnings, nil
}
