package endpoint

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/pkg/engine/endpoints"
)

// named is how many custom resources a message names.
const named = 3

// Users finds the custom resources that have objects at an endpoint.
type Users interface {
	// Of gives those that need the endpoint, whose server has this identity. The error means that it is not known.
	Of(ctx context.Context, ref endpoints.Ref, identity string) (Use, error)
}

// Use counts custom resources that have objects at an endpoint.
type Use struct {
	// Total counts all, Elsewhere those whose objects are at the server to which the endpoint led before.
	Total, Elsewhere int
	first            []string
	firstElsewhere   []string
}

// Add counts one.
func (u *Use) Add(kind string, key types.NamespacedName, elsewhere bool) {
	name := kind + " " + strings.TrimPrefix(key.String(), "/")
	u.Total++
	if len(u.first) < named {
		u.first = append(u.first, name)
	}
	if !elsewhere {
		return
	}
	u.Elsewhere++
	if len(u.firstElsewhere) < named {
		u.firstElsewhere = append(u.firstElsewhere, name)
	}
}

func list(total int, first []string) string {
	text := strings.Join(first, ", ")
	if more := total - len(first); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func (u *Use) waiting(ref endpoints.Ref) string {
	return fmt.Sprintf("%s is being deleted, and waits for %d custom resources that have objects at its server: %s; delete them, or set policy.deletion to Orphan before that to leave the objects in place",
		ref, u.Total, list(u.Total, u.first))
}

func (u *Use) moved(ref endpoints.Ref) string {
	return fmt.Sprintf("%s leads to another server or path than before, and %d custom resources have their objects there: %s; nothing is made anew or deleted here for them: set spec.baseURL back, or see docs/spec/restendpoint.md on how to move",
		ref, u.Elsewhere, list(u.Elsewhere, u.firstElsewhere))
}
