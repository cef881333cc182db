package mapping

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/restmapping/operator/pkg/celrules"
	"github.com/restmapping/operator/pkg/rest"
)

// Select gives the object that a response holds.
//
// Where the mapping says nothing, it is the body of a read, which must be an object: a *NoObjectError otherwise. The
// responses of create and update then hold no object that could be relied on. Where the mapping has a select, its
// value counts, whatever kind it is; null or an absent optional means that the response holds none (present is false).
// Whether that means that the object is absent is not decided here: outcomes can declare it.
// The headers of a response that held an object are remembered: updates and deletes may need them as preconditions.
func (s *Pass) Select(ctx context.Context, operation rest.Operation, resp *rest.Response) (observed any, present bool, err error) {
	observed, present, err = s.selected(ctx, operation, resp)
	if present && err == nil {
		s.headers = resp.Headers
	}
	return observed, present, err
}

func (s *Pass) selected(ctx context.Context, operation rest.Operation, resp *rest.Response) (observed any, present bool, err error) {
	plan, err := s.plan(operation)
	if err != nil {
		return nil, false, err
	}
	if plan.selected != nil {
		return s.evaluate(ctx, plan.selected, responseVariable(resp))
	}
	if operation != rest.Read {
		return nil, false, nil
	}
	if _, ok := resp.Body.(map[string]any); !ok {
		return nil, false, &NoObjectError{operation, plan.field + ".select", "an object", describeBody(resp)}
	}
	return resp.Body, true, nil
}

// Assigned gives the identifiers that the server chose, from the response to a create. One that is not there is an
// *AssignedError.
func (s *Pass) Assigned(ctx context.Context, resp *rest.Response) (map[string]string, error) {
	return s.assigned(ctx, answersOf(resp), describeResponse(resp))
}

// AssignedFromItem is Assigned for an item of a list: response.body is the item, and response.headers is empty.
func (s *Pass) AssignedFromItem(ctx context.Context, item any) (map[string]string, error) {
	resp := itemAsResponse(item)
	return s.assigned(ctx, answersOf(resp), "an item of the list: "+describeValue(resp))
}

// answersOf lets a response stand for every answer that an identifier can come from.
func answersOf(resp *rest.Response) map[celrules.Variable]any {
	return map[celrules.Variable]any{celrules.Response: responseObject(resp), celrules.Operation: responseObject(resp)}
}

// assigned takes the identifiers out of answers. held says what they hold.
func (s *Pass) assigned(ctx context.Context, answers map[celrules.Variable]any, held string) (map[string]string, error) {
	found := map[string]string{}
	var problems []error
	for _, plan := range s.program.identifiers {
		if plan.assigned == nil {
			continue
		}
		text, err := s.identifier(ctx, plan.name, plan.assigned, s.program.sensitive.shown(answers))
		if err != nil {
			problems = append(problems, &AssignedError{plan.name, held, err})
			continue
		}
		found[plan.name] = text
	}
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	return found, nil
}

// describeBody names what a body is, never what it says.
func describeBody(resp *rest.Response) string {
	if resp.IsJSON {
		return kindOf(resp.Body)
	}
	if text, _ := resp.Body.(string); resp.Body == nil || text == "" {
		return "no body"
	}
	if mediaType := resp.Headers["content-type"]; mediaType != "" {
		mediaType, _, _ = strings.Cut(mediaType, ";")
		return cut(strings.TrimSpace(mediaType)) + " text"
	}
	return "text that is not JSON"
}

// describeResponse names the keys of a response, so that the author sees where the identifier could be.
func describeResponse(resp *rest.Response) string {
	return fmt.Sprintf("status %d, %s, %s", resp.Status, listKeys("the headers ", slices.Sorted(maps.Keys(resp.Headers))), describeValue(resp))
}

// describeValue is describeBody with the keys of an object.
func describeValue(resp *rest.Response) string {
	if object, ok := resp.Body.(map[string]any); ok {
		return "an object with " + listKeys("the keys ", slices.Sorted(maps.Keys(object)))
	}
	return describeBody(resp)
}

func listKeys(what string, keys []string) string {
	if len(keys) == 0 {
		return "no " + strings.TrimSpace(strings.TrimPrefix(what, "the "))
	}
	var shown []string
	for i, key := range keys {
		if i == maxNamesInMessage {
			shown = append(shown, "...")
			break
		}
		shown = append(shown, cut(key))
	}
	return what + strings.Join(shown, ", ")
}

// maxNameLength bounds how much of a server's own name goes into a message.
const maxNameLength = 64

func cut(name string) string {
	if len(name) <= maxNameLength {
		return name
	}
	return strings.ToValidUTF8(name[:maxNameLength], "") + "..."
}
