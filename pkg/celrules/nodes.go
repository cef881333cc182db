package celrules

import (
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
)

// nodesByID finds the nodes of a tree.
func nodesByID(tree *ast.AST) map[int64]ast.Expr {
	nodes := map[int64]ast.Expr{}
	ast.PostOrderVisit(tree.Expr(), ast.NewExprVisitor(func(e ast.Expr) { nodes[e.ID()] = e }))
	return nodes
}

// pathOf gives the names in self.spec.size; ok is false for anything that is not such a chain.
func pathOf(e ast.Expr) (path []string, ok bool) {
	switch e.Kind() {
	case ast.IdentKind:
		return []string{strings.TrimPrefix(e.AsIdent(), ".")}, true
	case ast.SelectKind:
		path, ok = pathOf(e.AsSelect().Operand())
		return append(path, e.AsSelect().FieldName()), ok
	case ast.CallKind:
		field, constant := constantField(e.AsCall())
		if !constant || e.AsCall().FunctionName() != operators.OptSelect {
			return nil, false
		}
		path, ok = pathOf(e.AsCall().Args()[0])
		return append(path, field), ok
	default:
		return nil, false
	}
}

// typeOf gives the type of an expression as far as the schema tells it; nil otherwise.
func (w *issueWording) typeOf(e ast.Expr) *schemaType {
	switch e.Kind() {
	case ast.IdentKind:
		return w.typeOfIdent(e)
	case ast.SelectKind:
		return w.typeOf(e.AsSelect().Operand()).field(e.AsSelect().FieldName())
	case ast.CallKind:
		call := e.AsCall()
		switch call.FunctionName() {
		case operators.OptSelect:
			field, _ := constantField(call)
			return w.typeOf(call.Args()[0]).field(field)
		case operators.Index, operators.OptIndex:
			return w.typeOf(call.Args()[0]).element()
		default:
			return nil
		}
	default:
		return nil
	}
}

// typeOfIdent gives the type of a variable, or of what a local name runs over. The range of a comprehension stands
// outside of it, so that this always comes to an end.
func (w *issueWording) typeOfIdent(e ast.Expr) *schemaType {
	l, isLocal := w.bound[e.ID()]
	if !isLocal {
		return w.environment.declared[Variable(strings.TrimPrefix(e.AsIdent(), "."))]
	}
	if l.over == nil || !l.element {
		return nil
	}
	t := w.typeOf(l.over)
	if t == nil || t.cel.Kind() != cel.ListKind {
		return nil
	}
	return t.elem
}

// typeAt follows a path from a variable; nil when it leads nowhere.
func (e *Environment) typeAt(path []string) *schemaType {
	t := e.declared[Variable(path[0])]
	for _, name := range path[1:] {
		t = t.field(name)
	}
	return t
}

// field gives the type of a field, or of a map's values.
func (t *schemaType) field(name string) *schemaType {
	switch {
	case t == nil:
		return nil
	case t.fields != nil:
		return t.fields[name]
	default:
		return t.elem
	}
}

func (t *schemaType) element() *schemaType {
	if t == nil {
		return nil
	}
	return t.elem
}

// fieldList words the fields that an object has.
func (t *schemaType) fieldList() string {
	if len(t.fields) == 0 {
		return "none is declared"
	}
	return "it has " + strings.Join(slices.Sorted(maps.Keys(t.fields)), ", ")
}

// describeType words a type for messages.
func describeType(t *cel.Type) string {
	if isSchemaTypeName(t.TypeName()) {
		return "an object"
	}
	return "the type " + cel.FormatCELType(t)
}
