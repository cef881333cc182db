package celrules

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
)

// Evaluate runs the expression. present is false when it gives null or an absent optional. The value is plain JSON and shares
// nothing with the variables. The error is an *EvaluationError.
func (x *Expression) Evaluate(ctx context.Context, b *Budget, vars map[Variable]any) (value any, present bool, err error) {
	defer func() {
		if err != nil {
			b.fail()
		}
	}()
	out, err := x.run(ctx, b, vars)
	if err != nil {
		return nil, false, err
	}
	value, err = x.result.convert(out)
	if err != nil {
		return nil, false, x.failed(err.Error())
	}
	if value == nil {
		return nil, false, nil
	}
	if !x.result.acceptsValue(value) {
		return nil, false, x.failed(fmt.Sprintf("must give %s, but gave %s", x.result, kindOf(value)))
	}
	return value, true, nil
}

// run evaluates within the limits and charges the budget.
func (x *Expression) run(ctx context.Context, b *Budget, vars map[Variable]any) (ref.Val, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, x.interrupted(err)
	}
	if b.spent() {
		return nil, x.overBudget()
	}
	out, details, err := x.program.ContextEval(ctx, x.activation(vars))
	enough := b.charge(costOf(details, err))
	switch {
	case err != nil:
		return nil, x.explain(ctx, err)
	case !enough:
		return nil, x.overBudget()
	default:
		return out, nil
	}
}

// costOf gives what an evaluation cost. One that was stopped is charged the whole limit of an expression.
func costOf(details *cel.EvalDetails, err error) uint64 {
	cost := details.ActualCost()
	if cost == nil || errors.As(err, &interpreter.EvalCancelledError{}) {
		return ExpressionLimit
	}
	return *cost
}

// activation gives CEL the variables without copying them. A variable without a value is null, so that an optional
// selection from it is absent.
type activation struct {
	vars map[Variable]any
	// self and refs are the custom resources, with doubles where their schemas say number.
	self, refs any
}

func (x *Expression) activation(vars map[Variable]any) *activation {
	a := &activation{vars: vars}
	a.self, _ = x.self.withDoubles(vars[Self])
	a.refs, _ = x.refs.withDoubles(vars[Refs])
	return a
}

// ResolveName finds a variable.
func (a *activation) ResolveName(name string) (any, bool) {
	value := a.vars[Variable(name)]
	switch Variable(name) {
	case Self:
		value = a.self
	case Refs:
		value = a.refs
	default:
	}
	if value == nil {
		return types.NullValue, true
	}
	return value, true
}

// Parent says that there is no outer scope.
func (a *activation) Parent() cel.Activation { return nil }
