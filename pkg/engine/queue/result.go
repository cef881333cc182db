package queue

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Priority orders what is ready: higher first, first come first served among equals.
type Priority int

// The priorities in use.
const (
	// PriorityLow is for work that nobody waits for: the initial list, resyncs, periodic checks.
	PriorityLow Priority = -100
	// PriorityNormal is for changes that somebody made.
	PriorityNormal Priority = 0
)

// Options says how urgent an added name is.
type Options struct {
	Priority Priority
	// After delays the name; zero means now. The earliest of several wishes holds.
	After time.Duration
}

// Result says how handling a name ended.
type Result struct {
	// Err, if set, makes the name come back after a delay that grows with each failure in a row. It wins over After.
	Err error
	// After, if positive, makes the name come back then. Zero means that only an event brings it back.
	After time.Duration
	// Priority is the priority of coming back by After. A name that comes back by Err keeps the one it had.
	Priority Priority
	// Trace names the trace of the handling for the log; empty for none.
	Trace string
}

// Handler handles one name. It must return soon after its context ends; until then it may take its time, but it keeps
// one worker of its mapping busy. A panic counts as a failure.
type Handler interface {
	Handle(ctx context.Context, name types.NamespacedName) Result
}

// HandlerFunc makes a function a Handler.
type HandlerFunc func(ctx context.Context, name types.NamespacedName) Result

// Handle implements Handler.
func (f HandlerFunc) Handle(ctx context.Context, name types.NamespacedName) Result {
	return f(ctx, name)
}
