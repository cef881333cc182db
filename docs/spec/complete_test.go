package spec_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/restmapping/operator/api/v1alpha1"
)

// api is the folder of the API's types.
const api = "../../api/v1alpha1"

// pages is the text of both.
func pages(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, page := range []string{mappingPage, endpointPage} {
		content, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(content)
	}
	return all.String()
}

// constants gives the text of each constant of the API whose name begins with one of the prefixes.
func constants(t *testing.T, prefixes ...string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(api, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(node ast.Node) bool {
			if spec, ok := node.(*ast.ValueSpec); ok {
				addConstant(found, spec, prefixes)
			}
			return true
		})
	}
	if len(found) == 0 {
		t.Fatalf("the API has no constants %v", prefixes)
	}
	return found
}

func addConstant(found map[string]string, spec *ast.ValueSpec, prefixes []string) {
	if len(spec.Values) != 1 {
		return
	}
	literal, ok := spec.Values[0].(*ast.BasicLit)
	if !ok {
		return
	}
	text, err := strconv.Unquote(literal.Value)
	for _, prefix := range prefixes {
		if err == nil && strings.HasPrefix(spec.Names[0].Name, prefix) {
			found[spec.Names[0].Name] = text
		}
	}
}

func TestEveryConditionAndReasonIsExplained(t *testing.T) {
	t.Parallel()
	text := pages(t)
	for name, value := range constants(t, "Condition", "Reason") {
		if !strings.Contains(text, "`"+value+"`") && !strings.Contains(text, "`"+value+"=") {
			t.Errorf("%s (%s) is on no page", value, name)
		}
	}
}

func TestEveryValueOfTheAPIIsExplained(t *testing.T) {
	t.Parallel()
	text := pages(t)
	prefixes := []string{"Kind", "Pagination", "Safety", "Body", "On", "Compare", "Outcome", "Adopt", "Deletion", "Missing", "Drift", "Management"}
	for name, value := range constants(t, prefixes...) {
		if !strings.Contains(text, "`"+value+"`") && !strings.Contains(text, value+",") && !strings.Contains(text, ", "+value) {
			t.Errorf("%s (%s) is on no page", value, name)
		}
	}
}

func TestEveryAnnotationAndLabelIsExplained(t *testing.T) {
	t.Parallel()
	text := pages(t)
	for _, name := range []string{
		v1alpha1.Finalizer, v1alpha1.MappingFinalizer, v1alpha1.RecordAnnotation, v1alpha1.SuspendAnnotation,
		v1alpha1.ReconcileAnnotation, v1alpha1.ResolveAnnotation, v1alpha1.AllowReadLabel,
	} {
		if !strings.Contains(text, "`"+name) {
			t.Errorf("%s is on no page", name)
		}
	}
}

func TestEveryFieldIsExplained(t *testing.T) {
	t.Parallel()
	text := pages(t)
	for _, spec := range []any{v1alpha1.RestMappingSpec{}, v1alpha1.ClusterEndpointSpec{}, v1alpha1.RestMappingStatus{}} {
		for path, name := range fieldsOf(reflect.TypeOf(spec), "") {
			if !mentions(text, name) {
				t.Errorf("%s is on no page", path)
			}
		}
	}
}

// mentions tells whether a field stands on a page as code: `name`, `above.name`, `name[]`, or as a key of a block.
func mentions(text, name string) bool {
	for _, form := range []string{"`" + name + "`", "." + name + "`", "`" + name + "[]`", "." + name + "[]`", name + ": ", "`" + name + ": "} {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

// fieldsOf gives the JSON names of a type of the API and of all types below it, by path.
func fieldsOf(of reflect.Type, path string) map[string]string {
	names := map[string]string{}
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || !strings.HasSuffix(of.PkgPath(), "api/v1alpha1") {
		return names
	}
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		below := path + "." + name
		if name == "" {
			below = path
		} else {
			names[below] = name
		}
		maps.Copy(names, fieldsOf(field.Type, below))
	}
	return names
}

func TestAMissingReasonWouldBeNoticed(t *testing.T) {
	t.Parallel()
	if mentions("`known` and more", "unknown") || !mentions("the field `known` is", "known") {
		t.Error("mentions does not tell a field that is there from one that is not")
	}
}
