package celrules

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
)

// Compile checks an expression for one use and makes it ready to run. The error is a *CompileError, or several of them
// joined: everything that is wrong at once.
func (e *Environment) Compile(source string, use Use) (*Expression, error) {
	c := &compilation{environment: e, source: source, use: use}
	return c.run()
}

// compilation is the work of one Compile.
type compilation struct {
	environment *Environment
	source      string
	use         Use
	tree        *ast.AST
	problems    []*CompileError
}

func (c *compilation) run() (*Expression, error) {
	parsed, issues := c.environment.cel.Parse(c.source)
	if issues.Err() != nil {
		c.syntaxErrors(issues)
		return nil, c.err()
	}
	c.tree = parsed.NativeRep()
	selectConstantIndexes(c.tree)
	checked, issues := c.environment.cel.Check(parsed)
	names := namesIn(c.tree)
	if issues.Err() != nil {
		c.typeErrors(issues, names.bound)
	}
	c.checkVariables(names.references)
	if len(c.problems) == 0 {
		c.checkResult(checked)
	}
	if len(c.problems) > 0 {
		return nil, c.err()
	}
	return c.finish(checked, names.references)
}

// finish plans the program of an expression without problems.
func (c *compilation) finish(checked *cel.Ast, references []reference) (*Expression, error) {
	program, err := c.environment.cel.Program(checked, programOptions()...)
	if err != nil {
		c.report(0, fmt.Sprintf("cannot be planned: %v", err))
		return nil, c.err()
	}
	return &Expression{
		source: c.source, field: c.use.Field, result: c.use.Result, environment: c.environment.cel, program: program, self: c.environment.declared[Self],
		refs: c.environment.declared[Refs],

		references: references, warnings: c.environment.costWarnings(checked),
		element: c.environment.elementType(checked.OutputType()),
	}, nil
}

// checkVariables refuses variables that have no value in this place, and secrets where they could leak.
func (c *compilation) checkVariables(references []reference) {
	for _, r := range references {
		switch {
		case r.variable == Secrets && c.use.Secrets:
		case r.variable == Secrets:
			c.report(r.node, "secrets may not be used here: a secret may only go into request bodies, headers and queries; "+c.allowed())
		case !slices.Contains(c.use.Variables, r.variable):
			c.report(r.node, fmt.Sprintf("the variable '%s' has no value here; %s", r.variable, c.allowed()))
		}
	}
}

// allowed says what may be named in this place.
func (c *compilation) allowed() string {
	var names []string
	for _, variable := range variables() {
		if slices.Contains(c.use.Variables, variable) && (variable != Secrets || c.use.Secrets) {
			names = append(names, string(variable))
		}
	}
	if c.use.Secrets && !slices.Contains(names, string(Secrets)) {
		names = append(names, string(Secrets))
	}
	if len(names) == 0 {
		return "here an expression may use no variables"
	}
	return "here an expression may use " + strings.Join(names, ", ")
}

func (c *compilation) checkResult(checked *cel.Ast) {
	if t := checked.OutputType(); !c.use.Result.acceptsType(t) {
		c.report(c.tree.Expr().ID(), fmt.Sprintf("must give %s, but gives %s", c.use.Result, describeType(withoutOptional(t))))
	}
}

// report notes a problem at a node of the tree; 0 is the whole expression.
func (c *compilation) report(node int64, message string) {
	var location common.Location = common.NoLocation
	if node != 0 {
		location = c.tree.SourceInfo().GetStartLocation(node)
	}
	c.reportAt(location, message)
}

func (c *compilation) reportAt(location common.Location, message string) {
	line, column := place(location)
	c.problems = append(c.problems, &CompileError{
		Field: c.use.Field, Source: c.source, Line: line, Column: column, Message: message,
	})
}

// err joins the problems in the order of the source.
func (c *compilation) err() error {
	slices.SortStableFunc(c.problems, func(a, b *CompileError) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	if len(c.problems) == 1 {
		return c.problems[0]
	}
	all := make([]error, len(c.problems))
	for i, problem := range c.problems {
		all[i] = problem
	}
	return errors.Join(all...)
}
