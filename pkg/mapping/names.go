package mapping

import (
	"github.com/restmapping/operator/pkg/rest"
)

// IdentifierNames are the names of all identifiers, in the order of the mapping.
func (p *Program) IdentifierNames() []string {
	names := make([]string, len(p.identifiers))
	for i := range p.identifiers {
		names[i] = p.identifiers[i].name
	}
	return names
}

// AssignedIdentifiers are the names of those that the server chooses, in the order of the mapping.
func (p *Program) AssignedIdentifiers() []string {
	var names []string
	for i := range p.identifiers {
		if p.identifiers[i].assigned != nil {
			names = append(names, p.identifiers[i].name)
		}
	}
	return names
}

// Selects tells whether the mapping says where in the response of an operation the object is.
func (p *Program) Selects(operation rest.Operation) bool {
	plan := p.operations[operation]
	return plan != nil && plan.selected != nil
}

// Route is the path of an operation as the author wrote it, empty when there is no such operation.
func (p *Program) Route(operation rest.Operation) string {
	plan := p.operations[operation]
	if plan == nil {
		return ""
	}
	return plan.path.source
}
