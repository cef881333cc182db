package mapping

import (
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/celrules"
	"github.com/restmapping/operator/pkg/rest"
)

// ReferenceSchema is what a mapping needs to know of the CRD's version that one of its references names.
type ReferenceSchema struct {
	// Name is the reference's, as in refs.<name>.
	Name       string
	Namespaced bool
	// Schema is that of the version, for the whole object. Without it refs.<name> is untyped.
	Schema *apiextensionsv1.JSONSchemaProps
	// Problem says why there is no such kind; empty when there is.
	Problem string
}

// referencePlan is one reference, compiled.
type referencePlan struct {
	ReferenceKind
	nameFrom *expression
}

// schemasOf gives each declared reference its schema, nil where it is not known.
func schemasOf(declared []v1alpha1.Reference, known []ReferenceSchema) map[string]*apiextensionsv1.JSONSchemaProps {
	schemas := make(map[string]*apiextensionsv1.JSONSchemaProps, len(declared))
	for i := range declared {
		schemas[declared[i].Name] = schemaNamed(known, declared[i].Name).Schema
	}
	return schemas
}

// schemaNamed gives what is known of a reference. Of one that nothing was said about, only the name is known.
func schemaNamed(known []ReferenceSchema, name string) ReferenceSchema {
	for i := range known {
		if known[i].Name == name {
			return known[i]
		}
	}
	return ReferenceSchema{Name: name}
}

func (c *compiler) compileReferences(known []ReferenceSchema) {
	seen := map[string]bool{}
	for i := range c.spec.References {
		r, field := &c.spec.References[i], fmt.Sprintf("spec.references[%d]", i)
		schema := schemaNamed(known, r.Name)
		if !isIdentifierName(r.Name) {
			c.fail(field+".name", "a name holds letters, digits and _ and does not begin with a digit")
		}
		if seen[r.Name] {
			c.fail(field+".name", "the reference %q is declared twice", r.Name)
		}
		seen[r.Name] = true
		c.checkReferenceTarget(r, schema, field+".target")
		plan := referencePlan{
			ReferenceKind: ReferenceKind{
				Input: r.Name, Group: r.Target.Group, Version: r.Target.Version, Kind: r.Target.Kind, Namespaced: schema.Namespaced,
				Optional: r.Optional, Owner: r.OwnerReference, Blocks: r.BlockDeletion == nil || *r.BlockDeletion,
				HasConditions: hasConditions(schema.Schema),
			},
			nameFrom: c.require(r.NameExpression, field+".nameExpression", celrules.StringResult, celrules.Self),
		}
		c.refuseStatus(plan.nameFrom)
		c.program.references = append(c.program.references, plan)
	}
}

func (c *compiler) checkReferenceTarget(r *v1alpha1.Reference, schema ReferenceSchema, field string) {
	switch {
	case schema.Problem != "":
		c.fail(field, "%s", schema.Problem)
	case r.Target.Group == v1alpha1.Group:
		c.fail(field, "the operator's own kinds cannot be referred to")
	case schema.Namespaced && !c.target.Namespaced:
		c.fail(field, "%s is cluster-scoped and has no namespace in which a %s could be; it can only refer to cluster-scoped kinds",
			c.spec.Target.Kind, r.Target.Kind)
	}
}

// hasConditions tells that objects of the schema say by conditions whether they are ready.
func hasConditions(schema *apiextensionsv1.JSONSchemaProps) bool {
	status := statusOf(schema)
	if status == nil {
		return false
	}
	place := lookUp(status, bodyPath{"conditions"})
	return place.found() && !place.open
}

// warnOfReferencesInDelete: what is referred to may be gone when the delete is sent, and then it cannot be rendered.
func (c *compiler) warnOfReferencesInDelete() {
	plan := c.program.operations[rest.Delete]
	if plan == nil {
		return
	}
	expressions := []*expression{plan.bodyFrom}
	for _, parameter := range append(append([]parameterPlan{}, plan.query...), plan.headers...) {
		expressions = append(expressions, parameter.value)
	}
	for _, x := range expressions {
		if x.uses(celrules.Refs) {
			c.program.warnings = append(c.program.warnings, x.field+
				": refs has a value only as long as the other custom resource is there; what a delete needs is better kept as an identifier, which is recorded")
		}
	}
}
