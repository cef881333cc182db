package mapping

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/api/v1alpha1"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	on := func(events ...v1alpha1.FieldEvent) []v1alpha1.FieldEvent { return events }
	fields := func(list ...v1alpha1.Field) specChange {
		return func(s *v1alpha1.RestMappingSpec) { s.Fields = list }
	}
	description := v1alpha1.Field{To: "description", From: "spec.description"}
	cases := map[string]struct {
		change                 specChange
		observed               string
		differences, immutable []string
	}{
		"as specified":                             {fields(description), `{"description":"first"}`, nil, nil},
		"changed outside":                          {fields(description), `{"description":"x"}`, []string{"description"}, nil},
		"removed outside":                          {fields(description), `{}`, []string{"description"}, nil},
		"what the server added":                    {fields(description), `{"description":"first","id":1}`, nil, nil},
		"null is not compared":                     {fields(v1alpha1.Field{To: "x", Value: "null"}), `{"x":1}`, nil, nil},
		"an absent optional is not compared":       {fields(v1alpha1.Field{To: "x", Value: "self.spec.?endpointRef"}), `{"x":1}`, nil, nil},
		"an absent field is not compared":          {fields(v1alpha1.Field{To: "x", From: "spec.endpointRef"}), `{"x":1}`, nil, nil},
		"writeOnly is not compared":                {fields(v1alpha1.Field{To: "x", Value: "secrets.password", WriteOnly: true}), `{"x":"****"}`, nil, nil},
		"Ignore is not compared":                   {fields(v1alpha1.Field{To: "x", Value: "'a'", Compare: v1alpha1.CompareIgnore}), `{"x":"b"}`, nil, nil},
		"on update only":                           {fields(v1alpha1.Field{To: "x", Value: "'a'", Operations: on(v1alpha1.OnUpdate)}), `{"x":"b"}`, []string{"x"}, nil},
		"on create only, and the same":             {fields(v1alpha1.Field{To: "x", Value: "'a'", Operations: on(v1alpha1.OnCreate)}), `{"x":"a"}`, nil, nil},
		"on create only, and different":            {fields(v1alpha1.Field{To: "x", Value: "'a'", Operations: on(v1alpha1.OnCreate)}), `{"x":"b"}`, nil, []string{"x"}},
		"on create only, and not shown":            {fields(v1alpha1.Field{To: "x", Value: "'a'", Operations: on(v1alpha1.OnCreate)}), `{}`, nil, nil},
		"on create only, and null":                 {fields(v1alpha1.Field{To: "x", Value: "'a'", Operations: on(v1alpha1.OnCreate)}), `{"x":null}`, nil, nil},
		"on create only, and empty":                {fields(v1alpha1.Field{To: "x", Value: "'a'", Operations: on(v1alpha1.OnCreate)}), `{"x":""}`, nil, []string{"x"}},
		"both events given":                        {fields(v1alpha1.Field{To: "x", Value: "'a'", Operations: on(v1alpha1.OnCreate, v1alpha1.OnUpdate)}), `{"x":"b"}`, []string{"x"}, nil},
		"read back elsewhere":                      {fields(v1alpha1.Field{To: "x", ObservedAt: "y.z", Value: "'a'"}), `{"x":"b","y":{"z":"a"}}`, nil, nil},
		"read back elsewhere, and different":       {fields(v1alpha1.Field{To: "x", ObservedAt: "y.z", Value: "'a'"}), `{"x":"a","y":{"z":"b"}}`, []string{"x"}, nil},
		"the path is shown as the author wrote it": {fields(v1alpha1.Field{To: `["a.b"].c`, Value: "'a'"}), `{}`, []string{`["a.b"].c`}, nil},
		"several, in the mapping's order": {
			fields(v1alpha1.Field{To: "z", Value: "1"}, v1alpha1.Field{To: "a", Value: "2"}, v1alpha1.Field{To: "m", Value: "3"}),
			`{"a":2}`,
			[]string{"z", "m"},
			nil,
		},
		"a set":                             {fields(v1alpha1.Field{To: "tags", From: "spec.tags", Compare: v1alpha1.CompareSet}), `{"tags":["a","b"]}`, nil, nil},
		"a list in another order":           {fields(v1alpha1.Field{To: "tags", From: "spec.tags"}), `{"tags":["a","b"]}`, []string{"tags"}, nil},
		"a number that comes back as text":  {fields(v1alpha1.Field{To: "size", From: "spec.size", Compare: v1alpha1.CompareNumber}), `{"size":"7"}`, nil, nil},
		"a value of identifiers":            {fields(v1alpha1.Field{To: "name", Value: "identifiers.widget"}), `{"name":"w1"}`, nil, nil},
		"no fields: anything is as it must": {fields(), `{"x":1}`, nil, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := widgetPass(t, compiled(t, tc.change), widgetSelf).Compare(t.Context(), object(t, tc.observed))
			noError(t, err)
			paths := func(list []Difference) (all []string) {
				for _, d := range list {
					all = append(all, d.Path)
				}
				return all
			}
			if diff := cmp.Diff(tc.differences, paths(got.Differences)); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tc.immutable, paths(got.Immutable)); diff != "" {
				t.Errorf("immutable (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCompareNeedsAnObject(t *testing.T) {
	t.Parallel()
	_, err := widgetPass(t, compiled(t), widgetSelf).Compare(t.Context(), "text")
	if none := (*NoObjectError)(nil); !errors.As(err, &none) {
		t.Errorf("error is %v", err)
	}
	without := compiled(t, func(s *v1alpha1.RestMappingSpec) { s.Fields = nil })
	if got, err := widgetPass(t, without, widgetSelf).Compare(t.Context(), "vm-12"); err != nil || got.Differences != nil {
		t.Errorf("without fields: %v, %v", got, err)
	}
}

func TestCompareDoesNotNeedTheSecret(t *testing.T) {
	t.Parallel()
	p := compiled(t, field(v1alpha1.Field{To: "password", Value: "secrets.password", WriteOnly: true}))
	s := p.NewPass(Inputs{Self: self(t, widgetSelf)})
	_, err := s.Compare(t.Context(), object(t, `{"description":"first","tags":["a","b"]}`))
	noError(t, err)
}

// TestNoErrorHoldsASecret drives a secret into every place where something can go wrong and reads what is said.
func TestNoErrorHoldsASecret(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t\nhunter2"
	body := func(x v1alpha1.Expression) specChange {
		return func(s *v1alpha1.RestMappingSpec) { s.Operations.Create.BodyExpression = x }
	}
	cases := map[string]specChange{
		"a header with a line break": header("X"),
		"a key that is not there":    body("{'a': 1}[secrets.password]"),
		"a list in a header": func(s *v1alpha1.RestMappingSpec) {
			s.Operations.Create.Headers = parameters("X", "[[secrets.password]]")
		},
		"an object in the query": func(s *v1alpha1.RestMappingSpec) {
			s.Operations.Create.Query = parameters("q", "{'k': secrets.password}")
		},
		"text that is no number":      body("int(secrets.password)"),
		"text that is no JSON":        body("parseJSON(secrets.password)"),
		"text that is no expression":  body("'x'.matches(secrets.password + '(')"),
		"a wrong format":              body("(secrets.password + '%d').format(['x'])"),
		"text that is no time":        body("timestamp(secrets.password)"),
		"text that is no base64":      body("base64.decode(secrets.password)"),
		"an unknown key of an object": body("dyn({'a': {}}).a[secrets.password].b"),
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := compiled(t, change, func(s *v1alpha1.RestMappingSpec) {
				if headers := s.Operations.Create.Headers; len(headers) == 1 && headers[0].Value == "'x'" {
					headers[0].Value = "secrets.password"
				}
			})
			s := p.NewPass(Inputs{Self: self(t, widgetSelf), Secrets: map[string]string{"password": secret}})
			s.SetIdentifiers(map[string]string{"owner": "a", "widget": "b"})
			req, err := s.CreateRequest(t.Context())
			if err == nil {
				t.Fatalf("nothing went wrong: %s", req.Body)
			}
			for _, part := range []string{"s3cr3t", "hunter2"} {
				if strings.Contains(err.Error(), part) {
					t.Errorf("the error shows the secret: %v", err)
				}
			}
		})
	}
}
