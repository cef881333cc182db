package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
)

// errorTextDecisions lists the places in a file that look into the text of an error: strings.Contains(err.Error(), …)
// and its like, regular expressions, and comparisons. Text changes with the next version of a library; types stay.
func errorTextDecisions(path, content string) ([]string, error) {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, path, content, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []string
	report := func(node ast.Node) { found = append(found, fmt.Sprint(files.Position(node.Pos()))) }
	ast.Inspect(parsed, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.CallExpr:
			if judgesText(node) {
				report(node)
			}
		case *ast.BinaryExpr:
			// Two errors compared with each other say whether there is news, whatever the words are.
			if (node.Op == token.EQL || node.Op == token.NEQ) && isErrorText(node.X) != isErrorText(node.Y) {
				report(node)
			}
		case *ast.SwitchStmt:
			if isErrorText(node.Tag) {
				report(node)
			}
		}
		return true
	})
	return found, nil
}

// judgesText says whether a call of the packages strings, bytes or regexp, or of a regular expression, gets the text of
// an error.
func judgesText(call *ast.CallExpr) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	receiver, ok := selector.X.(*ast.Ident)
	judges := ok && (receiver.Name == "strings" || receiver.Name == "bytes" || receiver.Name == "regexp")
	switch selector.Sel.Name {
	case "MatchString", "Match", "FindString", "FindStringSubmatch":
		judges = true
	case "ToValidUTF8", "ReplaceAll", "TrimSpace", "ToLower", "ToUpper", "NewReader", "NewReplacer":
		// These change the form of a text and decide nothing; who looks at the result is found by itself.
		return false
	}
	return judges && slices.ContainsFunc(call.Args, isErrorText)
}

// isErrorText says whether an expression is x.Error(), also after a conversion or a call that only changes its form.
func isErrorText(expression ast.Expr) bool {
	call, ok := expression.(*ast.CallExpr)
	if !ok {
		return false
	}
	if selector, ok := call.Fun.(*ast.SelectorExpr); ok && selector.Sel.Name == "Error" && len(call.Args) == 0 {
		return true
	}
	return len(call.Args) > 0 && isErrorText(call.Args[0])
}
