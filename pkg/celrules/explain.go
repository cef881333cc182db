package celrules

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/containers"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
)

// failed is an evaluation error without a place.
func (x *Expression) failed(message string) *EvaluationError {
	return &EvaluationError{Field: x.field, Message: message}
}

// stopped is an error of an evaluation that did not come to its end.
func (x *Expression) stopped(message string) *EvaluationError {
	e := x.failed(message)
	e.Limit = true
	return e
}

func (x *Expression) overBudget() *EvaluationError {
	return x.stopped("the cost limit of one pass is used up: make the expressions of the mapping cheaper, or the object smaller")
}

func (x *Expression) interrupted(cause error) *EvaluationError {
	e := x.stopped("was stopped: the time for this pass is over")
	e.cause = cause
	return e
}

// explain words an error of CEL. Its text is never passed on: it may hold values of the data.
func (x *Expression) explain(ctx context.Context, err error) *EvaluationError {
	if errors.Is(err, interpreter.InterruptError{}) {
		return x.interrupted(context.Cause(ctx))
	}
	if errors.As(err, &interpreter.EvalCancelledError{}) {
		return x.stopped(fmt.Sprintf("was stopped at the cost limit of %d for one expression: go through fewer or shorter lists and texts", ExpressionLimit))
	}
	var celError *types.Err
	if !errors.As(err, &celError) {
		return x.failed("failed inside the evaluator")
	}
	return x.explainNode(celError)
}

// explainNode words an error that belongs to a node of the expression.
func (x *Expression) explainNode(celError *types.Err) *EvaluationError {
	var node ast.Expr
	e := x.failed("")
	// CEL shares this one error between all evaluations, and whoever sees it first writes its node: not ours.
	if celError != types.NoSuchOverloadErr() {
		node, e.Line, e.Column = x.nodeOf(celError.NodeID())
	}
	if refusal, ok := errors.AsType[*refusalError](celError); ok {
		e.Message = refusal.text
		return e
	}
	f := failureOf(celError)
	e.Missing = f.missing()
	e.Message = f.message(x.wording(node, celError))
	return e
}

// nodeOf finds a node by its id, with its place. The tree is not kept, since it would be most of an expression's memory;
// parsing again gives the same ids.
func (x *Expression) nodeOf(id int64) (node ast.Expr, line, column int) {
	parsed, issues := x.environment.Parse(x.source)
	if issues.Err() != nil {
		return nil, 0, 0
	}
	tree := parsed.NativeRep()
	selectConstantIndexes(tree)
	node, ok := nodesByID(tree)[id]
	if !ok {
		return nil, 0, 0
	}
	line, column = place(tree.SourceInfo().GetStartLocation(id))
	return node, line, column
}

// message words a failure; subject is what the expression says in that place, or empty.
func (f failure) message(subject string) string {
	switch f {
	case failureMissingKey:
		return either(subject, "a field") + " is not there; where it may be absent write .?name, and .orValue(default) after it"
	case failureMissingIndex:
		return either(subject, "an element") + " is not there: the list is shorter; where it may be write [?index]"
	case failureEmptyOptional:
		return "the value of an absent optional was asked for; write .orValue(default)"
	case failureOverload:
		return either(subject, "an operation") + " is not defined for the types that the values have"
	case failureDivision:
		return "division by zero"
	case failureOther:
	}
	return either(subject, "a function") + " does not take the value it was given"
}

func either(subject, otherwise string) string {
	if subject == "" {
		return otherwise
	}
	return subject
}

// wording says what the expression does at a node, in the words of its source; empty when there are none.
func (x *Expression) wording(node ast.Expr, err error) string {
	if node == nil {
		return ""
	}
	if path, ok := pathOf(node); ok {
		return strings.Join(untilMissing(path, err), ".")
	}
	if node.Kind() != ast.CallKind {
		return ""
	}
	call := node.AsCall()
	if symbol, ok := operators.FindReverse(call.FunctionName()); ok {
		return symbol
	}
	if call.IsMemberFunction() {
		if prefix, ok := containers.ToQualifiedName(call.Target()); ok && x.environment.HasFunction(prefix+"."+call.FunctionName()) {
			return prefix + "." + call.FunctionName() + "()"
		}
	}
	return call.FunctionName() + "()"
}

// untilMissing cuts a path after the key that is not there: of observed.a.b.c it may be a.
func untilMissing(path []string, err error) []string {
	if failureOf(err) != failureMissingKey {
		return path
	}
	if i := slices.Index(path[1:], missingKey(err)); i >= 0 {
		return path[:i+2]
	}
	return path
}
