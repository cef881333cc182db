package mapping

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

// idempotencyPlan says where the key of a create goes: exactly one of header, query and field is set.
type idempotencyPlan struct {
	header, query string
	field         bodyPath
	window        time.Duration
}

// errNoKey keeps a create from being sent without what makes it safe to send again.
var errNoKey = errors.New("operations.create.idempotency: no key was given for this create")

// idempotency compiles where the key goes; nil when the mapping has none, or it is wrong.
func (c *compiler) idempotency(plan *operationPlan, o *v1alpha1.CreateOperation) *idempotencyPlan {
	spec, field := o.Idempotency, plan.field+".idempotency"
	if spec == nil {
		return nil
	}
	if o.Safety != v1alpha1.SafetyIdempotencyKey {
		c.fail(field, "it goes with safety IdempotencyKey; declare that class, or remove it: a key that is sent for another class is never used")
	}
	key := &idempotencyPlan{header: spec.Header, query: spec.Query, window: spec.Window.Duration}
	places := 0
	for _, place := range []string{spec.Header, spec.Query, spec.Field} {
		if place != "" {
			places++
		}
	}
	if places != 1 {
		c.fail(field, "say where the key goes: exactly one of header, query and field")
	}
	c.keyHeader(plan, field+".header", key.header)
	if spec.Query != "" && slices.ContainsFunc(plan.query, func(q parameterPlan) bool { return q.name == spec.Query }) {
		c.fail(field+".query", "%q stands in %s.query too and would be sent twice; remove it there", spec.Query, plan.field)
	}
	if spec.Field != "" {
		key.field = c.keyField(plan, field+".field", spec.Field)
	}
	return key
}

// checkKeyWindow checks that there is a time in which the key can be used. What a request takes is the endpoint's to say.
func (c *compiler) checkKeyWindow() {
	slack := c.program.sync.serverSlack
	if least := v1alpha1.MaxClockSkew + slack; c.program.KeyWindow() <= least {
		c.fail(c.at("operations.create.idempotency.window"), "the server must know the key for longer than %s: clocks may differ by %s, and sync.serverSlack is %s; a shorter time can never be used, so declare another class",
			least, v1alpha1.MaxClockSkew, slack)
	}
}

func (c *compiler) keyHeader(plan *operationPlan, field, name string) {
	switch {
	case name == "":
	case !isToken(name):
		c.fail(field, "a header name is a token of letters, digits and !#$%%&'*+-.^_`|~ (RFC 9110, section 5.1)")
	case !isKeyHeader(name) && headerNameProblem(name) != "":
		c.fail(field, "%s", headerNameProblem(name))
	case slices.ContainsFunc(plan.headers, func(h parameterPlan) bool { return strings.EqualFold(h.name, name) }):
		c.fail(field, "%q stands in %s.headers too and would be sent twice; remove it there", name, plan.field)
	}
}

// isKeyHeader tells the headers that only this is for.
func isKeyHeader(name string) bool {
	return strings.EqualFold(name, "Idempotency-Key") || strings.EqualFold(name, "X-Idempotency-Key")
}

func (c *compiler) keyField(plan *operationPlan, field, source string) bodyPath {
	path, err := parseBodyPath(source)
	if err != nil {
		c.failAt(field, err)
		return nil
	}
	if plan.encoding == v1alpha1.EncodingRaw || plan.bodyFrom == nil && plan.body == v1alpha1.BodyNone {
		c.fail(field, "this create sends no body with fields; use header or query")
	}
	for i, f := range c.spec.Fields {
		if to, err := parseBodyPath(f.To); err == nil && (to.startsWith(path) || path.startsWith(to)) {
			c.fail(field, "%s is written by %s too; remove one of the two", source, c.at(fmt.Sprintf("fields[%d]", i)))
		}
	}
	return path
}

// KeyWindow is how long the server knows the key of a create again; zero where a create has none.
func (p *Program) KeyWindow() time.Duration {
	create := p.operations[rest.Create]
	if create == nil || create.key == nil {
		return 0
	}
	return create.key.window
}

// SetIdempotencyKey gives the pass the key of the create that it is about. It is not sent where the mapping has no
// place for it.
func (s *Pass) SetIdempotencyKey(key string) { s.key = key }

// addKey puts the key into a header or the query.
func (s *Pass) addKey(plan *operationPlan, req *rest.Request) {
	switch {
	case plan.key == nil:
	case plan.key.header != "":
		req.Headers = append(req.Headers, rest.Parameter{Name: plan.key.header, Value: s.key})
	case plan.key.query != "":
		req.Query = append(req.Query, rest.Parameter{Name: plan.key.query, Value: s.key})
	}
}

// keyed puts the key into the body, which is made for that where an expression gives none.
func (s *Pass) keyed(plan *operationPlan, body any, present bool) (any, bool, error) {
	if plan.key == nil || len(plan.key.field) == 0 {
		return body, present, nil
	}
	if !present {
		body = map[string]any{}
	}
	object, ok := body.(map[string]any)
	if !ok {
		return nil, false, &ExpressionError{Field: plan.field, Problem: "the idempotency key goes into a field, and the body is " + kindOf(body) + "; use idempotency.header or idempotency.query"}
	}
	return plan.key.field.with(object, s.key), true, nil
}

// keyConsequence says what follows from the class IdempotencyKey.
func keyConsequence(p *Program, request string) string {
	text := "the server knows " + request + " again by a key for " + p.KeyWindow().String() +
		". When its outcome is unknown, it is sent again with the same key for as long as that is certain, and as long as it would be the very same request. Afterwards "
	if p.recovery == v1alpha1.SafetyMarker {
		return text + "the list is searched for the uid of the custom resource, as with Marker."
	}
	return text + "nothing is sent again: the custom resource is Stalled with " + v1alpha1.ReasonCreateOutcomeUnknown +
		" until a person answers with the annotation " + v1alpha1.ResolveAnnotation +
		". Send self.metadata.uid in a field and match it in operations.list, and no person is needed."
}
