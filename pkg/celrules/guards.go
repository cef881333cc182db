package celrules

import (
	"fmt"
	"maps"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/functions"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
)

// A cost limit cannot stop a single function call: CEL counts a call after it has returned, and looks at the context only
// between the steps of a comprehension. A few library functions can do more than their arguments' size in one call:
// replace can turn two texts of a megabyte each into a terabyte. Those are guarded: the call is refused before it begins.

// guard refuses arguments that would make a call too much work.
type guard func(args []ref.Val) bool

// allOverloads is the table's key for the overloads that it does not name.
const allOverloads = "*"

// guardedOverloads are the calls that need one, by function and overload.
func guardedOverloads() map[string]map[string]guard {
	return map[string]map[string]guard{
		"replace":         {allOverloads: replaceFits},
		"join":            {allOverloads: joinFits},
		"format":          {allOverloads: weightFits},
		"find":            {allOverloads: searchFits},
		"findAll":         {allOverloads: searchFits},
		"indexOf":         {"string_index_of_string": searchFits, "string_index_of_string_int": searchFits, allOverloads: weightFits},
		"lastIndexOf":     {"string_last_index_of_string": searchFits, "string_last_index_of_string_int": searchFits, allOverloads: weightFits},
		"includes":        {allOverloads: weightFits},
		"isSorted":        {allOverloads: weightFits},
		"sum":             {allOverloads: weightFits},
		"min":             {allOverloads: weightFits},
		"max":             {allOverloads: weightFits},
		"flatten":         {allOverloads: weightFits},
		"distinct":        {allOverloads: distinctFits},
		"sets.contains":   {allOverloads: productFits},
		"sets.equivalent": {allOverloads: productFits},
		"sets.intersects": {allOverloads: productFits},
	}
}

// guardOptions redeclares the guarded functions of an environment with the guard before the library's implementation.
func guardOptions(env *cel.Env) ([]cel.EnvOption, error) {
	guards := guardedOverloads()
	var options []cel.EnvOption
	for _, name := range slices.Sorted(maps.Keys(guards)) {
		declaration, ok := env.Functions()[name]
		if !ok {
			return nil, fmt.Errorf("the libraries have no function %s", name)
		}
		redeclared, err := guardFunction(declaration, guards[name])
		if err != nil {
			return nil, fmt.Errorf("function %s: %w", name, err)
		}
		options = append(options, redeclared...)
	}
	return options, nil
}

// guardFunction redeclares every overload of a function.
func guardFunction(declaration *decls.FunctionDecl, guards map[string]guard) ([]cel.EnvOption, error) {
	bindings, err := declaration.Bindings()
	if err != nil {
		return nil, err
	}
	var options []cel.EnvOption
	for _, overload := range declaration.OverloadDecls() {
		fits, ok := guards[overload.ID()]
		if !ok {
			fits = guards[allOverloads]
		}
		i := slices.IndexFunc(bindings, func(b *functions.Overload) bool { return b.Operator == overload.ID() })
		if i < 0 {
			return nil, fmt.Errorf("the library's overload %s has no implementation of its own", overload.ID())
		}
		declare := cel.Overload
		if overload.IsMemberFunction() {
			declare = cel.MemberOverload
		}
		options = append(options, cel.Function(declaration.Name(), declare(overload.ID(), overload.ArgTypes(), overload.ResultType(),
			guardedBinding(declaration.Name(), bindings[i], fits))))
	}
	return options, nil
}

// guardedBinding is the library's implementation behind the guard.
func guardedBinding(name string, binding *functions.Overload, fits guard) cel.OverloadOpt {
	// A new error for each call: CEL writes the place of the call into it.
	refused := func() ref.Val { return types.WrapErr(tooLarge(name)) }
	switch {
	case binding.Unary != nil:
		return cel.UnaryBinding(func(a ref.Val) ref.Val {
			if !fits([]ref.Val{a}) {
				return refused()
			}
			return binding.Unary(a)
		})
	case binding.Binary != nil:
		return cel.BinaryBinding(func(a, b ref.Val) ref.Val {
			if !fits([]ref.Val{a, b}) {
				return refused()
			}
			return binding.Binary(a, b)
		})
	default:
		return cel.FunctionBinding(func(args ...ref.Val) ref.Val {
			if !fits(args) {
				return refused()
			}
			return binding.Function(args...)
		})
	}
}
