package mapping

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/restmapping/operator/pkg/celrules"
)

// ReferenceKind is what a mapping says of one of its references, for all custom resources.
type ReferenceKind struct {
	// Input is the declared name, as in refs.<input>.
	Input                string
	Group, Version, Kind string
	// Namespaced tells that the object is in the custom resource's own namespace; otherwise it is cluster-scoped.
	Namespaced bool
	// HasConditions tells that objects of the kind say by conditions whether they are ready.
	HasConditions bool
	// Optional tells that the pass can go on when none is named, Owner that the object is to be an owner of the custom
	// resource, Blocks that it is not deleted outside before it.
	Optional, Owner, Blocks bool
}

// Reference names the object that a custom resource refers to.
type Reference struct {
	ReferenceKind
	// Namespace is empty for a cluster-scoped kind.
	Namespace, Name string
}

// String names the object for people.
func (r Reference) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// ReferenceError says that an expression names no object that could be referred to.
type ReferenceError struct {
	// Input is the declared name, as in refs.<input>.
	Input string
	// Field is the place in the mapping.
	Field string
	// Problem says what is wrong and how to put it right.
	Problem string
}

// Error implements error.
func (e *ReferenceError) Error() string {
	return fmt.Sprintf("%s: reference %q: %s", e.Field, e.Input, e.Problem)
}

// ReferenceKinds are the declared references, in the order of the mapping.
func (p *Program) ReferenceKinds() []ReferenceKind {
	kinds := make([]ReferenceKind, len(p.references))
	for i := range p.references {
		kinds[i] = p.references[i].ReferenceKind
	}
	return kinds
}

// References gives the objects that a custom resource refers to. An optional one that it does not name is left out.
// Those that can be used are given together with the error about the others.
func (p *Program) References(ctx context.Context, self map[string]any) ([]Reference, error) {
	budget := celrules.NewBudget(0)
	var found []Reference
	var problems []error
	for i := range p.references {
		plan := &p.references[i]
		value, present, err := evaluate(ctx, budget, plan.nameFrom, map[celrules.Variable]any{celrules.Self: self})
		name, _ := value.(string)
		switch {
		case err != nil:
			problems = append(problems, err)
		case present && name != "":
			reference, problem := plan.named(name, self)
			if problem != "" {
				problems = append(problems, &ReferenceError{plan.Input, plan.nameFrom.field, problem})
				continue
			}
			found = append(found, reference)
		case !plan.Optional:
			problems = append(problems, &ReferenceError{
				plan.Input, plan.nameFrom.field,
				"the custom resource names no " + plan.Kind + ": name one, or declare the reference optional in the mapping",
			})
		}
	}
	return found, errors.Join(problems...)
}

// named refuses what is no name: a namespace in it, above all.
func (p *referencePlan) named(name string, self map[string]any) (Reference, string) {
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return Reference{}, "the expression gives no valid name of a " + p.Kind + ": " + strings.Join(problems, "; ")
	}
	r := Reference{ReferenceKind: p.ReferenceKind, Name: name}
	if p.Namespaced {
		namespace, _ := bodyPath{"metadata", "namespace"}.get(self)
		r.Namespace, _ = namespace.(string)
	}
	return r, ""
}
