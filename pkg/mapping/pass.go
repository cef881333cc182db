package mapping

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/restmapping/operator/pkg/celrules"
	"github.com/restmapping/operator/pkg/rest"
)

// EndpointFacts are what expressions may know about the server.
type EndpointFacts struct {
	Name           string
	Labels, Values map[string]string
}

// Inputs are what one pass is about. They are not changed.
type Inputs struct {
	// Self is the custom resource.
	Self     map[string]any
	Endpoint EndpointFacts
	// Secrets has the value of each declared secret that was found.
	Secrets map[string]string
	// References has each declared reference that was found, as the API server gives it.
	References map[string]map[string]any
}

// Pass says, for one custom resource, what to send and what answers mean. It carries the cost budget of all its
// expressions, the headers of the object that it selected last, and what it saw of a list so far, and is not for concurrent use.
type Pass struct {
	program     *Program
	budget      *celrules.Budget
	self        map[string]any
	endpoint    map[string]any
	secrets     map[string]any
	references  map[string]any
	identifiers map[string]string
	listing     listing
	// also are variables beyond those of the mapping, and document is where the paths of fields lead; nil is self.
	also     map[celrules.Variable]any
	document map[string]any
	// key is the idempotency key of the create, where it has one.
	key string
	// all tells that an update holds everything that it may hold.
	all bool
	// headers are those of the response from which an object was selected last.
	headers map[string]string
}

// NewPass begins a pass.
func (p *Program) NewPass(in Inputs) *Pass {
	references := make(map[string]any, len(in.References))
	for name, object := range in.References {
		references[name] = object
	}
	return &Pass{
		program: p, budget: celrules.NewBudget(0), self: in.Self,
		endpoint: map[string]any{
			"name": in.Endpoint.Name, "labels": textObject(in.Endpoint.Labels), "values": textObject(in.Endpoint.Values),
		},
		secrets: textObject(in.Secrets), references: references,
	}
}

func textObject(m map[string]string) map[string]any {
	object := make(map[string]any, len(m))
	for key, value := range m {
		object[key] = value
	}
	return object
}

// SetIdentifiers gives the pass all identifiers that are known now, those with a value and those that were assigned.
// Every request after it uses them.
func (s *Pass) SetIdentifiers(identifiers map[string]string) {
	s.identifiers = maps.Clone(identifiers)
}

// Identifiers gives the identifiers that come from the custom resource. One that cannot stand in a path is an
// *IdentifierError.
func (s *Pass) Identifiers(ctx context.Context) (map[string]string, error) {
	found := map[string]string{}
	var problems []error
	for _, plan := range s.program.identifiers {
		if plan.value == nil {
			continue
		}
		text, err := s.identifier(ctx, plan.name, plan.value, nil)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		found[plan.name] = text
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return found, nil
}

// identifier evaluates one identifier. It is always text, whatever the server calls it.
func (s *Pass) identifier(ctx context.Context, name string, x *expression, more map[celrules.Variable]any) (string, error) {
	value, present, err := s.evaluate(ctx, x, more)
	if err != nil {
		return "", err
	}
	if !present {
		return "", &IdentifierError{name, x.field, "has no value: the expression gives null or an absent optional"}
	}
	text, ok := formatScalar(value)
	if !ok {
		return "", &IdentifierError{name, x.field, "is " + kindOf(value) + "; an identifier is text, a number or a boolean"}
	}
	if problem := identifierProblem(text); problem != "" {
		return "", &IdentifierError{name, x.field, problem}
	}
	return text, nil
}

// evaluate runs one expression with the variables of the pass and some more. present is false for null and for an
// absent optional.
func (s *Pass) evaluate(ctx context.Context, x *expression, more map[celrules.Variable]any) (value any, present bool, err error) {
	variables := map[celrules.Variable]any{
		celrules.Self: s.self, celrules.Endpoint: s.endpoint, celrules.Secrets: s.secrets, celrules.Refs: s.references,
		celrules.Identifiers: textObject(s.identifiers),
	}
	maps.Copy(variables, s.also)
	maps.Copy(variables, more)
	return evaluate(ctx, s.budget, x, variables)
}

// Spent says what the expressions of the pass have cost so far, those of its parts among them, and how many gave an error.
func (s *Pass) Spent() (cost uint64, failures int) { return s.budget.Spent(), s.budget.Failures() }

func evaluate(ctx context.Context, budget *celrules.Budget, x *expression, variables map[celrules.Variable]any) (value any, present bool, err error) {
	value, present, err = x.program.Evaluate(ctx, budget, variables)
	if err != nil {
		return nil, false, expressionError(x.field, err)
	}
	return value, present, nil
}

// expressionError puts an evaluation's error into the terms of the mapping.
func expressionError(field string, err error) error {
	evaluation := (*celrules.EvaluationError)(nil)
	if !errors.As(err, &evaluation) {
		return fmt.Errorf("%s: %w", field, err)
	}
	return &ExpressionError{
		Field: field, Line: evaluation.Line, Column: evaluation.Column,
		Problem: evaluation.Message, Missing: evaluation.Missing, Err: evaluation,
	}
}

// holds evaluates a condition.
func (s *Pass) holds(ctx context.Context, x *expression, more map[celrules.Variable]any) (bool, error) {
	value, present, err := s.evaluate(ctx, x, more)
	if err != nil {
		return false, err
	}
	truth, ok := value.(bool)
	if !present || !ok {
		return false, &ExpressionError{Field: x.field, Problem: "gives " + kindOf(value) + " where true or false is needed; add .orValue(false) to an optional"}
	}
	return truth, nil
}

// observedVariables are the observed object and the headers that came with it. Without an object there are no headers.
func (s *Pass) observedVariables(observed any) map[celrules.Variable]any {
	headers := map[string]any{}
	if observed != nil {
		headers = textObject(s.headers)
	}
	return map[celrules.Variable]any{celrules.Observed: observed, celrules.ObservedHeaders: headers}
}

// responseVariable is a response as expressions see it.
func responseVariable(resp *rest.Response) map[celrules.Variable]any {
	return map[celrules.Variable]any{celrules.Response: responseObject(resp)}
}

func responseObject(resp *rest.Response) map[string]any {
	return map[string]any{"status": int64(resp.Status), "headers": textObject(resp.Headers), "body": resp.Body}
}

// itemAsResponse lets an item of a list stand where a create response is expected.
func itemAsResponse(item any) *rest.Response {
	return &rest.Response{Status: 200, Body: item, IsJSON: true}
}

// source is the document that fields are taken from.
func (s *Pass) source() map[string]any {
	if s.document != nil {
		return s.document
	}
	return s.self
}
