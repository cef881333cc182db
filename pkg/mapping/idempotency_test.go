package mapping

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

// idempotent declares the class with a key there; the window is a day where nothing else is said.
func idempotent(i v1alpha1.Idempotency) specChange {
	if i.Window == (metav1.Duration{}) {
		i.Window.Duration = 24 * time.Hour
	}
	return func(s *v1alpha1.RestMappingSpec) {
		s.Operations.Create.Safety, s.Operations.Create.Idempotency = v1alpha1.SafetyIdempotencyKey, &i
	}
}

func TestTheIdempotencyKeyGoesWhereTheMappingSays(t *testing.T) {
	t.Parallel()
	bodyFrom := func(source v1alpha1.Expression) specChange {
		return func(s *v1alpha1.RestMappingSpec) { s.Operations.Create.BodyExpression = source }
	}
	noBody := func(s *v1alpha1.RestMappingSpec) { s.Operations.Create.Body = v1alpha1.BodyNone }
	for name, tc := range map[string]struct {
		change specChange
		want   string
	}{
		"a header":                {all(noBody, idempotent(v1alpha1.Idempotency{Header: "X-Request-Key"})), "POST /owners/acme/widgets\nX-Request-Key: key-1"},
		"the header of that name": {all(noBody, idempotent(v1alpha1.Idempotency{Header: "Idempotency-Key"})), "POST /owners/acme/widgets\nIdempotency-Key: key-1"},
		"a query parameter":       {all(noBody, idempotent(v1alpha1.Idempotency{Query: "requestId"})), "POST /owners/acme/widgets?requestId=key-1"},
		"a field":                 {all(bodyFrom(`{'name': 'x'}`), idempotent(v1alpha1.Idempotency{Field: "request.key"})), "POST /owners/acme/widgets\napplication/json\n" + `{"name":"x","request":{"key":"key-1"}}`},
		"a field of a body that an expression leaves out": {all(bodyFrom("optional.none()"), idempotent(v1alpha1.Idempotency{Field: "key"})), "POST /owners/acme/widgets\napplication/json\n" + `{"key":"key-1"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := widgetPass(t, compiled(t, tc.change), widgetSelf)
			if _, err := s.CreateRequest(t.Context()); !errors.Is(err, errNoKey) {
				t.Errorf("without a key: %v", err)
			}
			s.SetIdempotencyKey("key-1")
			wantWire(t, tc.want, func() (rest.Request, error) { return s.CreateRequest(t.Context()) })
			for operation, request := range map[string]func() (rest.Request, error){
				"read":   func() (rest.Request, error) { return s.ReadRequest(t.Context()) },
				"update": func() (rest.Request, error) { return s.UpdateRequest(t.Context(), map[string]any{}) },
				"delete": func() (rest.Request, error) { return s.DeleteRequest(t.Context(), nil) },
			} {
				req, err := request()
				if err != nil {
					t.Fatal(err)
				}
				for _, p := range append(req.Headers, req.Query...) {
					if p.Value == "key-1" {
						t.Errorf("%s sends the key as %s", operation, p.Name)
					}
				}
			}
		})
	}
}

// The body of an expression may be the custom resource's own part, which others read.
func TestTheIdempotencyKeyLeavesTheCustomResourceAlone(t *testing.T) {
	t.Parallel()
	document := map[string]any{"a": map[string]any{"b": "c"}}
	changed := bodyPath{"a", "key"}.with(document, "k")
	if a, ok := document["a"].(map[string]any); !ok || len(a) != 1 {
		t.Errorf("the document was changed: %v", document)
	}
	if got, _ := (bodyPath{"a", "key"}).get(changed); got != "k" {
		t.Errorf("got %v", changed)
	}
}

func TestAnIdempotencyKeyForAnotherClassIsNotSent(t *testing.T) {
	t.Parallel()
	s := widgetPass(t, compiled(t, assignedID), widgetSelf)
	s.SetIdempotencyKey("key-1")
	req, err := s.CreateRequest(t.Context())
	if err != nil || len(req.Headers) > 0 || len(req.Query) > 0 {
		t.Errorf("got %+v, %v", req, err)
	}
}

func TestIdempotencyThatContradicts(t *testing.T) {
	t.Parallel()
	const field = "spec.operations.create.idempotency"
	with := func(name string) specChange {
		return func(s *v1alpha1.RestMappingSpec) {
			s.Operations.Create.Headers = []v1alpha1.Parameter{{Name: name, Value: "'x'"}}
			s.Operations.Create.Query = []v1alpha1.Parameter{{Name: name, Value: "'x'"}}
		}
	}
	window := func(d time.Duration) v1alpha1.Idempotency {
		return v1alpha1.Idempotency{Header: "Idempotency-Key", Window: metav1.Duration{Duration: d}}
	}
	otherClass := func(s *v1alpha1.RestMappingSpec) { s.Operations.Create.Safety = v1alpha1.SafetyNone }
	raw := func(s *v1alpha1.RestMappingSpec) {
		s.Operations.Create.Encoding, s.Operations.Create.ContentType, s.Operations.Create.BodyExpression = v1alpha1.EncodingRaw, "text/plain", "'x'"
	}
	sized := func(s *v1alpha1.RestMappingSpec) { s.Fields = []v1alpha1.Field{{To: "size.of", Value: "1"}} }
	for name, tc := range map[string]struct {
		change      specChange
		field, says string
	}{
		"the class without it":        {declared(v1alpha1.SafetyIdempotencyKey), "spec.operations.create.safety", "needs operations.create.idempotency"},
		"another class with it":       {all(idempotent(v1alpha1.Idempotency{Header: "K"}), otherClass), field, "goes with safety IdempotencyKey"},
		"nowhere":                     {idempotent(v1alpha1.Idempotency{}), field, "exactly one of"},
		"in two places":               {idempotent(v1alpha1.Idempotency{Header: "K", Query: "k"}), field, "exactly one of"},
		"a window that is too short":  {idempotent(window(5*time.Minute + 30*time.Second)), field + ".window", "declare another class"},
		"no header name":              {idempotent(v1alpha1.Idempotency{Header: "a b"}), field + ".header", "token"},
		"a header of the connection":  {idempotent(v1alpha1.Idempotency{Header: "Host"}), field + ".header", "belongs to the connection"},
		"a header that is sent twice": {all(with("x-key"), idempotent(v1alpha1.Idempotency{Header: "X-Key"})), field + ".header", "sent twice"},
		"a query that is sent twice":  {all(with("key"), idempotent(v1alpha1.Idempotency{Query: "key"})), field + ".query", "sent twice"},
		"a field that is mapped":      {all(sized, idempotent(v1alpha1.Idempotency{Field: "size"})), field + ".field", "is written by spec.fields["},
		"no path":                     {idempotent(v1alpha1.Idempotency{Field: "a..b"}), field + ".field", "a segment is empty"},
		"a field of no body":          {all(func(s *v1alpha1.RestMappingSpec) { s.Operations.Create.Body = v1alpha1.BodyNone }, idempotent(v1alpha1.Idempotency{Field: "key"})), field + ".field", "use header or query"},
		"a field of a raw body":       {all(raw, idempotent(v1alpha1.Idempotency{Field: "key"})), field + ".field", "use header or query"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantOneError(t, compileErrors(t, widgetTarget(t), tc.change), tc.field, tc.says)
		})
	}
}
