package mapping

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/celrules"
	"github.com/restmapping/operator/pkg/rest"
)

func identifier(value v1alpha1.Expression) specChange {
	return func(s *v1alpha1.RestMappingSpec) { s.Identifiers[1].Value = value }
}

func TestIdentifiers(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		value v1alpha1.Expression
		want  string
	}{
		"text":                          {"self.metadata.name", "w1"},
		"a number is text":              {"self.spec.size", "7"},
		"a large number has no decimal": {"5350200.0", "5350200"},
		"from the endpoint":             {"endpoint.values['org'] + '/' + endpoint.name", "acme/main"},
		"a label of the endpoint":       {"endpoint.labels['zone']", "eu"},
		"an optional that is there":     {"self.spec.?owner", "acme"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := widgetPass(t, compiled(t, identifier(tc.value)), widgetSelf).Identifiers(t.Context())
			noError(t, err)
			if diff := cmp.Diff(map[string]string{"owner": "acme", "widget": tc.want}, got); diff != "" {
				t.Errorf("identifiers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestIdentifiersThatCannotBe(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		value v1alpha1.Expression
		says  string
	}{
		"empty text":        {"''", "is empty"},
		"a dot":             {"'.'", ". or .."},
		"two dots":          {"'..'", ". or .."},
		"an absent field":   {"self.spec.endpointRef", "is not there"},
		"an empty optional": {"self.spec.?endpointRef", "has no value"},
		"an object":         {"dyn(self.spec)", "must give"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := widgetPass(t, compiled(t, identifier(tc.value)), widgetSelf).Identifiers(t.Context())
			wantError(t, err, "spec.identifiers[1].value", tc.says)
		})
	}
	s := widgetPass(t, compiled(t, identifier("''"), func(s *v1alpha1.RestMappingSpec) { s.Identifiers[0].Value = "'..'" }), widgetSelf)
	_, err := s.Identifiers(t.Context())
	wantError(t, err, "spec.identifiers[0].value", "spec.identifiers[1].value")
}

func TestMissingFieldsAreSaidWithTheirRemedy(t *testing.T) {
	t.Parallel()
	_, err := widgetPass(t, compiled(t, identifier("self.spec.endpointRef")), widgetSelf).Identifiers(t.Context())
	expression := (*ExpressionError)(nil)
	if !errors.As(err, &expression) || !expression.Missing || expression.Line != 1 || expression.Column == 0 {
		t.Fatalf("error is %#v", err)
	}
	wantError(t, err, "self.spec.endpointRef is not there", ".?name")
}

func TestAPassEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := widgetPass(t, compiled(t), widgetSelf).Identifiers(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
}

func TestAPassHasOneBudget(t *testing.T) {
	t.Parallel()
	p := compiled(t, func(s *v1alpha1.RestMappingSpec) {
		s.Rules = []v1alpha1.Rule{{Expression: "lists.range(20).all(i, i >= 0)", Message: "m"}}
	})
	s := widgetPass(t, p, widgetSelf)
	if s.budget.Left() != celrules.NewBudget(0).Left() {
		t.Error("a new pass has the whole budget")
	}
	s.budget = celrules.NewBudget(1000)
	for range 1000 {
		if _, err := s.Rules(t.Context()); err != nil {
			wantError(t, err, "spec.rules[0].expression", "cost limit")
			_, err = s.ReadRequest(t.Context())
			noError(t, err) // it needs no expression, and so no budget
			return
		}
	}
	t.Error("the budget of a pass has no end")
}

func TestSetIdentifiersCopies(t *testing.T) {
	t.Parallel()
	s := widgetPass(t, compiled(t), widgetSelf)
	ids := map[string]string{"owner": "a", "widget": "b"}
	s.SetIdentifiers(ids)
	ids["widget"] = "changed"
	req, err := s.ReadRequest(t.Context())
	noError(t, err)
	if req.Path != "/owners/a/widgets/b" {
		t.Errorf("path %s", req.Path)
	}
}

func TestNewPassChangesNothingItWasGiven(t *testing.T) {
	t.Parallel()
	p := compiled(t, field(v1alpha1.Field{To: "config.url", From: "spec.config"}), func(s *v1alpha1.RestMappingSpec) {
		s.Operations.Update.Body = v1alpha1.BodyOverlay
	})
	given := self(t, widgetSelf)
	given["spec"].(map[string]any)["config"] = map[string]any{"url": "u"}
	observed := object(t, `{"config":{"url":{"url":"old","more":1}},"id":5}`)
	s := p.NewPass(Inputs{Self: given})
	s.SetIdentifiers(map[string]string{"owner": "a", "widget": "b"})
	_, err := s.UpdateRequest(t.Context(), observed)
	noError(t, err)
	if diff := cmp.Diff(object(t, `{"config":{"url":{"url":"old","more":1}},"id":5}`), observed); diff != "" {
		t.Errorf("observed changed (-want +got):\n%s", diff)
	}
	want := self(t, widgetSelf)
	want["spec"].(map[string]any)["config"] = map[string]any{"url": "u"}
	if diff := cmp.Diff(want, given); diff != "" {
		t.Errorf("self changed (-want +got):\n%s", diff)
	}
}

func TestEndpointName(t *testing.T) {
	t.Parallel()
	by := func(x v1alpha1.Expression) specChange {
		return func(s *v1alpha1.RestMappingSpec) { s.Endpoint.Name, s.Endpoint.NameExpression = "", x }
	}
	got, err := compiled(t).EndpointName(t.Context(), self(t, widgetSelf))
	noError(t, err)
	if got != "main" {
		t.Errorf("got %s", got)
	}
	got, err = compiled(t, by("'srv-' + self.spec.owner")).EndpointName(t.Context(), self(t, widgetSelf))
	noError(t, err)
	if got != "srv-acme" {
		t.Errorf("got %s", got)
	}
	wrong := map[string]struct {
		x    v1alpha1.Expression
		says string
	}{
		"empty":              {"''", "gives no name"},
		"an absent optional": {"self.spec.?endpointRef", "gives no name"},
		"an absent field":    {"self.spec.endpointRef", "is not there"},
		"no name":            {"'../secrets'", "no valid name"},
	}
	for name, tc := range wrong {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := compiled(t, by(tc.x)).EndpointName(t.Context(), self(t, widgetSelf))
			wantError(t, err, "spec.endpoint.nameExpression", tc.says)
		})
	}
}

