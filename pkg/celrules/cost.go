package celrules

import (
	"fmt"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apiserver/pkg/cel/library"
)

// programOptions bound every evaluation.
func programOptions() []cel.ProgramOption {
	costs := []interpreter.CostTrackerOption{interpreter.PresenceTestHasCost(false)}
	for _, f := range ownFunctions() {
		costs = append(costs, f.tracker())
	}
	return []cel.ProgramOption{
		cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost),
		cel.CostLimit(ExpressionLimit),
		cel.CostTracking(&boundedCosts{}),
		cel.CostTrackerOptions(costs...),
		cel.CustomDecoratorV2(guardOperators),
		cel.InterruptCheckFrequency(interruptFrequency),
	}
}

// boundedCosts are the costs of the Kubernetes functions, counted within a limit. The library goes through a whole list to
// count it, which never ends for a list that holds itself over and over.
type boundedCosts struct {
	library.CostEstimator
}

// CallCost gives the cost of one call.
func (c *boundedCosts) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	switch function {
	case "isSorted", "sum", "max", "min", "indexOf", "lastIndexOf", "includes":
		cost := uint64(0)
		for _, arg := range args[:min(1, len(args))] {
			cost += traversal(arg)
		}
		return &cost
	default:
		return c.CostEstimator.CallCost(function, overload, args, result)
	}
}

// traversal is the cost of going through a text or a list.
func traversal(value ref.Val) uint64 {
	size := weight(value, maxWeight)
	if _, ok := value.(types.String); ok {
		return uint64(float64(size*charactersPerStep) * common.StringTraversalCostFactor)
	}
	return uint64(max(0, size))
}

// costWarnings estimates what an expression can cost at most. The estimate is a warning and not an error, since it knows no
// sizes but those of the schema.
func (e *Environment) costWarnings(checked *cel.Ast) []string {
	estimate, err := e.cel.EstimateCost(checked, &library.CostEstimator{SizeEstimator: &sizeEstimator{environment: e}})
	if err != nil || estimate.Max <= WarningCost {
		return nil
	}
	return []string{fmt.Sprintf("may cost %d where lists and texts are as long as the schema allows (%d where it sets no limit), "+
		"and is stopped at %d: set maxItems and maxLength in the CRD, or go through fewer lists inside each other",
		estimate.Max, assumedSize, ExpressionLimit)}
}

// sizeEstimator tells the cost estimate the sizes that the schema allows.
type sizeEstimator struct {
	environment *Environment
}

// EstimateSize gives the size of a value that stands in the schema, and assumes one for all others.
func (s *sizeEstimator) EstimateSize(node checker.AstNode) *checker.SizeEstimate {
	if path := node.Path(); len(path) > 0 {
		if t := s.environment.typeAt(path); t != nil && t.maxSize > 0 {
			return &checker.SizeEstimate{Min: 0, Max: t.maxSize}
		}
	}
	return &checker.SizeEstimate{Min: 0, Max: assumedSize}
}

// EstimateCallCost leaves the functions to the libraries.
func (s *sizeEstimator) EstimateCallCost(string, string, *checker.AstNode, []checker.AstNode) *checker.CallEstimate {
	return nil
}
