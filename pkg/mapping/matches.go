package mapping

import (
	"context"

	"github.com/restmapping/operator/pkg/celrules"
)

// Matches tells whether an object that was read fits the list's match expression, as an item would. An object whose
// shape the expression does not know does not match. It is false where there is no list.
func (s *Pass) Matches(ctx context.Context, object any) bool {
	if s.program.list == nil || s.program.list.match == nil {
		return false
	}
	same, err := s.holds(ctx, s.program.list.match, map[celrules.Variable]any{celrules.Item: object})
	return err == nil && same
}
