package mapping

import (
	"context"

	"github.com/restmapping/operator/pkg/celrules"
	"github.com/restmapping/operator/pkg/rest"
)

// ReadRequest builds the request that gets the object.
func (s *Pass) ReadRequest(ctx context.Context) (rest.Request, error) {
	plan, err := s.plan(rest.Read)
	if err != nil {
		return rest.Request{}, err
	}
	return s.request(ctx, plan, nil)
}

// CreateRequest builds the request that makes the object. Where the mapping says where an idempotency key goes,
// SetIdempotencyKey comes before it.
func (s *Pass) CreateRequest(ctx context.Context) (rest.Request, error) {
	plan, err := s.plan(rest.Create)
	if err != nil {
		return rest.Request{}, err
	}
	if plan.key != nil && s.key == "" {
		return rest.Request{}, errNoKey
	}
	return s.request(ctx, plan, nil)
}

// UpdateRequest builds the request that makes the observed object as specified.
func (s *Pass) UpdateRequest(ctx context.Context, observed any) (rest.Request, error) {
	plan, err := s.plan(rest.Update)
	if err != nil {
		return rest.Request{}, err
	}
	return s.request(ctx, plan, observed)
}

// RotateRequest builds the request that makes the server give the object a new secret.
func (s *Pass) RotateRequest(ctx context.Context, observed any) (rest.Request, error) {
	plan, err := s.plan(rest.Rotate)
	if err != nil {
		return rest.Request{}, err
	}
	return s.request(ctx, plan, observed)
}

// DeleteRequest builds the request that removes the object. observed is nil when it was not read.
func (s *Pass) DeleteRequest(ctx context.Context, observed any) (rest.Request, error) {
	plan, err := s.plan(rest.Delete)
	if err != nil {
		return rest.Request{}, err
	}
	return s.request(ctx, plan, observed)
}

// Path gives the path of an operation for the identifiers that are known now. An operation that the mapping does not declare
// is a *NotDeclaredError, an identifier that is missing or cannot stand in a path an *IdentifierError.
func (s *Pass) Path(operation rest.Operation) (string, error) {
	plan, err := s.plan(operation)
	if err != nil {
		return "", err
	}
	return plan.path.render(s.identifiers, plan.field+".path")
}

func (s *Pass) plan(operation rest.Operation) (*operationPlan, error) {
	plan := s.program.operations[operation]
	if plan == nil {
		return nil, &NotDeclaredError{operation}
	}
	return plan, nil
}

// request builds what every operation has.
func (s *Pass) request(ctx context.Context, plan *operationPlan, observed any) (rest.Request, error) {
	req := rest.Request{Operation: plan.operation, Method: plan.method, Route: plan.path.source, Accept: plan.accept}
	if req.Accept == "" {
		req.Accept = defaultMediaType
	}
	var err error
	if req.Path, err = plan.path.render(s.identifiers, plan.field+".path"); err != nil {
		return rest.Request{}, err
	}
	more := s.observedVariables(observed)
	if req.Query, err = s.values(ctx, plan.query, more); err != nil {
		return rest.Request{}, err
	}
	if req.Headers, err = s.headerValues(ctx, plan.headers, more); err != nil {
		return rest.Request{}, err
	}
	if req.Body, req.ContentType, err = s.body(ctx, plan, observed); err != nil {
		return rest.Request{}, err
	}
	s.addKey(plan, &req)
	if req.Lock, err = s.lockKey(ctx, plan); err != nil {
		return rest.Request{}, err
	}
	return req, nil
}

// lockKey is empty for no lock.
func (s *Pass) lockKey(ctx context.Context, plan *operationPlan) (string, error) {
	if plan.lock == nil {
		return "", nil
	}
	value, _, err := s.evaluate(ctx, plan.lock, nil)
	if err != nil {
		return "", err
	}
	key, _ := value.(string) // a StringResult; absent is no lock
	return key, nil
}

// values evaluates parameters in their order. Null leaves one out; a list repeats it.
func (s *Pass) values(ctx context.Context, plans []parameterPlan, more map[celrules.Variable]any) ([]rest.Parameter, error) {
	var parameters []rest.Parameter
	for _, plan := range plans {
		value, present, err := s.evaluate(ctx, plan.value, more)
		if err != nil {
			return nil, err
		}
		if !present {
			continue
		}
		list, isList := value.([]any)
		if !isList {
			list = []any{value}
		}
		for _, element := range list {
			if element == nil {
				continue
			}
			text, ok := formatScalar(element)
			if !ok {
				return nil, &ExpressionError{Field: plan.value.field, Problem: "gives " + kindOf(element) + "; a parameter is text, a number, a boolean, or a list of these"}
			}
			parameters = append(parameters, rest.Parameter{Name: plan.name, Value: text})
		}
	}
	return parameters, nil
}

// headerValues is values for headers, which must keep the frame of the message.
func (s *Pass) headerValues(ctx context.Context, plans []parameterPlan, more map[celrules.Variable]any) ([]rest.Parameter, error) {
	var all []rest.Parameter
	for _, plan := range plans {
		parameters, err := s.values(ctx, []parameterPlan{plan}, more)
		if err != nil {
			return nil, err
		}
		for _, parameter := range parameters {
			if !isHeaderValue(parameter.Value) {
				return nil, &ExpressionError{Field: plan.value.field, Problem: "gives a line break or another control character, which cannot stand in a header; " +
					"a Secret often ends in a line break: remove it there, or use .trim()"}
			}
		}
		all = append(all, parameters...)
	}
	return all, nil
}
