package mapping

import (
	"fmt"
	"strings"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

// maxErrorsInText bounds how many problems InvalidError prints; all of them are in Errors.
const maxErrorsInText = 3

// InvalidError holds everything that is wrong with a mapping.
type InvalidError struct {
	Errors []v1alpha1.ExpressionError
}

// Error implements error. It prints the first problems and how many there are.
func (e *InvalidError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the mapping has %d error(s)", len(e.Errors))
	for i, one := range e.Errors {
		if i == maxErrorsInText {
			b.WriteString("; ...")
			break
		}
		fmt.Fprintf(&b, "; %s", describe(one))
	}
	return b.String()
}

func describe(e v1alpha1.ExpressionError) string {
	if e.Line == 0 {
		return e.Field + ": " + e.Message
	}
	return fmt.Sprintf("%s (line %d, column %d): %s", e.Field, e.Line, e.Column, e.Message)
}

// ExpressionError says that an expression of the mapping gave no usable value for this custom resource or response.
// It never holds a value.
type ExpressionError struct {
	// Field is the place in the mapping, such as spec.fields[2].value.
	Field string
	// Line and Column count from 1 within the expression; 0 when they do not apply.
	Line, Column int
	// Problem says what is wrong and how to put it right.
	Problem string
	// Missing tells that a key or an index was not there.
	Missing bool
	// Err is the cause; nil when it might speak of a secret.
	Err error
}

// Error implements error.
func (e *ExpressionError) Error() string {
	if e.Line == 0 {
		return e.Field + ": " + e.Problem
	}
	return fmt.Sprintf("%s (line %d, column %d): %s", e.Field, e.Line, e.Column, e.Problem)
}

// Unwrap gives the cause.
func (e *ExpressionError) Unwrap() error { return e.Err }

// IdentifierError says that an identifier cannot stand in a path.
type IdentifierError struct {
	// Name of the identifier.
	Name string
	// Field is the place in the mapping that gives it, or that needs it.
	Field string
	// Problem says what is wrong and how to put it right.
	Problem string
}

// Error implements error.
func (e *IdentifierError) Error() string {
	return fmt.Sprintf("%s: identifier %q %s", e.Field, e.Name, e.Problem)
}

// AssignedError says that a response, or an item of a list, did not give an assigned identifier.
type AssignedError struct {
	// Identifier is its name.
	Identifier string
	// Held says what was there instead: types and keys, never values.
	Held string
	// Err says what was tried, and why it gave nothing.
	Err error
}

// Error implements error.
func (e *AssignedError) Error() string {
	return fmt.Sprintf("identifier %q was not found: %v; there was %s", e.Identifier, e.Err, e.Held)
}

// Unwrap gives the cause.
func (e *AssignedError) Unwrap() error { return e.Err }

// NoObjectError says that a response did not hold what the mapping takes from it.
type NoObjectError struct {
	Operation rest.Operation
	// Field is the place in the mapping that says where to look, such as spec.operations.read.select.
	Field string
	// Want is "an object" or "a list".
	Want string
	// Got names the kind of JSON value, or the media type, that came instead.
	Got string
}

// Error implements error.
func (e *NoObjectError) Error() string {
	return fmt.Sprintf("%s: the response holds %s where %s is needed; say in %s where it is, or declare in spec.outcomes what such a response means",
		e.Operation, e.Got, e.Want, e.Field)
}

// TooManyPagesError says that a listing did not end within the pages that the mapping allows.
type TooManyPagesError struct {
	// Field is the place in the mapping.
	Field    string
	MaxPages int
}

// Error implements error.
func (e *TooManyPagesError) Error() string {
	return fmt.Sprintf("%s: the list has more than %d pages, so nothing can be said about what it does not hold; "+
		"raise maxPages or limit, or narrow the list with a query parameter", e.Field, e.MaxPages)
}

// PaginationError says that the pages of a list contradict each other.
type PaginationError struct {
	// Field is the place in the mapping.
	Field string
	// Problem says what is wrong and how to put it right.
	Problem string
}

// Error implements error.
func (e *PaginationError) Error() string { return e.Field + ": " + e.Problem }

// SecretRefError says that an expression names no usable key of a Secret.
type SecretRefError struct {
	// Input is the declared name, as in secrets.<input>.
	Input string
	// Field is the place in the mapping.
	Field string
	// Problem says what is wrong and how to put it right.
	Problem string
}

// Error implements error.
func (e *SecretRefError) Error() string {
	return fmt.Sprintf("%s: secret %q: %s", e.Field, e.Input, e.Problem)
}

// NotDeclaredError says that the mapping has no such operation.
type NotDeclaredError struct {
	Operation rest.Operation
}

// Error implements error.
func (e *NotDeclaredError) Error() string {
	return fmt.Sprintf("spec.operations: the mapping declares no %s operation", strings.ToLower(string(e.Operation)))
}
