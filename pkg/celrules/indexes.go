package celrules

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// selectConstantIndexes turns x['name'] into x.name, and x[?'name'] into x.?name. CEL has no index on objects with a schema,
// but it is how people write a field whose name has a dash; both forms read the same key of the raw map.
func selectConstantIndexes(tree *ast.AST) {
	factory := ast.NewExprFactory()
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		call := e.AsCall()
		field, ok := constantField(call)
		if !ok {
			return
		}
		switch call.FunctionName() {
		case operators.Index:
			e.SetKindCase(factory.NewSelect(e.ID(), call.Args()[0], field))
		case operators.OptIndex:
			e.SetKindCase(factory.NewCall(e.ID(), operators.OptSelect, call.Args()...))
		}
	}))
}

// constantField gives the second argument of a call of two when it is a string literal.
func constantField(call ast.CallExpr) (string, bool) {
	args := call.Args()
	if len(args) != 2 || args[1].Kind() != ast.LiteralKind {
		return "", false
	}
	field, ok := args[1].AsLiteral().(types.String)
	return string(field), ok
}
