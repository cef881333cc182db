package mapping

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

func parameters(pairs ...string) []v1alpha1.Parameter {
	var list []v1alpha1.Parameter
	for i := 0; i+1 < len(pairs); i += 2 {
		list = append(list, v1alpha1.Parameter{Name: pairs[i], Value: v1alpha1.Expression(pairs[i+1])})
	}
	return list
}

func TestReadRequest(t *testing.T) {
	t.Parallel()
	p := compiled(t, func(s *v1alpha1.RestMappingSpec) {
		s.Operations.Read.Query = parameters(
			"z", "'last first'", "tag", "self.spec.tags", "none", "null", "absent", "self.spec.?endpointRef",
			"number", "self.spec.size", "double", "5350200.0", "flag", "true", "empty", "''", "emptyList", "[]", "mixed", "[1, null, 'x']",
		)
		s.Operations.Read.Headers = parameters("X-Owner", "identifiers.owner", "X-Many", "['a', 'b']", "X-Key", "secrets.password")
		s.Operations.Read.Accept = "application/vnd.github+json"
	})
	got, err := widgetPass(t, p, widgetSelf).ReadRequest(t.Context())
	noError(t, err)
	want := rest.Request{
		Operation: rest.Read, Method: "GET", Route: "/owners/{owner}/widgets/{widget}", Path: "/owners/acme/widgets/w1",
		Query: []rest.Parameter{
			{Name: "z", Value: "last first"},
			{Name: "tag", Value: "b"},
			{Name: "tag", Value: "a"},
			{Name: "number", Value: "7"},
			{Name: "double", Value: "5350200"},
			{Name: "flag", Value: "true"},
			{Name: "empty", Value: ""},
			{Name: "mixed", Value: "1"},
			{Name: "mixed", Value: "x"},
		},
		Headers: []rest.Parameter{
			{Name: "X-Owner", Value: "acme"}, {Name: "X-Many", Value: "a"}, {Name: "X-Many", Value: "b"}, {Name: "X-Key", Value: "hunter2"},
		},
		Accept: "application/vnd.github+json",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestReadByPost(t *testing.T) {
	t.Parallel()
	p := compiled(t, func(s *v1alpha1.RestMappingSpec) {
		s.Operations.Read.Method, s.Operations.Read.BodyExpression = "POST", "{'filter': {'name': identifiers.widget}}"
	})
	got, err := widgetPass(t, p, widgetSelf).ReadRequest(t.Context())
	noError(t, err)
	if got.Method != http.MethodPost || string(got.Body) != `{"filter":{"name":"w1"}}` || got.ContentType != "application/json" || got.Accept != "application/json" {
		t.Errorf("request %+v with body %s", got, got.Body)
	}
}

func TestRequestsThatCannotBeBuilt(t *testing.T) {
	t.Parallel()
	query := func(x string) specChange {
		return func(s *v1alpha1.RestMappingSpec) { s.Operations.Read.Query = parameters("q", x) }
	}
	head := func(x string) specChange {
		return func(s *v1alpha1.RestMappingSpec) { s.Operations.Read.Headers = parameters("X-Q", x) }
	}
	cases := map[string]struct {
		change specChange
		says   []string
	}{
		"an object in the query":       {query("{'a': 1}"), []string{"spec.operations.read.query[0].value", "an object"}},
		"a list of lists in the query": {query("[['a']]"), []string{"spec.operations.read.query[0].value", "a list"}},
		"a line break in a header":     {head("'a\\r\\nHost: evil'"), []string{"spec.operations.read.headers[0].value", "line break"}},
		"a line break in a list":       {head("['a', 'b\\n']"), []string{"spec.operations.read.headers[0].value", "line break"}},
		"a NUL in a header":            {head("'a\\u0000'"), []string{"spec.operations.read.headers[0].value", "control character"}},
		"a field that is not there":    {query("self.spec.endpointRef"), []string{"spec.operations.read.query[0].value", "is not there"}},
		"a body expression that divides": {func(s *v1alpha1.RestMappingSpec) {
			s.Operations.Read.Method, s.Operations.Read.BodyExpression = "POST", "1 / (self.spec.size - 7)"
		}, []string{"spec.operations.read.bodyExpression", "division"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := widgetPass(t, compiled(t, tc.change), widgetSelf).ReadRequest(t.Context())
			wantError(t, err, tc.says...)
		})
	}
	s := compiled(t).NewPass(Inputs{Self: self(t, widgetSelf)})
	_, err := s.ReadRequest(t.Context())
	wantError(t, err, "spec.operations.read.path", `"owner"`, "not known")
}

func TestUpdateAndDeleteSeeTheObservedObject(t *testing.T) {
	t.Parallel()
	p := compiled(t, func(s *v1alpha1.RestMappingSpec) {
		s.Operations.Update.Headers = parameters("If-Match", "observed.?etag")
		s.Operations.Delete.Query = parameters("sha", "observed.?sha")
		s.Operations.Delete.BodyExpression = "observed.?sha.optMap(s, {'sha': s})"
		s.Operations.Delete.Method, s.Operations.Delete.ContentType = "POST", "application/vnd.x+json"
	})
	s := widgetPass(t, p, widgetSelf)
	observed := object(t, `{"etag":"v7","sha":"abc","description":"first","tags":["a","b"]}`)
	got, err := s.UpdateRequest(t.Context(), observed)
	noError(t, err)
	if diff := cmp.Diff([]rest.Parameter{{Name: "If-Match", Value: "v7"}}, got.Headers); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	got, err = s.DeleteRequest(t.Context(), observed)
	noError(t, err)
	if string(got.Body) != `{"sha":"abc"}` || got.ContentType != "application/vnd.x+json" || len(got.Query) != 1 {
		t.Errorf("delete %+v with body %s", got, got.Body)
	}
	got, err = s.DeleteRequest(t.Context(), nil)
	noError(t, err)
	if got.Body != nil || got.ContentType != "" || got.Query != nil {
		t.Errorf("delete without an observed object: %+v", got)
	}
}
