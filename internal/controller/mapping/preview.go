package mapping

import (
	"context"

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
	program, err := mapping.Compile(m, t.schema)
	if err != nil {
		return warnings, err
	}
	return append(warnings, program.Warnings()...), nil
}
