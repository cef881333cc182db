package celrules

import (
	"math"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// function is one function of our own.
type function struct {
	// name is what expressions call.
	name string
	// overload names the signature inside CEL.
	overload string
	args     []*cel.Type
	result   *cel.Type
	call     func(args []ref.Val) (ref.Val, error)
	// factor is how many times the call goes through its arguments.
	factor float64
}

// ownFunctions are the functions that neither CEL nor Kubernetes has.
func ownFunctions() []function {
	return append(textFunctions(), append(objectFunctions(), jsonFunctions()...)...)
}

// option declares the function and what it is estimated to cost.
func (f function) option() cel.EnvOption {
	declare := cel.Function(f.name, cel.Overload(f.overload, f.args, f.result, f.binding()))
	estimate := cel.CostEstimatorOptions(checker.OverloadCostEstimate(f.overload, f.estimate))
	return func(env *cel.Env) (*cel.Env, error) {
		env, err := declare(env)
		if err != nil {
			return nil, err
		}
		return estimate(env)
	}
}

// binding is the implementation in the form that fits the number of arguments.
func (f function) binding() cel.OverloadOpt {
	run := func(args ...ref.Val) ref.Val {
		value, err := f.call(args)
		if err != nil {
			return types.WrapErr(err)
		}
		return value
	}
	switch len(f.args) {
	case 1:
		return cel.UnaryBinding(func(a ref.Val) ref.Val { return run(a) })
	case 2:
		return cel.BinaryBinding(func(a, b ref.Val) ref.Val { return run(a, b) })
	default:
		return cel.FunctionBinding(run)
	}
}

// tracker charges what a call really cost.
func (f function) tracker() interpreter.CostTrackerOption {
	return interpreter.OverloadCostTracker(f.overload, func(args []ref.Val, result ref.Val) *uint64 {
		size := weight(result, maxWeight)
		for _, arg := range args {
			size += weight(arg, maxWeight)
		}
		cost := 1 + uint64(math.Ceil(float64(size*charactersPerStep)*f.factor*common.StringTraversalCostFactor))
		return &cost
	})
}

func (f function) estimate(sizes checker.CostEstimator, _ *checker.AstNode, args []checker.AstNode) *checker.CallEstimate {
	total := checker.SizeEstimate{}
	for _, arg := range args {
		total = total.Add(sizeOfNode(sizes, arg))
	}
	cost := total.MultiplyByCostFactor(f.factor * common.StringTraversalCostFactor).Add(checker.FixedCostEstimate(1))
	return &checker.CallEstimate{CostEstimate: cost, ResultSize: &total}
}

func sizeOfNode(sizes checker.CostEstimator, node checker.AstNode) checker.SizeEstimate {
	if size := node.ComputedSize(); size != nil {
		return *size
	}
	if size := sizes.EstimateSize(node); size != nil {
		return *size
	}
	return checker.SizeEstimate{Min: 0, Max: assumedSize}
}

// weight is the size of a value with all that is in it, in steps: one for every value, and one for every few characters of text.
// It stops at the limit.
func weight(value ref.Val, limit int) int {
	switch v := value.(type) {
	case types.String:
		return len(v)/charactersPerStep + 1
	case types.Bytes:
		return len(v)/charactersPerStep + 1
	case traits.Mapper:
		total := 1
		for it := v.Iterator(); it.HasNext() == types.True && total <= limit; {
			key := it.Next()
			total += weight(key, limit-total) + weight(v.Get(key), limit-total)
		}
		return total
	case traits.Lister:
		total := 1
		for it := v.Iterator(); it.HasNext() == types.True && total <= limit; {
			total += weight(it.Next(), limit-total)
		}
		return total
	default:
		return 1
	}
}
