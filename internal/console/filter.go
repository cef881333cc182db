package console

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"

	"github.com/restmapping/operator/pkg/engine"
)

// The bounds of how many objects are shown.
const (
	defaultLimit = 500
	maxLimit     = 10_000
)

// filter is what a question is about. Empty fields stand for all.
type filter struct {
	mapping, namespace, name string
	state                    State
	limit                    int
}

// parseFilter reads a query; the error is for the person who asked.
func parseFilter(query url.Values) (filter, error) {
	f := filter{
		mapping: query.Get("mapping"), namespace: query.Get("namespace"), name: query.Get("name"), state: State(query.Get("state")),
		limit: defaultLimit,
	}
	if f.state != "" && !slices.Contains([]State{Deleting, Stalled, Progressing, Ready}, f.state) {
		return f, fmt.Errorf("state: give %s, %s, %s or %s", Stalled, Progressing, Ready, Deleting)
	}
	if text := query.Get("limit"); text != "" {
		limit, err := strconv.Atoi(text)
		if err != nil || limit < 1 || limit > maxLimit {
			return f, fmt.Errorf("limit: give a number from 1 to %d", maxLimit)
		}
		f.limit = limit
	}
	return f, nil
}

// shows tells whether an object of a mapping that is asked about is meant.
func (f filter) shows(v engine.View) bool {
	return (f.namespace == "" || f.namespace == v.Key.Namespace) && (f.name == "" || f.name == v.Key.Name) &&
		(f.state == "" || f.state == stateOf(v))
}
