package mapping

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/celrules"
	"github.com/restmapping/operator/pkg/rest"
)

// partCompiler is what the compiler of a part knows beyond that of the mapping.
type partCompiler struct{ spec *v1alpha1.Part }

// partVariables are what expressions of a part may use beyond those of the mapping. A list is asked for all elements at
// once; a delete may be for an element that is no longer there.
func (c *compiler) partVariables(operation rest.Operation) []celrules.Variable {
	switch {
	case c.part == nil:
		return nil
	case operation == rest.List:
		return []celrules.Variable{celrules.Parent}
	case operation == rest.Delete:
		return []celrules.Variable{celrules.Key, celrules.Parent}
	default:
		return []celrules.Variable{celrules.Part, celrules.Key, celrules.Parent}
	}
}

// identifierVariables are what the value of an identifier may use. That of a part must be known for an element that is no
// longer in the custom resource, so it comes from the key.
func (c *compiler) identifierVariables() []celrules.Variable {
	if c.part == nil {
		return []celrules.Variable{celrules.Self, celrules.Refs, celrules.Endpoint}
	}
	return []celrules.Variable{celrules.Key, celrules.Identifiers, celrules.Parent, celrules.Endpoint}
}

// compileParts compiles each part as a mapping of its own that has the variables of the whole and some more.
func (c *compiler) compileParts() {
	seen := map[string]bool{}
	for i := range c.spec.Parts {
		spec, field := &c.spec.Parts[i], fmt.Sprintf("spec.parts[%d]", i)
		if !isIdentifierName(spec.Name) {
			c.fail(field+".name", "a name holds letters, digits and _ and does not begin with a digit")
		}
		if seen[spec.Name] {
			c.fail(field+".name", "the part %q is declared twice", spec.Name)
		}
		seen[spec.Name] = true
		c.compilePart(spec, field)
	}
}

func (c *compiler) compilePart(spec *v1alpha1.Part, field string) {
	plan := &partPlan{
		name: spec.Name, prune: orDefault(spec.Prune, v1alpha1.PruneOwned), deletion: orDefault(spec.Deletion, v1alpha1.PartsWithParent),
		forEach: c.require(spec.ForEach, field+".forEach", celrules.ListResult, celrules.Self, celrules.Refs),
	}
	c.refuseStatus(plan.forEach)
	own, err := c.forPart(spec, field, plan.forEach)
	if err != nil {
		c.fail(field, "the CRD's schema cannot be used for expressions: %v", err)
		return
	}
	plan.program = own.program
	plan.key = own.require(spec.Key, field+".key", celrules.StringResult, celrules.Part, celrules.Self)
	own.refuseStatus(plan.key)
	own.compileIdentifiers()
	own.compilePartOperations(plan)
	own.compileFields()
	own.checkForms()
	own.checkCreateKnowsItsIdentifiers()
	own.checkPart(plan)
	c.errors = append(c.errors, own.errors...)
	c.program.warnings = append(c.program.warnings, own.program.warnings...)
	c.program.parts = append(c.program.parts, plan)
}

// forPart gives a compiler for one part, in whose environment part has the type of the list's elements.
func (c *compiler) forPart(spec *v1alpha1.Part, field string, elements *expression) (*compiler, error) {
	declarations := celrules.Declarations{Self: c.target.Schema, Identifiers: c.program.IdentifierNames(), References: c.references}
	if elements != nil {
		declarations.Parts = elements.program
	}
	for _, identifier := range spec.Identifiers {
		declarations.Identifiers = append(declarations.Identifiers, identifier.Name)
	}
	for _, secret := range c.spec.Secrets {
		declarations.Secrets = append(declarations.Secrets, secret.Name)
	}
	env, err := celrules.NewEnvironment(declarations)
	if err != nil {
		return nil, err
	}
	o := spec.Operations
	return &compiler{
		spec: &v1alpha1.RestMappingSpec{
			Identifiers: spec.Identifiers, Fields: spec.Fields,
			Operations: v1alpha1.Operations{Create: o.Create, Update: o.Update, Delete: o.Delete},
		},
		target: c.target, env: env, part: &partCompiler{spec: spec},
		program: &Program{
			name: c.program.name, place: field, inherited: c.program.IdentifierNames(),
			operations: map[rest.Operation]*operationPlan{}, outcomes: c.program.outcomes,
		},
	}, nil
}

