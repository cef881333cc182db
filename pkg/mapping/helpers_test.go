package mapping

import (
	"errors"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

const widgetSchema = `
type: object
properties:
  apiVersion: {type: string}
  kind: {type: string}
  metadata: {type: object}
  spec:
    type: object
    properties:
      owner: {type: string}
      description: {type: string}
      size: {type: integer}
      ratio: {type: number}
      tags: {type: array, items: {type: string}}
      config: {type: object, properties: {url: {type: string}, depth: {type: integer}}}
      labels: {type: object, additionalProperties: {type: string}}
      free: {type: object, x-kubernetes-preserve-unknown-fields: true}
      rules: {type: array, items: {type: object, properties: {name: {type: string}}}}
      endpointRef: {type: string}
      secretRef: {type: object, properties: {name: {type: string}, key: {type: string}, namespace: {type: string}}}
  status:
    type: object
    properties:
      observedGeneration: {type: integer}
      conditions:
        type: array
        items:
          type: object
          properties:
            type: {type: string}
            status: {type: string}
            reason: {type: string}
            message: {type: string}
            lastTransitionTime: {type: string, format: date-time}
            observedGeneration: {type: integer}
      identifiers: {type: object, additionalProperties: {type: string}}
      url: {type: string}
      count: {type: integer}
      open: {type: object, x-kubernetes-preserve-unknown-fields: true}
      remote: {type: object, properties: {state: {type: string}, nodes: {type: array, items: {type: object, properties: {port: {type: integer}}}}}}
`

const widgetMapping = `
metadata: {name: widgets, generation: 3}
spec:
  target: {group: example.com, version: v1, kind: Widget}
  endpoint: {kind: RestEndpoint, name: main}
  identifiers:
  - {name: owner, value: self.spec.owner}
  - {name: widget, value: self.metadata.name}
  secrets:
  - {name: password, refExpression: "self.spec.?secretRef", optional: true}
  operations:
    read: {path: "/owners/{owner}/widgets/{widget}"}
    create: {path: "/owners/{owner}/widgets"}
    update: {method: PATCH, path: "/owners/{owner}/widgets/{widget}"}
    delete: {path: "/owners/{owner}/widgets/{widget}"}
  fields:
  - {value: self.metadata.name, to: name, operations: [Create]}
  - {from: spec.description, to: description}
  - {from: spec.tags, to: tags, compare: Set}
`

// decode reads YAML into a value.
func decode[T any](t testing.TB, text string) *T {
	t.Helper()
	value := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), value); err != nil {
		t.Fatalf("YAML of the test: %v", err)
	}
	return value
}

func schemaOf(t testing.TB, text string) *apiextensionsv1.JSONSchemaProps {
	t.Helper()
	return decode[apiextensionsv1.JSONSchemaProps](t, text)
}

func widgetTarget(t testing.TB) TargetSchema {
	t.Helper()
	return TargetSchema{Namespaced: true, StatusSubresource: true, Schema: schemaOf(t, widgetSchema)}
}

// widgets gives the mapping of the tests after some changes to it.
func widgets(t testing.TB, changes ...func(*v1alpha1.RestMappingSpec)) *v1alpha1.RestMapping {
	t.Helper()
	m := decode[v1alpha1.RestMapping](t, widgetMapping)
	for _, change := range changes {
		change(&m.Spec)
	}
	return m
}

// compiled is widgets, compiled.
func compiled(t testing.TB, changes ...func(*v1alpha1.RestMappingSpec)) *Program {
	t.Helper()
	return mustCompile(t, widgets(t, changes...), widgetTarget(t))
}

func mustCompile(t testing.TB, m *v1alpha1.RestMapping, target TargetSchema) *Program {
	t.Helper()
	p, err := Compile(m, target)
	if invalid := (*InvalidError)(nil); errors.As(err, &invalid) {
		for _, one := range invalid.Errors {
			t.Errorf("%s", describe(one))
		}
	}
	if err != nil {
		t.Fatalf("Compile: %v", err)
	}
	return p
}

// object decodes JSON or YAML as the API server and httpapi do: whole numbers are int64.
func object(t testing.TB, text string) any {
	t.Helper()
	if value, err := decodeJSON([]byte(text)); err == nil {
		return value // as it is: YAML would make 1 of 1.0
	}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("YAML of the test: %v", err)
	}
	value, err := decodeJSON(data)
	if err != nil {
		t.Fatalf("JSON of the test: %v", err)
	}
	return value
}

func self(t testing.TB, text string) map[string]any {
	t.Helper()
	value, ok := object(t, text).(map[string]any)
	if !ok {
		t.Fatalf("not an object: %s", text)
	}
	return value
}

const widgetSelf = `
apiVersion: example.com/v1
kind: Widget
metadata: {name: w1, namespace: team, uid: 11-22, labels: {app: shop}}
spec: {owner: acme, description: first, size: 7, tags: [b, a]}
`

// widgetPass begins a pass over the test's custom resource, with its identifiers set.
func widgetPass(t testing.TB, p *Program, selfText string) *Pass {
	t.Helper()
	s := p.NewPass(Inputs{
		Self:     self(t, selfText),
		Endpoint: EndpointFacts{Name: "main", Labels: map[string]string{"zone": "eu"}, Values: map[string]string{"org": "acme"}},
		Secrets:  map[string]string{"password": "hunter2"},
	})
	s.SetIdentifiers(map[string]string{"owner": "acme", "widget": "w1"})
	return s
}

func jsonResponse(t testing.TB, status int, body string, headers ...string) *rest.Response {
	t.Helper()
	r := &rest.Response{Status: status, IsJSON: true, Body: object(t, body), Headers: map[string]string{"content-type": "application/json"}}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Headers[headers[i]] = headers[i+1]
	}
	return r
}

// wantError checks that an error says each of these things.
func wantError(t testing.TB, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want one with %q", parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}

func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

// places gives differences by their places alone.
func places(differences []Difference) []Difference {
	var out []Difference
	for _, d := range differences {
		out = append(out, Difference{Path: d.Path})
	}
	return out
}
