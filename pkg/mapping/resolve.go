package mapping

import (
	"context"
	"errors"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/restmapping/operator/pkg/celrules"
)

// EndpointName gives the name of the endpoint for a custom resource.
func (p *Program) EndpointName(ctx context.Context, self map[string]any) (string, error) {
	x := p.endpoint.from
	if x == nil {
		return p.endpoint.name, nil
	}
	value, present, err := evaluate(ctx, celrules.NewBudget(0), x, map[celrules.Variable]any{celrules.Self: self})
	if err != nil {
		return "", err
	}
	name, ok := value.(string)
	if !present || !ok || name == "" {
		return "", &ExpressionError{Field: x.field, Problem: "gives no name of an endpoint for this custom resource"}
	}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return "", &ExpressionError{Field: x.field, Problem: "gives no valid name of an endpoint: " + strings.Join(problems, "; ")}
	}
	return name, nil
}

// SecretRef names the key of a Secret in the custom resource's namespace.
type SecretRef struct {
	// Input is the declared name, as in secrets.<input>.
	Input string
	// Name is the Secret's, Key the key in it.
	Name, Key string
	// Optional tells that the pass can go on without the value.
	Optional bool
}

// SecretRefs gives the Secrets that a custom resource names. An optional one that it does not name is left out.
// Those that can be used are given together with the error about the others.
func (p *Program) SecretRefs(ctx context.Context, self map[string]any) ([]SecretRef, error) {
	budget := celrules.NewBudget(0)
	var refs []SecretRef
	var problems []error
	for _, plan := range p.secrets {
		value, present, err := evaluate(ctx, budget, plan.ref, map[celrules.Variable]any{celrules.Self: self})
		switch {
		case err != nil:
			problems = append(problems, err)
		case present:
			ref, problem := secretRef(plan, value, self)
			if problem != "" {
				problems = append(problems, &SecretRefError{plan.name, plan.ref.field, problem})
				continue
			}
			refs = append(refs, ref)
		case !plan.optional:
			problems = append(problems, &SecretRefError{
				plan.name, plan.ref.field,
				"the custom resource names no Secret: give it a reference {name, key}, or declare the secret optional in the mapping",
			})
		}
	}
	return refs, errors.Join(problems...)
}

func secretRef(plan secretPlan, value any, self map[string]any) (SecretRef, string) {
	object, ok := value.(map[string]any)
	if !ok {
		return SecretRef{}, "the reference is " + kindOf(value) + " and not an object {name, key}"
	}
	own, _ := bodyPath{"metadata", "namespace"}.get(self)
	if namespace, given := object["namespace"]; given && namespace != "" && namespace != nil && namespace != own {
		return SecretRef{}, "the reference names a namespace, but a Secret is only ever read in the custom resource's own namespace; remove it"
	}
	ref := SecretRef{Input: plan.name, Optional: plan.optional}
	ref.Name, _ = object["name"].(string)
	ref.Key, _ = object["key"].(string)
	switch {
	case ref.Name == "" || ref.Key == "":
		return SecretRef{}, "the reference needs both name and key, as text"
	case len(validation.IsDNS1123Subdomain(ref.Name)) > 0:
		return SecretRef{}, "the reference's name is not a valid name of a Secret"
	case len(validation.IsConfigMapKey(ref.Key)) > 0:
		return SecretRef{}, "the reference's key is not a valid key of a Secret"
	}
	return ref, ""
}