func TestSecretRefs(t *testing.T) {
	t.Parallel()
	required := func(s *v1alpha1.RestMappingSpec) { s.Secrets[0].Optional = false }
	cases := map[string]struct {
		change specChange
		ref    string
		want   []SecretRef
		says   string
	}{
		"a reference": {
			required, `{"name":"creds","key":"password"}`,
			[]SecretRef{{Input: "password", Name: "creds", Key: "password"}},
			"",
		},
		"an optional reference that is there": {
			nil, `{"name":"creds","key":"password"}`,
			[]SecretRef{{Input: "password", Name: "creds", Key: "password", Optional: true}},
			"",
		},
		"an optional reference that is not":    {nil, ``, nil, ""},
		"a required reference that is not":     {required, ``, nil, "names no Secret"},
		"no key":                               {nil, `{"name":"creds"}`, nil, "both name and key"},
		"no name":                              {nil, `{"key":"k"}`, nil, "both name and key"},
		"a name that is a path":                {nil, `{"name":"../other","key":"k"}`, nil, "not a valid name"},
		"a key that is a path":                 {nil, `{"name":"creds","key":"../k"}`, nil, "not a valid key"},
		"another namespace":                    {nil, `{"name":"creds","key":"k","namespace":"kube-system"}`, nil, "own namespace"},
		"the own namespace changes nothing":    {required, `{"name":"c","key":"k","namespace":"team"}`, []SecretRef{{Input: "password", Name: "c", Key: "k"}}, ""},
		"an empty namespace means the own one": {required, `{"name":"c","key":"k","namespace":""}`, []SecretRef{{Input: "password", Name: "c", Key: "k"}}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given := self(t, widgetSelf)
			if tc.ref != "" {
				given["spec"].(map[string]any)["secretRef"] = object(t, tc.ref)
			}
			change := tc.change
			if change == nil {
				change = func(*v1alpha1.RestMappingSpec) {}
			}
			got, err := compiled(t, change).SecretRefs(t.Context(), given)
			if tc.says != "" {
				wantError(t, err, "spec.secrets[0].refExpression", tc.says)
			} else {
				noError(t, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("references (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOperationsThatAreNotDeclared(t *testing.T) {
	t.Parallel()
	s := widgetPass(t, compiled(t, listOnly, func(s *v1alpha1.RestMappingSpec) { s.Operations.Create = nil }), widgetSelf)
	requests := map[string]func() (rest.Request, error){
		"read":   func() (rest.Request, error) { return s.ReadRequest(t.Context()) },
		"create": func() (rest.Request, error) { return s.CreateRequest(t.Context()) },
		"update": func() (rest.Request, error) { return s.UpdateRequest(t.Context(), nil) },
		"delete": func() (rest.Request, error) { return s.DeleteRequest(t.Context(), nil) },
	}
	for name, build := range requests {
		_, err := build()
		wantError(t, err, "no "+name+" operation")
		if missing := (*NotDeclaredError)(nil); !errors.As(err, &missing) {
			t.Errorf("%s: error is %T", name, err)
		}
	}
	other := widgetPass(t, compiled(t), widgetSelf)
	_, err := other.ListRequest(t.Context(), Page{})
	wantError(t, err, "no list operation")
	_, _, err = other.ListPage(t.Context(), jsonResponse(t, 200, `[]`), Page{})
	wantError(t, err, "no list operation")
	_, _, err = s.Select(t.Context(), rest.Read, jsonResponse(t, 200, `{}`))
	wantError(t, err, "no read operation")
}
