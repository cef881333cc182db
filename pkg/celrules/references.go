package celrules

import (
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// reference is one place where an expression names a variable.
type reference struct {
	variable Variable
	// path are the fields selected from it by constant names, as far as they go.
	path []string
	// node is the identifier's place in the tree.
	node int64
}

// names are the names in a tree: where it names our variables, and which identifiers are local. A name that a macro or
// cel.bind declares is local and hides the variable.
type names struct {
	references []reference
	// bound are the identifiers that stand for a local name.
	bound map[int64]local
}

// local is a name that a comprehension declares.
type local struct {
	name string
	// over is what the name runs over; nil for an accumulator.
	over ast.Expr
	// element says that the name is the element, and not the index or the key.
	element bool
}

// namesIn goes through a tree.
func namesIn(tree *ast.AST) names {
	w := &nameWalk{known: variables(), found: names{bound: map[int64]local{}}}
	w.walk(tree.Expr(), nil)
	return w.found
}

type nameWalk struct {
	known  []Variable
	locals []local
	found  names
}

// walk visits a node; path are the fields that the nodes above select from it.
func (w *nameWalk) walk(e ast.Expr, path []string) {
	switch e.Kind() {
	case ast.IdentKind:
		w.ident(e, path)
	case ast.SelectKind:
		s := e.AsSelect()
		w.walk(s.Operand(), append([]string{s.FieldName()}, path...))
	case ast.CallKind:
		w.call(e.AsCall(), path)
	case ast.ListKind:
		w.all(e.AsList().Elements())
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			w.walk(entry.AsMapEntry().Key(), nil)
			w.walk(entry.AsMapEntry().Value(), nil)
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			w.walk(field.AsStructField().Value(), nil)
		}
	case ast.ComprehensionKind:
		w.comprehension(e.AsComprehension())
	case ast.LiteralKind, ast.UnspecifiedExprKind:
	}
}

func (w *nameWalk) all(list []ast.Expr) {
	for _, e := range list {
		w.walk(e, nil)
	}
}

func (w *nameWalk) ident(e ast.Expr, path []string) {
	name, global := strings.CutPrefix(e.AsIdent(), ".")
	if !global {
		for _, l := range slices.Backward(w.locals) {
			if l.name == name {
				w.found.bound[e.ID()] = l
				return
			}
		}
	}
	if slices.Contains(w.known, Variable(name)) {
		w.found.references = append(w.found.references, reference{variable: Variable(name), path: path, node: e.ID()})
	}
}

func (w *nameWalk) call(call ast.CallExpr, path []string) {
	if field, ok := constantField(call); ok && call.FunctionName() == operators.OptSelect {
		w.walk(call.Args()[0], append([]string{field}, path...))
		return
	}
	if call.IsMemberFunction() {
		w.walk(call.Target(), nil)
	}
	w.all(call.Args())
}

// comprehension visits the parts of a macro with the names that are declared there.
func (w *nameWalk) comprehension(c ast.ComprehensionExpr) {
	w.walk(c.IterRange(), nil)
	w.walk(c.AccuInit(), nil)
	outside := len(w.locals)
	w.locals = append(w.locals, local{name: c.AccuVar()})
	w.walk(c.Result(), nil)
	w.locals = append(w.locals, local{name: c.IterVar(), over: c.IterRange(), element: !c.HasIterVar2()})
	if c.HasIterVar2() {
		w.locals = append(w.locals, local{name: c.IterVar2(), over: c.IterRange(), element: true})
	}
	w.walk(c.LoopCondition(), nil)
	w.walk(c.LoopStep(), nil)
	w.locals = w.locals[:outside]
}
