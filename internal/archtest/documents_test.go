package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// constants reads the string constants of a Go file whose names begin with a prefix: name to value.
func constants(t *testing.T, path, prefix string) map[string]string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	ast.Inspect(parsed, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != len(spec.Names) {
			return true
		}
		for i, name := range spec.Names {
			literal, ok := spec.Values[i].(*ast.BasicLit)
			if !ok || !strings.HasPrefix(name.Name, prefix) {
				continue
			}
			if found[name.Name], err = strconv.Unquote(literal.Value); err != nil {
				t.Fatal(err)
			}
		}
		return true
	})
	return found
}

// specification is the text of docs/spec.
func specification(t *testing.T) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root(t), "docs", "spec", "*.md"))
	if err != nil || len(files) == 0 {
		t.Fatalf("docs/spec holds no document: %v", err)
	}
	var text strings.Builder
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(content)
	}
	return text.String()
}

// Whoever meets a condition in the cluster must find it in the documents.
func TestEveryConditionAndReasonIsDocumented(t *testing.T) {
	t.Parallel()
	text := specification(t)
	for _, prefix := range []string{"Condition", "Reason"} {
		found := constants(t, filepath.Join(root(t), "api", "v1alpha1", "conditions.go"), prefix)
		if len(found) < 5 {
			t.Fatalf("only %d constants %s…: the search is broken", len(found), prefix)
		}
		for name, value := range found {
			if !regexp.MustCompile(`\b` + regexp.QuoteMeta(value) + `\b`).MatchString(text) {
				t.Errorf("%s (%s) does not stand in docs/spec: say when it appears and what to do", name, value)
			}
		}
	}
}

// place matches a path of this repository in inline code, for example `pkg/engine/fleet`.
const place = "`((?:api|cmd|deploy|docs|e2e|hack|internal|mappings|pkg)/[A-Za-z0-9_./-]*)`"

func TestPlacesNamedInTheArchitectureExist(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join(root(t), "docs", "ARCHITECTURE.md"))
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(place).FindAllStringSubmatch(string(content), -1)
	if len(found) == 0 {
		t.Fatal("docs/ARCHITECTURE.md names no folder")
	}
	for _, match := range found {
		if _, err := os.Stat(filepath.Join(root(t), filepath.FromSlash(match[1]))); err != nil {
			t.Errorf("docs/ARCHITECTURE.md names %s: %v", match[1], err)
		}
	}
}
