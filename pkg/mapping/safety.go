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

// compileSafety checks the declared class of create safety, or derives it. A class that is too strong doubles objects,
// so in doubt it is None.
func (c *compiler) compileSafety() {
	p, create := c.program, c.spec.Operations.Create
	if create == nil {
		p.safety, p.recovery = v1alpha1.SafetyNone, v1alpha1.SafetyNone
		p.safetyMessage = "The mapping declares no create operation: an object that is not there is reported and never made."
		return
	}
	p.safety = create.Safety
	if p.safety == "" {
		p.safety = deriveSafety(p)
	} else {
		c.checkSafety(p.safety)
	}
	p.recovery = recovery(p)
	p.safetyMessage = safetyMessage(p, create.Safety == "")
}

// checkSafety reports what contradicts a declared class.
func (c *compiler) checkSafety(declared v1alpha1.CreateSafety) {
	field := c.at("operations.create.safety")
	p := c.program
	switch declared {
	case v1alpha1.SafetyUpsert:
		if names := p.AssignedIdentifiers(); len(names) > 0 {
			c.fail(field, "Upsert cannot be: the server assigns %s, so sending the request again makes another object; use UniqueKey, Marker or None",
				strings.Join(names, ", "))
		}
	case v1alpha1.SafetyUniqueKey:
		if !p.HasAssignedIdentifiers() {
			return
		}
		if problem := lookUpProblem(p, true); problem != "" {
			c.fail(field, "UniqueKey needs a way to find the object by its key: %s", problem)
		}
	case v1alpha1.SafetyMarker:
		for _, problem := range markerProblems(p, true) {
			c.fail(field, "Marker cannot be: %s", problem)
		}
	case v1alpha1.SafetyIdempotencyKey:
		if c.spec.Operations.Create.Idempotency == nil {
			c.fail(field, "IdempotencyKey needs operations.create.idempotency, which says where the key goes and how long the server knows it")
			return
		}
		c.checkKeyWindow()
	case v1alpha1.SafetyNone:
	default:
		c.fail(field, "the class is Upsert, UniqueKey, IdempotencyKey, Marker or None")
	}
}

// recovery is the class by which a create is recovered whose request cannot be sent again with its key.
func recovery(p *Program) v1alpha1.CreateSafety {
	switch {
	case p.safety != v1alpha1.SafetyIdempotencyKey:
		return p.safety
	case len(markerProblems(p, true)) == 0:
		return v1alpha1.SafetyMarker
	default:
		return v1alpha1.SafetyNone
	}
}

func deriveSafety(p *Program) v1alpha1.CreateSafety {
	create := p.operations[rest.Create]
	switch {
	case len(markerProblems(p, false)) == 0 && p.HasAssignedIdentifiers():
		return v1alpha1.SafetyMarker
	case p.HasAssignedIdentifiers():
		return v1alpha1.SafetyNone
	case create.method == http.MethodPut:
		return v1alpha1.SafetyUpsert
	case clientNamed(p) != "":
		return v1alpha1.SafetyUniqueKey
	case len(markerProblems(p, false)) == 0:
		return v1alpha1.SafetyMarker
	default:
		return v1alpha1.SafetyNone
	}
}

// clientNamed gives an identifier that the custom resource chooses and by which the object itself is addressed; empty
// when there is none. A path that ends in fixed text and needs nothing but what create needs may be a collection, or
// a thing shared by many custom resources, so it does not count.
func clientNamed(p *Program) string {
	isValue := func(name string) bool {
		assigned, declared := p.isAssigned(name)
		return declared && !assigned
	}
	create := p.operations[rest.Create].path
	for _, operation := range []rest.Operation{rest.Read, rest.Update, rest.Delete} {
		plan := p.operations[operation]
		if plan == nil {
			continue
		}
		for _, name := range slices.Backward(plan.path.parameters()) {
			if isValue(name) && !slices.Contains(create.parameters(), name) {
				return name
			}
		}
		if parameters := plan.path.parameters(); plan.path.endsWithParameter(isValue) {
			return parameters[len(parameters)-1]
		}
	}
	return ""
}

// lookUpProblem says why the list cannot find an object whose assigned identifiers are unknown; empty when it can.
// With a declared class the author has said that the match works without them.
func lookUpProblem(p *Program, declared bool) string {
	plan := p.operations[rest.List]
	if plan == nil {
		return "declare operations.list with a match"
	}
	expressions := []*expression{plan.bodyFrom}
	for _, parameter := range slices.Concat(plan.query, plan.headers) {
		expressions = append(expressions, parameter.value)
	}
	if !declared {
		expressions = append(expressions, p.list.match)
	}
	for _, name := range p.AssignedIdentifiers() {
		if slices.Contains(plan.path.parameters(), name) {
			return fmt.Sprintf("the path of operations.list needs the assigned identifier {%s}, which is not known then", name)
		}
		for _, x := range expressions {
			if x.uses(celrules.Identifiers, name) {
				return fmt.Sprintf("%s needs the assigned identifiers.%s, which is not known then", x.field, name)
			}
		}
	}
	return ""
}

// markerProblems lists what is missing for finding the object by the custom resource's uid.
func markerProblems(p *Program, declared bool) []string {
	var problems []string
	if problem := lookUpProblem(p, declared); problem != "" {
		problems = append(problems, problem)
	} else if !usesUID(p.list.match) {
		problems = append(problems, "operations.list.match does not look for self.metadata.uid")
	}
	if !createCarriesUID(p) {
		problems = append(problems, "nothing that create sends carries self.metadata.uid; add a field, a header or a body expression with it")
	}
	return problems
}

func usesUID(x *expression) bool { return x.uses(celrules.Self, "metadata", "uid") }

func createCarriesUID(p *Program) bool {
	plan := p.operations[rest.Create]
	if plan == nil {
		return false
	}
	if slices.ContainsFunc(createExpressions(p, plan), usesUID) {
		return true
	}
	return plan.sendsDesired() && slices.ContainsFunc(p.fields, func(f fieldPlan) bool {
		return f.onCreate && slices.Equal(f.from, bodyPath{"metadata", "uid"})
	})
}

// safetyMessage says what follows from the class, for the mapping's status.
func safetyMessage(p *Program, derived bool) string {
	create := p.operations[rest.Create]
	request := create.method + " " + create.path.source
	origin := "as declared"
	if derived {
		origin = "derived"
	}
	return fmt.Sprintf("%s (%s): %s", p.safety, origin, consequence(p, request))
}

func consequence(p *Program, request string) string {
	switch p.safety {
	case v1alpha1.SafetyUpsert:
		return request + " makes the same object however often it is sent. When its outcome is unknown, it is sent again."
	case v1alpha1.SafetyUniqueKey:
		return "the server keeps two objects with one key apart. When the outcome of " + request +
			" is unknown, the object is looked up, and the request is sent again if it is not there."
	case v1alpha1.SafetyIdempotencyKey:
		return keyConsequence(p, request)
	case v1alpha1.SafetyMarker:
		return "the object carries the uid of its custom resource. When the outcome of " + request +
			" is unknown, the list is searched for that uid before anything is sent again."
	default:
		return "nothing tells whether an object outside was made by " + request + ". When its outcome is unknown (a timeout, a 5xx), nothing is sent again: " +
			"the custom resource is Stalled with " + v1alpha1.ReasonCreateOutcomeUnknown + " until a person answers with the annotation " + v1alpha1.ResolveAnnotation +
			". Declare operations.create.safety if the server refuses duplicates (UniqueKey), or send self.metadata.uid in a field and match it in operations.list (Marker)."
	}
}
