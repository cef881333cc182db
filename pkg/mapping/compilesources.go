package mapping

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/celrules"
)

func (c *compiler) compileTarget() {
	if _, err := metav1.LabelSelectorAsSelector(c.spec.Target.Selector); err != nil {
		c.fail("spec.target.selector", "the selector cannot be used: %v", err)
	}
}

func (c *compiler) compileEndpoint() {
	e := c.spec.Endpoint
	plan := &c.program.endpoint
	plan.kind, plan.name = e.Kind, e.Name
	plan.from = c.compile(e.NameExpression, "spec.endpoint.nameExpression", celrules.StringResult, celrules.Self)
	if (e.Name == "") == (e.NameExpression == "") {
		c.fail("spec.endpoint", "give exactly one of name and nameExpression")
	}
	switch e.Kind {
	case v1alpha1.KindClusterRestEndpoint:
	case v1alpha1.KindRestEndpoint:
		if !c.target.Namespaced {
			c.fail("spec.endpoint.kind", "%s is cluster-scoped and has no namespace in which a RestEndpoint could be; use kind ClusterRestEndpoint",
				c.spec.Target.Kind)
		}
	default:
		c.fail("spec.endpoint.kind", "the kind is RestEndpoint or ClusterRestEndpoint")
	}
}

func (c *compiler) compileIdentifiers() {
	seen := map[string]bool{}
	for i, identifier := range c.spec.Identifiers {
		field := c.at(fmt.Sprintf("identifiers[%d]", i))
		if !isIdentifierName(identifier.Name) {
			c.fail(field+".name", "a name holds letters, digits and _ and does not begin with a digit")
		}
		if seen[identifier.Name] {
			c.fail(field+".name", "the identifier %q is declared twice", identifier.Name)
		}
		seen[identifier.Name] = true
		if slices.Contains(c.program.inherited, identifier.Name) {
			c.fail(field+".name", "the mapping has an identifier %q already; choose another name", identifier.Name)
		}
		if (identifier.Value == "") == (identifier.Assigned == "") {
			c.fail(field, "give exactly one of value and assigned")
		}
		plan := identifierPlan{
			name:     identifier.Name,
			value:    c.compile(identifier.Value, field+".value", celrules.ScalarResult, c.identifierVariables()...),
			assigned: c.compile(identifier.Assigned, field+".assigned", celrules.ScalarResult, celrules.Response, celrules.Operation),
		}
		c.oneAnswer(plan.assigned)
		c.refuseStatus(plan.value)
		c.program.identifiers = append(c.program.identifiers, plan)
	}
}

// oneAnswer keeps an assigned identifier from two answers that are never there together.
func (c *compiler) oneAnswer(x *expression) {
	if x.uses(celrules.Response) && x.uses(celrules.Operation) {
		c.fail(x.field, "response is the answer to the create and operation the last answer about it, which comes later; use one of the two")
	}
}

// refuseStatus keeps what is wanted from depending on what the operator itself wrote about it.
func (c *compiler) refuseStatus(x *expression) {
	if x.uses(celrules.Self, "status") {
		c.fail(x.field, "self.status is written by the operator and may be lost; what is wanted can depend on spec and metadata only")
	}
}

func (c *compiler) compileSecrets() {
	if len(c.spec.Secrets) > 0 && !c.target.Namespaced {
		c.fail("spec.secrets", "%s is cluster-scoped and has no namespace from which a Secret could be read; put the value into the ClusterRestEndpoint's auth",
			c.spec.Target.Kind)
	}
	seen := map[string]bool{}
	for i, secret := range c.spec.Secrets {
		field := fmt.Sprintf("spec.secrets[%d]", i)
		if !isIdentifierName(secret.Name) {
			c.fail(field+".name", "a name holds letters, digits and _ and does not begin with a digit")
		}
		if seen[secret.Name] {
			c.fail(field+".name", "the secret %q is declared twice", secret.Name)
		}
		seen[secret.Name] = true
		c.program.secrets = append(c.program.secrets, secretPlan{
			name: secret.Name, optional: secret.Optional,
			ref: c.require(secret.RefExpression, field+".refExpression", celrules.ObjectResult, celrules.Self),
		})
	}
}

// isAssigned tells whether an identifier of this name is chosen by the server; declared, whether there is one at all.
func (p *Program) isAssigned(name string) (assigned, declared bool) {
	for _, identifier := range p.identifiers {
		if identifier.name == name {
			return identifier.assigned != nil, true
		}
	}
	return false, false
}

// declares tells whether a path may use an identifier.
func (p *Program) declares(name string) bool {
	_, declared := p.isAssigned(name)
	return declared || slices.Contains(p.inherited, name)
}
