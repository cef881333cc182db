package mapping

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/api/v1alpha1"
)

func TestCompileGivesAllErrorsAtOnce(t *testing.T) {
	t.Parallel()
	got := compileErrors(t, widgetTarget(t), func(s *v1alpha1.RestMappingSpec) {
		s.Identifiers[0].Value = "self.spec.a + self.spec.b"
		s.Operations.Read.Path = "/{x}/{y}"
		s.Fields[1].From = "spec.none"
		s.Ready = &v1alpha1.ReadyRule{Expression: "1 +"}
	})
	var fields []string
	for _, one := range got {
		at, _, _ := strings.Cut(one, " ")
		fields = append(fields, strings.TrimSuffix(at, ":"))
	}
	want := []string{
		"spec.identifiers[0].value", "spec.identifiers[0].value",
		"spec.operations.read.path", "spec.operations.read.path", "spec.fields[1].from", "spec.ready.expression",
	}
	if diff := cmp.Diff(want, fields); diff != "" {
		t.Errorf("errors (-want +got):\n%s\n%s", diff, strings.Join(got, "\n"))
	}
}

func TestInvalidErrorIsShort(t *testing.T) {
	t.Parallel()
	e := &InvalidError{}
	for range 5 {
		e.Errors = append(e.Errors, v1alpha1.ExpressionError{Field: "spec.x", Line: 1, Column: 2, Message: "wrong"})
	}
	text := e.Error()
	if strings.Count(text, "spec.x (line 1, column 2): wrong") != maxErrorsInText || !strings.Contains(text, "5 error(s)") {
		t.Errorf("text is %q", text)
	}
}

func TestCompileForAClusterScopedKind(t *testing.T) {
	t.Parallel()
	target := widgetTarget(t)
	target.Namespaced = false
	got := compileErrors(t, target)
	if len(got) != 2 || !strings.Contains(got[0], "spec.endpoint.kind") || !strings.Contains(got[1], "spec.secrets") {
		t.Errorf("errors are %q", got)
	}
	got = compileErrors(t, target, func(s *v1alpha1.RestMappingSpec) {
		s.Endpoint.Kind, s.Secrets = v1alpha1.KindClusterRestEndpoint, nil
	})
	if len(got) != 0 {
		t.Errorf("errors are %q", got)
	}
}

func TestCompileAccepts(t *testing.T) {
	t.Parallel()
	cases := map[string]specChange{
		"an identifier that no path uses": func(s *v1alpha1.RestMappingSpec) {
			s.Identifiers = append(s.Identifiers, v1alpha1.Identifier{Name: "extra", Value: "endpoint.values['org']"})
		},
		"a from below preserved fields":     field(v1alpha1.Field{To: "x", From: "spec.free.any.thing"}),
		"a from below additional fields":    field(v1alpha1.Field{To: "x", From: `spec.labels["a.b/c"]`}),
		"a from in metadata":                field(v1alpha1.Field{To: "x", From: `metadata.labels["app.io/x"]`}),
		"the kind as a value":               field(v1alpha1.Field{To: "x", From: "kind"}),
		"a projection into an open object":  projection("open.any.thing"),
		"a projection into a nested object": projection("remote.state"),
		"a secret in a writeOnly field":     field(v1alpha1.Field{To: "password", Value: "secrets.password", WriteOnly: true}),
		"the CR's own credential in a header": func(s *v1alpha1.RestMappingSpec) {
			s.Operations.Read.Headers = []v1alpha1.Parameter{{Name: "Authorization", Value: "'Bearer ' + secrets.password"}}
		},
		"an assigned identifier in a field of update": func(s *v1alpha1.RestMappingSpec) {
			assignedID(s)
			field(v1alpha1.Field{To: "id", Value: "identifiers.widget", Operations: []v1alpha1.FieldEvent{v1alpha1.OnUpdate}})(s)
		},
		"an assigned identifier in a field that create does not send": func(s *v1alpha1.RestMappingSpec) {
			assignedID(s)
			s.Operations.Create.Body = v1alpha1.BodyNone
			field(v1alpha1.Field{To: "id", Value: "identifiers.widget"})(s)
		},
		"a merge patch's own media type": func(s *v1alpha1.RestMappingSpec) {
			s.Operations.Update.ContentType = "application/merge-patch+json"
		},
		"no update and no delete": func(s *v1alpha1.RestMappingSpec) { s.Operations.Update, s.Operations.Delete = nil, nil },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := compileErrors(t, widgetTarget(t), change); len(got) != 0 {
				t.Errorf("errors are %q", got)
			}
		})
	}
}

func TestCompileWithoutAnySchema(t *testing.T) {
	t.Parallel()
	m := widgets(t, field(v1alpha1.Field{To: "x", From: "spec.whatever"}), projection("whatever"))
	p, err := Compile(m, TargetSchema{Namespaced: true})
	noError(t, err)
	if p.StatusHas("lastError") {
		t.Error("a schema that is not there has no fields")
	}
}
