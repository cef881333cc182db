package celrules

import (
	"context"
	"strconv"
)

// EvaluateBool is Evaluate for a boolean; absent is false.
func (x *Expression) EvaluateBool(ctx context.Context, b *Budget, vars map[Variable]any) (value, present bool, err error) {
	v, present, err := x.Evaluate(ctx, b, vars)
	if err != nil || !present {
		return false, false, err
	}
	value, ok := v.(bool)
	if !ok {
		return false, false, x.failed("must give a boolean, but gave " + kindOf(v))
	}
	return value, true, nil
}

// EvaluateString is Evaluate for text. Numbers and booleans are written as JSON writes them, never in scientific form.
func (x *Expression) EvaluateString(ctx context.Context, b *Budget, vars map[Variable]any) (value string, present bool, err error) {
	v, present, err := x.Evaluate(ctx, b, vars)
	if err != nil || !present {
		return "", false, err
	}
	switch scalar := v.(type) {
	case string:
		return scalar, true, nil
	case bool:
		return strconv.FormatBool(scalar), true, nil
	case int64:
		return strconv.FormatInt(scalar, 10), true, nil
	case uint64:
		return strconv.FormatUint(scalar, 10), true, nil
	case float64:
		return strconv.FormatFloat(scalar, 'f', -1, 64), true, nil
	default:
		return "", false, x.failed("must give a string, a number or a boolean, but gave " + kindOf(v))
	}
}

// EvaluateList is Evaluate for a list; absent is nil.
func (x *Expression) EvaluateList(ctx context.Context, b *Budget, vars map[Variable]any) (value []any, present bool, err error) {
	v, present, err := x.Evaluate(ctx, b, vars)
	if err != nil || !present {
		return nil, false, err
	}
	value, ok := v.([]any)
	if !ok {
		return nil, false, x.failed("must give a list, but gave " + kindOf(v))
	}
	return value, true, nil
}
