package celrules

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/containers"
	"github.com/google/cel-go/common/operators"
)

// place turns CEL's location into a line and a column that both count from 1.
func place(l common.Location) (line, column int) {
	return max(1, l.Line()), max(0, l.Column()) + 1
}

// syntaxErrors takes over what the parser reports.
func (c *compilation) syntaxErrors(issues *cel.Issues) {
	for _, issue := range issues.Errors() {
		c.reportAt(issue.Location, issue.Message)
	}
}

// typeErrors takes over what the checker reports. Names that are unknown get a message of our own that lists the known ones.
func (c *compilation) typeErrors(issues *cel.Issues, bound map[int64]local) {
	w := newWording(c, bound)
	for _, issue := range issues.Errors() {
		node, ok := w.nodes[issue.ExprID]
		switch {
		case !ok:
			c.reportAt(issue.Location, issue.Message)
		case node.Kind() == ast.IdentKind && w.namespaces[node.ID()]:
			// The call that this identifier belongs to is reported as an unknown function.
		default:
			c.reportAt(issue.Location, w.explain(node, issue.Message))
		}
	}
}

// issueWording words the problems of one tree. It decides on what a node is, never on the checker's text.
type issueWording struct {
	*compilation

	nodes map[int64]ast.Expr
	// namespaces are the identifiers that stand before an unknown function of a library: lists in lists.rnage(3).
	namespaces map[int64]bool
	// bound are the identifiers that stand for a local name.
	bound map[int64]local
}

func newWording(c *compilation, bound map[int64]local) *issueWording {
	w := &issueWording{compilation: c, nodes: nodesByID(c.tree), namespaces: map[int64]bool{}, bound: bound}
	for _, node := range w.nodes {
		if node.Kind() == ast.CallKind {
			w.addNamespace(node.AsCall())
		}
	}
	return w
}

func (w *issueWording) addNamespace(call ast.CallExpr) {
	if !call.IsMemberFunction() || call.Target().Kind() != ast.IdentKind {
		return
	}
	if name := call.Target().AsIdent(); w.isNamespace(name) && !w.environment.cel.HasFunction(name+"."+call.FunctionName()) {
		w.namespaces[call.Target().ID()] = true
	}
}

// isNamespace says whether a library has functions that begin with this name.
func (w *issueWording) isNamespace(name string) bool {
	for function := range w.environment.cel.Functions() {
		if strings.HasPrefix(function, name+".") {
			return true
		}
	}
	return false
}

func (w *issueWording) explain(node ast.Expr, message string) string {
	switch node.Kind() {
	case ast.IdentKind:
		return fmt.Sprintf("unknown variable '%s'; %s", node.AsIdent(), w.allowed())
	case ast.SelectKind:
		return w.explainField(node.AsSelect().Operand(), node.AsSelect().FieldName(), message)
	case ast.CallKind:
		return w.explainCall(node.AsCall(), message)
	default:
		return message
	}
}

func (w *issueWording) explainCall(call ast.CallExpr, message string) string {
	name := call.FunctionName()
	if field, ok := constantField(call); ok && name == operators.OptSelect {
		return w.explainField(call.Args()[0], field, message)
	}
	if call.IsMemberFunction() {
		if prefix, ok := containers.ToQualifiedName(call.Target()); ok && w.namespaces[call.Target().ID()] {
			return fmt.Sprintf("unknown function '%s.%s'", prefix, name)
		}
	}
	if !w.environment.cel.HasFunction(name) {
		return fmt.Sprintf("unknown function '%s'", name)
	}
	if hint := conversionHint(name); hint != "" {
		return message + hint
	}
	if t := w.indexed(call); t != nil && t.fields != nil {
		return "an object with a schema has only the fields of the schema: write a constant name, or dyn(object)[key]"
	}
	return message
}

// conversionHint says what to do where CEL does not convert by itself.
func conversionHint(function string) string {
	switch function {
	case operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Equals, operators.NotEquals:
		return "; both sides must have the same type: use string(), int() or double() on one of them"
	default:
		return ""
	}
}

// indexed gives the type of what an index call looks into.
func (w *issueWording) indexed(call ast.CallExpr) *schemaType {
	if call.FunctionName() != operators.Index && call.FunctionName() != operators.OptIndex {
		return nil
	}
	return w.typeOf(call.Args()[0])
}

// explainField lists the fields that there are instead of the one that is not.
func (w *issueWording) explainField(operand ast.Expr, field, message string) string {
	t := w.typeOf(operand)
	if t == nil || t.fields == nil {
		return message
	}
	if _, known := t.fields[field]; known {
		return message
	}
	object := "the object"
	if path, ok := pathOf(operand); ok {
		object = strings.Join(path, ".")
	}
	return fmt.Sprintf("unknown field '%s' of %s; %s", field, object, t.fieldList())
}
