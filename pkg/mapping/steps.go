package mapping

import (
	"context"

	"github.com/restmapping/operator/pkg/celrules"
	"github.com/restmapping/operator/pkg/rest"
)

// HasDeleteSteps tells whether the object may have to be made ready before it is deleted.
func (p *Program) HasDeleteSteps() bool {
	plan := p.operations[rest.Delete]
	return plan != nil && len(plan.before) > 0
}

// DeleteStep gives the first request whose condition holds of the object as it was read; due is false when the object
// can be deleted as it is.
func (s *Pass) DeleteStep(ctx context.Context, observed any) (step int, due bool, err error) {
	plan, err := s.plan(rest.Delete)
	if err != nil {
		return 0, false, err
	}
	for i := range plan.before {
		due, err = s.holds(ctx, plan.before[i].when, map[celrules.Variable]any{celrules.Observed: observed})
		if due || err != nil {
			return i, due, err
		}
	}
	return 0, false, nil
}

// DeleteStepRequest builds one of the requests that come before the delete.
func (s *Pass) DeleteStepRequest(ctx context.Context, step int, observed any) (rest.Request, error) {
	plan, err := s.plan(rest.Delete)
	if err != nil {
		return rest.Request{}, err
	}
	return s.request(ctx, plan.before[step].request, observed)
}
