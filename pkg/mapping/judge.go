package mapping

import (
	"context"
	"errors"
	"slices"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/celrules"
	"github.com/restmapping/operator/pkg/rest"
)

// Violation is a rule that the custom resource breaks.
type Violation struct{ Reason, Message string }

// Rules gives all rules that the custom resource breaks.
func (s *Pass) Rules(ctx context.Context) ([]Violation, error) {
	var broken []Violation
	var problems []error
	for _, rule := range s.program.rules {
		kept, err := s.holds(ctx, rule.holds, nil)
		switch {
		case err != nil:
			problems = append(problems, err)
		case !kept:
			broken = append(broken, Violation{rule.reason, rule.message})
		}
	}
	return broken, errors.Join(problems...)
}

// SelfRules gives the rules that a custom resource breaks by itself: those that ask what it refers to are left out, since only a
// pass knows that. It may be asked before the custom resource is stored. Rules that cannot be evaluated are in the error.
func (p *Program) SelfRules(ctx context.Context, self map[string]any) ([]Violation, error) {
	alone := *p
	alone.rules = slices.DeleteFunc(slices.Clone(p.rules), func(r rulePlan) bool { return r.holds.uses(celrules.Refs) })
	return alone.NewPass(Inputs{Self: self}).Rules(ctx)
}

// Ready tells whether the object is usable, and otherwise what it waits for. Without a rule it is usable.
func (s *Pass) Ready(ctx context.Context, observed any) (ok bool, message string, err error) {
	plan := s.program.ready
	if plan == nil {
		return true, "", nil
	}
	if ok, err = s.holds(ctx, plan.holds, map[celrules.Variable]any{celrules.Observed: observed}); ok || err != nil {
		return ok, "", err
	}
	return false, plan.message, nil
}

// Status gives the projections, nested as they stand below status. One that is null is left out. When some cannot be
// computed or do not fit the CRD's schema, the others are given together with the error.
func (s *Pass) Status(ctx context.Context, observed any) (map[string]any, error) {
	status := map[string]any{}
	visible := s.program.sensitive.shown(map[celrules.Variable]any{celrules.Observed: observed})
	var problems []error
	for i := range s.program.status {
		plan := &s.program.status[i]
		value, present, err := s.evaluate(ctx, plan.value, visible)
		switch {
		case err != nil:
			problems = append(problems, err)
			continue
		case !present:
			continue
		}
		if problem := typeProblem(plan.schema, value); problem != "" {
			problems = append(problems, &ExpressionError{Field: plan.value.field, Problem: "status." + plan.to.String() + ": " + problem})
			continue
		}
		plan.to.set(status, value)
	}
	return status, errors.Join(problems...)
}

// Outcome gives what the mapping declares a response to mean: the first rule that applies. A rule that asks for a key
// which the response does not have does not apply to it, since responses to one request come in many shapes; nor does
// one that asks a body for more than its kind can give: an error page is text, and has no fields. When no rule applies and one could not be evaluated for another reason, matched is false and err says why; the default
// table then holds.
func (s *Pass) Outcome(ctx context.Context, operation rest.Operation, resp *rest.Response) (name v1alpha1.OutcomeName, message string, matched bool, err error) {
	var problems []error
	for i := range s.program.outcomes {
		plan := &s.program.outcomes[i]
		if len(plan.on) > 0 && !slices.Contains(plan.on, operation) {
			continue
		}
		applies, err := s.holds(ctx, plan.when, responseVariable(resp))
		if err != nil && !isShape(err, plan.when, resp) {
			problems = append(problems, err)
		}
		if applies {
			return plan.outcome, plan.message, true, nil
		}
	}
	return "", "", false, errors.Join(problems...)
}

// isShape tells that a rule could not be judged because the response has another shape than the rule speaks of.
func isShape(err error, when *expression, resp *rest.Response) bool {
	evaluation, ok := errors.AsType[*celrules.EvaluationError](err)
	if !ok || evaluation.Limit {
		return false
	}
	_, isObject := resp.Body.(map[string]any)
	return evaluation.Missing || !isObject && (when.uses(celrules.Response, "body") || when.uses(celrules.Operation, "body"))
}
