package celrules

import (
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// guardOperators puts guards before the operators whose work does not show in the size of their operands. They are
// planned by CEL itself and cannot be redeclared as functions can.
func guardOperators(step interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, ok := step.(interpreter.InterpretableCall)
	if !ok {
		return step, nil
	}
	switch call.Function() {
	case operators.Add:
		return &boundedAdd{InterpretableCall: call}, nil
	case operators.Equals:
		return compareWithin(call, types.Equal), nil
	case operators.NotEquals:
		return compareWithin(call, func(a, b ref.Val) ref.Val { return types.Bool(types.Equal(a, b) != types.True) }), nil
	case operators.In:
		return compareWithin(call, contains), nil
	default:
		return step, nil
	}
}

// compareWithin compares only what can be gone through. A list that holds itself twice, twenty times over, is
// written in a line and has a million elements to compare.
func compareWithin(call interpreter.InterpretableCall, compare func(a, b ref.Val) ref.Val) interpreter.InterpretableCall {
	return interpreter.NewCall(call.ID(), call.Function(), call.OverloadID(), call.Args(), func(args ...ref.Val) ref.Val {
		if !weightFits(args) {
			return types.WrapErr(tooLarge("a comparison"))
		}
		return compare(args[0], args[1])
	})
}

// contains is the operator in.
func contains(element, container ref.Val) ref.Val {
	c, ok := container.(traits.Container)
	if !ok {
		return types.MaybeNoSuchOverloadErr(container)
	}
	return c.Contains(element)
}

// boundedAdd is the operator + with a bound for what it builds.
type boundedAdd struct {
	interpreter.InterpretableCall
}

// Exec adds, and refuses a result that is too large.
func (a *boundedAdd) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	result := a.InterpretableCall.Exec(frame)
	switch sum := result.(type) {
	case types.String:
		if len(sum) <= maxText {
			return result
		}
	case traits.Lister:
		if sizeOfList(sum) <= maxList {
			return result
		}
	default:
		return result
	}
	return types.LabelErrNode(a.ID(), types.WrapErr(tooLarge("+")))
}
