package engine

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/pkg/engine/pass"
)

// counts keeps how many custom resources of a mapping are ready and stalled, as their last pass has left them.
type counts struct {
	mu      sync.Mutex
	states  map[types.NamespacedName]objectState
	ready   int
	stalled int
}

type objectState struct {
	ready, stalled bool
	// end is how the last pass ended, at when.
	end string
	at  time.Time
}

// counted tells whether two states count the same.
func (s objectState) counted(other objectState) bool {
	return s.ready == other.ready && s.stalled == other.stalled
}

func newCounts() *counts { return &counts{states: map[types.NamespacedName]objectState{}} }

// note takes a pass's end into account and tells whether the totals have changed.
func (c *counts) note(s pass.Summary) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, known := c.states[s.Key]
	is := objectState{ready: s.Ready, stalled: s.Stalled, end: s.End, at: s.Started.Add(s.Duration)}
	if s.Gone {
		is = objectState{}
		delete(c.states, s.Key)
	} else {
		c.states[s.Key] = is
	}
	c.ready += one(is.ready) - one(was.ready)
	c.stalled += one(is.stalled) - one(was.stalled)
	return !was.counted(is) || known == s.Gone
}

// of is what the last pass over a custom resource left, ok is false before the first.
func (c *counts) of(key types.NamespacedName) (objectState, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	state, ok := c.states[key]
	return state, ok
}

func (c *counts) totals() (ready, stalled int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ready, c.stalled
}

func one(b bool) int {
	if b {
		return 1
	}
	return 0
}