func (c *compiler) compilePartOperations(plan *partPlan) {
	o := &c.part.spec.Operations
	list := c.listing(&o.List.RequestTemplate, o.List.Method, o.List.BodyExpression, o.List.Items, o.List.Pagination)
	plan.itemKey = c.require(o.List.ItemKey, list.field+".itemKey", celrules.ScalarResult, celrules.Item, celrules.Identifiers, celrules.Parent, celrules.Endpoint)
	for _, name := range list.path.parameters() {
		if !slices.Contains(c.program.inherited, name) {
			c.fail(list.field+".path", "{%s} belongs to one element, and the list gives them all; use the mapping's identifiers", name)
		}
	}
	if o.Create != nil {
		c.compileCreate(o.Create)
	}
	if o.Update != nil {
		c.compileUpdate(o.Update)
	}
	if o.Delete != nil {
		c.compileDelete(o.Delete)
	}
}

// checkPart refuses what would not be safe for parts.
func (c *compiler) checkPart(plan *partPlan) {
	if create := c.spec.Operations.Create; create != nil {
		c.partSafety(create)
		if create.Select != "" {
			c.fail(c.at("operations.create.select"), "parts are observed by their list; remove select")
		}
	}
	if update := c.spec.Operations.Update; update != nil && update.Select != "" {
		c.fail(c.at("operations.update.select"), "parts are observed by their list; remove select")
	}
	if plan.prune == v1alpha1.PruneAll && c.spec.Operations.Delete == nil {
		c.fail(c.at("prune"), "All deletes what no element asks for, and the part has no operations.delete")
	}
	if plan.deletion == v1alpha1.PartsFirst && c.spec.Operations.Delete == nil {
		c.fail(c.at("deletion"), "First deletes the objects of the part, and it has no operations.delete")
	}
	for i := range c.program.fields {
		if f := &c.program.fields[i]; f.writeOnly {
			c.fail(f.field+".writeOnly", "a part's field must show in its list; make a mapping of its own for objects with values that are never read back")
		}
	}
	c.refuseAssignedValues()
	c.refuseLongOperations()
}

// refuseLongOperations: what is followed from one pass to the next is recorded for the object of the custom resource alone.
func (c *compiler) refuseLongOperations() {
	o := c.spec.Operations
	const remedy = "parts are told by their list alone; make a mapping of its own for objects whose requests need it"
	if o.Create != nil && o.Create.Async != nil {
		c.fail(c.at("operations.create.async"), remedy)
	}
	if o.Update != nil && o.Update.Async != nil {
		c.fail(c.at("operations.update.async"), remedy)
	}
	if o.Delete != nil && o.Delete.Async != nil {
		c.fail(c.at("operations.delete.async"), remedy)
	}
	if o.Delete != nil && len(o.Delete.Before) > 0 {
		c.fail(c.at("operations.delete.before"), remedy)
	}
}

// refuseAssignedValues: the value of a part's identifier is needed before any of its own is assigned.
func (c *compiler) refuseAssignedValues() {
	for _, identifier := range c.program.identifiers {
		for _, other := range c.program.identifiers {
			if identifier.value.uses(celrules.Identifiers, other.name) {
				c.fail(identifier.value.field, "identifiers.%s is the part's own; only the mapping's identifiers are known here", other.name)
			}
		}
	}
}

// partSafety settles the class of create safety. An element is told from the others by its key alone: the class says that
// the server keeps the key unique.
func (c *compiler) partSafety(create *v1alpha1.CreateOperation) {
	field, p := c.at("operations.create.safety"), c.program
	p.safety = create.Safety
	if p.safety == "" && p.operations[rest.Create].method == http.MethodPut && !p.HasAssignedIdentifiers() {
		p.safety = v1alpha1.SafetyUpsert
	}
	switch p.safety {
	case v1alpha1.SafetyUpsert:
		if names := p.AssignedIdentifiers(); len(names) > 0 {
			c.fail(field, "Upsert cannot be: the server assigns %s, so sending the request again makes another object; use UniqueKey",
				strings.Join(names, ", "))
		}
	case v1alpha1.SafetyUniqueKey:
	case "":
		c.fail(field, "say Upsert if sending the request again does no harm, or UniqueKey if the server refuses a second object with the same key")
	case v1alpha1.SafetyIdempotencyKey:
		c.fail(field, "a part is found by its key, which is in the list for every element, so it needs no idempotency key; use UniqueKey or Upsert")
	case v1alpha1.SafetyMarker:
		c.fail(field, "a part is found by its key, which is in the list for every element, so it needs no marker; use UniqueKey or Upsert")
	default:
		c.fail(field, "without a key that the server keeps unique, an object in the list cannot be told from somebody else's, and would be changed or deleted in its place; "+
			"use UniqueKey or Upsert, or make a mapping of its own for these objects")
	}
}

// fromPart checks a path into an element, with the type that the element has.
func (c *compiler) fromPart(path bodyPath, field string) {
	var source strings.Builder
	source.WriteString(string(celrules.Part))
	for _, key := range path[1:] {
		fmt.Fprintf(&source, "[%s]", mustQuote(key))
	}
	c.compile(v1alpha1.Expression(source.String()), field, celrules.AnyResult, celrules.Part)
}
