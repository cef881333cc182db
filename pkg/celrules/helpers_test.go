package celrules

import (
	"errors"
	"fmt"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const testSchema = `
type: object
properties:
  metadata: {type: object}
  spec:
    type: object
    properties:
      port: {type: integer}
      enabled: {type: boolean}
      ratio: {type: number}
      ratios: {type: array, items: {type: number}}
      ratioByName: {type: object, additionalProperties: {type: number}}
      namespace: {type: string}
      in: {type: string}
      description: {type: string, nullable: true}
      my-dash: {type: string}
      when: {type: string, format: date-time}
      data: {type: string, format: byte}
      timeout: {type: string, format: duration}
      tags: {type: array, items: {type: string}}
      free: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {known: {type: string}}}
      bag: {type: object, x-kubernetes-preserve-unknown-fields: true}
      empty: {type: object}
      percent: {x-kubernetes-int-or-string: true}
      labels: {type: object, additionalProperties: {type: string}}
      items: {type: array, items: {type: object, properties: {name: {type: string}, weight: {type: number}}}}
      template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
  status:
    type: object
    properties:
      url: {type: string}
`

func schemaOf(tb testing.TB, text string) *apiextensionsv1.JSONSchemaProps {
	tb.Helper()
	schema := &apiextensionsv1.JSONSchemaProps{}
	if err := yaml.UnmarshalStrict([]byte(text), schema); err != nil {
		tb.Fatal(err)
	}
	return schema
}

func testEnvironment(tb testing.TB) *Environment {
	tb.Helper()
	e, err := NewEnvironment(Declarations{
		Self: schemaOf(tb, testSchema), Identifiers: []string{"org", "my-id"}, Secrets: []string{"token"},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return e
}

// everywhere allows all variables.
func everywhere() Use {
	return Use{Field: "spec.test", Variables: variables(), Secrets: true}
}

func mustCompile(tb testing.TB, source string) *Expression {
	tb.Helper()
	x, err := testEnvironment(tb).Compile(source, everywhere())
	if err != nil {
		tb.Fatalf("compile %s: %v", source, err)
	}
	return x
}

// testVariables are one value of every variable.
func testVariables() map[Variable]any {
	return map[Variable]any{
		Self: map[string]any{
			"apiVersion": "example.com/v1", "kind": "Thing",
			"metadata": map[string]any{
				"name": "one", "namespace": "team", "uid": "u-1", "generation": int64(3), "creationTimestamp": "2020-01-01T00:00:00Z",
				"labels": map[string]any{"example.com/tier": "gold"},
			},
			"spec": map[string]any{
				"port": int64(5), "enabled": true, "ratio": int64(2), "ratios": []any{int64(1), 2.5},
				"ratioByName": map[string]any{"a": int64(4)}, "namespace": "ns", "in": "inside", "my-dash": "dashed",
				"when": "2020-01-01T00:00:00Z", "data": "YWJj", "timeout": "1h", "tags": []any{"a", "b"},
				"free": map[string]any{"any": map[string]any{"x": int64(1)}, "known": "k"}, "bag": map[string]any{"x": int64(7)},
				"empty": map[string]any{"y": "z"}, "percent": "5%", "labels": map[string]any{"a.b/c": "v"},
				"items":    []any{map[string]any{"name": "x", "weight": int64(3)}},
				"template": map[string]any{"kind": "Pod", "spec": map[string]any{"z": int64(9)}, "metadata": map[string]any{"name": "p"}},
			},
			"status": map[string]any{"url": "https://h"},
		},
		Identifiers: map[string]string{"org": "acme", "my-id": "m"},
		Secrets:     map[string]string{"token": "hunter2"},
		Observed:    map[string]any{"id": int64(7), "nothing": nil, "list": []any{}, "text": "t", "big": 1e21, "huge": uint64(1 << 63)},
		Response: map[string]any{
			"status": int64(201), "headers": map[string]string{"location": "https://h/orgs/7/"}, "body": map[string]any{"ok": true},
		},
		Item:     map[string]any{"name": "one"},
		Endpoint: map[string]any{"name": "main", "labels": map[string]string{"zone": "a"}, "values": map[string]string{"team": "x"}},
		Desired:  map[string]any{"size": int64(1)},
		Changed:  map[string]any{"size": int64(2)},
	}
}

// compileErrors takes the joined errors of Compile apart.
func compileErrors(tb testing.TB, err error) []*CompileError {
	tb.Helper()
	var list []*CompileError
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		joined = errorList{err}
	}
	for _, one := range joined.Unwrap() {
		var problem *CompileError
		if !errors.As(one, &problem) {
			tb.Fatalf("%T is no CompileError: %v", one, one)
		}
		list = append(list, problem)
	}
	return list
}

type errorList []error

func (l errorList) Unwrap() []error { return l }

func evaluationError(tb testing.TB, err error) *EvaluationError {
	tb.Helper()
	var problem *EvaluationError
	if !errors.As(err, &problem) {
		tb.Fatalf("got %v, want an EvaluationError", err)
	}
	return problem
}

// obj writes an object as a list of keys and values.
func obj(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return m
}
