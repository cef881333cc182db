package celrules

import (
	"fmt"
)

// CompileError is one thing wrong with an expression.
type CompileError struct {
	// Field is the expression's place in the mapping.
	Field string
	// Source is the whole expression.
	Source string
	// Line and Column are where in the source, both counted from 1.
	Line, Column int
	// Message says what is wrong, and what would be right.
	Message string
}

// Error gives the place and the message.
func (e *CompileError) Error() string {
	return fmt.Sprintf("%s: line %d, column %d: %s", e.Field, e.Line, e.Column, e.Message)
}

// EvaluationError is why an expression gave no value. It never holds a value of the data.
type EvaluationError struct {
	// Field is the expression's place in the mapping.
	Field string
	// Line and Column are where in the source, both counted from 1; 0 when the failure has no place.
	Line, Column int
	// Message says what happened, and what could be done.
	Message string
	// Missing says that a key or an index is not there (yet).
	Missing bool
	// Limit says that the evaluation was stopped: the fault is its cost or the time, and not the data.
	Limit bool

	cause error
}

// Error gives the place and the message.
func (e *EvaluationError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.Field, e.Message)
	}
	return fmt.Sprintf("%s: line %d, column %d: %s", e.Field, e.Line, e.Column, e.Message)
}

// Unwrap gives the cause where it is the end of the context, and nothing else: the evaluator's own errors may hold values.
func (e *EvaluationError) Unwrap() error {
	return e.cause
}

// refusalError is why a function of ours gave no value. Its text is fixed and holds no value of the data, so that it
// may be shown; the texts of the libraries may not.
type refusalError struct {
	text string
}

// Error gives the text.
func (e *refusalError) Error() string { return e.text }
