package queue

import (
	"fmt"
	"runtime"
)

// PanicError is a panic of a handler, as an error. It does not show the panic's value unless the Go runtime made it,
// because a value of unknown origin may hold something secret; the stack in the log leads to the place.
type PanicError struct {
	Value any
	Stack []byte
}

// Error implements error.
func (e *PanicError) Error() string {
	if err, ok := e.Value.(runtime.Error); ok {
		return fmt.Sprintf("the handler panicked: %v; this is a bug of the operator", err)
	}
	return fmt.Sprintf("the handler panicked with a value of type %T; this is a bug of the operator", e.Value)
}

// DrainError says that handlers were still running when the time to drain was over, and were interrupted.
type DrainError struct {
	Queue       string
	Interrupted int
	Err         error
}

// Error implements error.
func (e *DrainError) Error() string {
	return fmt.Sprintf("stop the workers of %s: interrupted %d handlers that had not finished in time: %v",
		e.Queue, e.Interrupted, e.Err)
}

// Unwrap gives access to the error of the context that limited the drain.
func (e *DrainError) Unwrap() error { return e.Err }
