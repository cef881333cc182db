package celrules

import (
	"slices"

	"github.com/google/cel-go/cel"
)

// Expression is a compiled expression. It is immutable and safe for concurrent use.
type Expression struct {
	source      string
	field       string
	result      Result
	environment *cel.Env
	program     cel.Program
	self, refs  *schemaType
	references  []reference
	warnings    []string
	// element is the type of the elements of the list that it gives.
	element *schemaType
}

// Source gives the text it was compiled from.
func (x *Expression) Source() string { return x.source }

// Warnings are what is doubtful but not wrong, such as a high estimated cost.
func (x *Expression) Warnings() []string { return slices.Clone(x.warnings) }

// Uses says whether the expression names the variable.
func (x *Expression) Uses(v Variable) bool { return x.UsesPath(v) }

// UsesPath says whether the expression names this field of the variable, or something below it, by constant names.
func (x *Expression) UsesPath(v Variable, path ...string) bool {
	return slices.ContainsFunc(x.references, func(r reference) bool {
		return r.variable == v && len(r.path) >= len(path) && slices.Equal(r.path[:len(path)], path)
	})
}

// Touches says whether the expression names this field of the variable, something below it, or something that holds it.
func (x *Expression) Touches(v Variable, path ...string) bool {
	return slices.ContainsFunc(x.references, func(r reference) bool {
		short := min(len(r.path), len(path))
		return r.variable == v && slices.Equal(r.path[:short], path[:short])
	})
}
