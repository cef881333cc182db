package mapping

import (
	"context"
	"net/http"
	"time"

	"github.com/restmapping/operator/pkg/celrules"
	"github.com/restmapping/operator/pkg/rest"
)

// Later is the longest that the server may be at work on an operation that it has accepted; zero when the mapping says
// that it does everything at once.
func (p *Program) Later(operation rest.Operation) time.Duration {
	if plan := p.asyncOf(operation); plan != nil {
		return plan.deadline
	}
	return 0
}

// Deadline is the same for an operation that is under way, also where the mapping was changed since.
func (p *Program) Deadline(operation rest.Operation) time.Duration {
	if plan := p.asyncOf(operation); plan != nil {
		return plan.deadline
	}
	return defaultDeadline
}

// PollInterval is how often such an operation is asked about.
func (p *Program) PollInterval(operation rest.Operation) time.Duration {
	if plan := p.asyncOf(operation); plan != nil {
		return plan.interval
	}
	return defaultPollInterval
}

func (p *Program) asyncOf(operation rest.Operation) *asyncPlan {
	if plan := p.operations[operation]; plan != nil {
		return plan.async
	}
	return nil
}

// Accepted tells whether a success only means that the server will do it later, and gives the URL at which that can be
// asked about, as the server wrote it; empty when it names none.
func (s *Pass) Accepted(ctx context.Context, operation rest.Operation, resp *rest.Response) (accepted bool, handle string, err error) {
	plan := s.program.asyncOf(operation)
	if plan == nil {
		return false, "", nil
	}
	accepted = resp.Status == http.StatusAccepted
	if plan.when != nil {
		if accepted, err = s.applies(ctx, plan.when, responseVariable(resp), resp); err != nil {
			return false, "", err
		}
	}
	if !accepted {
		return false, "", nil
	}
	if plan.handle == nil {
		return true, resp.Headers["location"], nil
	}
	handle, err = s.text(ctx, plan.handle, s.program.sensitive.shown(responseVariable(resp)), resp)
	return true, handle, err
}

// PollRequest builds the request that asks about an operation at the URL that the record holds.
func (s *Pass) PollRequest(operation rest.Operation, url string) rest.Request {
	route := "operation of operations." + string(operation)
	if plan := s.program.operations[operation]; plan != nil {
		route = "operation of " + plan.path.source
	}
	return rest.Request{Operation: rest.Poll, Method: http.MethodGet, Route: route, Follow: url, Accept: defaultMediaType}
}

// Progress reads how far an operation has come. An expression that asks for a key which the answer does not have says no:
// answers about one operation come in many shapes.
func (s *Pass) Progress(ctx context.Context, operation rest.Operation, resp *rest.Response) (done, failed bool, message string, err error) {
	plan := s.program.asyncOf(operation)
	if plan == nil {
		plan = &asyncPlan{} // the mapping was changed meanwhile
	}
	variables := map[celrules.Variable]any{celrules.Operation: responseObject(resp)}
	if plan.failed != nil {
		if failed, err = s.applies(ctx, plan.failed, variables, resp); err != nil {
			return false, false, "", err
		}
	}
	if failed {
		if plan.message != nil {
			message, err = s.text(ctx, plan.message, s.program.sensitive.shown(variables), resp)
		}
		return false, true, message, err
	}
	if plan.done == nil {
		return resp.Status >= 200 && resp.Status < 300 && resp.Status != http.StatusAccepted, false, "", nil
	}
	done, err = s.applies(ctx, plan.done, variables, resp)
	return done, false, "", err
}

// applies is holds for a condition on an answer that may have another shape than the condition speaks of.
func (s *Pass) applies(ctx context.Context, x *expression, variables map[celrules.Variable]any, resp *rest.Response) (bool, error) {
	holds, err := s.holds(ctx, x, variables)
	if err != nil && isShape(err, x, resp) {
		return false, nil
	}
	return holds, err
}

// text evaluates a text of an answer; empty where the answer has none.
func (s *Pass) text(ctx context.Context, x *expression, variables map[celrules.Variable]any, resp *rest.Response) (string, error) {
	value, present, err := s.evaluate(ctx, x, variables)
	if err != nil && isShape(err, x, resp) || err == nil && !present {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	text, _ := value.(string)
	return text, nil
}

// AssignedSoFar gives the identifiers that the answer to a create shows which was only accepted. The others come with the
// last answer about it.
func (s *Pass) AssignedSoFar(ctx context.Context, resp *rest.Response) map[string]string {
	return s.assignedFrom(ctx, celrules.Response, resp)
}

// AssignedByOperation gives the identifiers that the last answer about a create shows.
func (s *Pass) AssignedByOperation(ctx context.Context, resp *rest.Response) map[string]string {
	return s.assignedFrom(ctx, celrules.Operation, resp)
}

// assignedFrom gives the identifiers that can be taken from one of the answers. One that is not there is left out: the
// list may find the object all the same.
func (s *Pass) assignedFrom(ctx context.Context, variable celrules.Variable, resp *rest.Response) map[string]string {
	found := map[string]string{}
	for _, plan := range s.program.identifiers {
		if plan.assigned == nil || !plan.assigned.uses(variable) {
			continue
		}
		text, err := s.identifier(ctx, plan.name, plan.assigned, s.program.sensitive.shown(map[celrules.Variable]any{variable: responseObject(resp)}))
		if err == nil {
			found[plan.name] = text
		}
	}
	return found
}
