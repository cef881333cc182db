package mapping

import (
	"slices"

	"github.com/restmapping/operator/pkg/celrules"
	"github.com/restmapping/operator/pkg/rest"
)

// UsesObserved tells whether a request of this operation is made from the object as it is, so that it must be observed
// before.
func (p *Program) UsesObserved(operation rest.Operation) bool {
	plan := p.operations[operation]
	if plan == nil {
		return false
	}
	expressions := []*expression{plan.bodyFrom}
	for _, parameter := range slices.Concat(plan.query, plan.headers) {
		expressions = append(expressions, parameter.value)
	}
	return slices.ContainsFunc(expressions, func(x *expression) bool {
		return x != nil && x.program.Uses(celrules.Observed)
	})
}
