package mapping

import (
	"errors"
	"net/http"
	"testing"

	"github.com/restmapping/operator/api/v1alpha1"
)

// bodySelf has one value of each kind.
const bodySelf = `
metadata: {name: w1, namespace: team, uid: 11-22}
spec: {owner: acme, description: first, size: 9007199254740993, ratio: 0.5, tags: [b, a], config: {url: u, depth: 2}, secretRef: {name: n, key: k}}
`

func bodyFields(s *v1alpha1.RestMappingSpec) {
	s.Fields = []v1alpha1.Field{
		{To: "name", From: "metadata.name", Operations: []v1alpha1.FieldEvent{v1alpha1.OnCreate}},
		{To: "rev", Value: "'r1'", Operations: []v1alpha1.FieldEvent{v1alpha1.OnUpdate}},
		{To: "description", From: "spec.description"},
		{To: "nested.size", From: "spec.size"},
		{To: `nested["a.b"]`, From: "spec.ratio"},
		{To: "tags", From: "spec.tags", Compare: v1alpha1.CompareSet},
		{To: "config", From: "spec.config"},
		{To: "noise", Value: "'sent'", Compare: v1alpha1.CompareIgnore},
		{To: "password", Value: "secrets.?password", WriteOnly: true},
		{To: "absent", From: "spec.endpointRef"},
		{To: "none", Value: "null"},
	}
}

func TestBodies(t *testing.T) {
	t.Parallel()
	const observed = `{"id":5,"rev":"r1","description":"old","nested":{"size":9007199254740992,"a.b":0.5,"server":true},"tags":["a","b","a"],
		"config":{"url":"u","depth":1,"added":{"x":1}},"noise":"changed outside","absent":"stays"}`
	update := func(mode v1alpha1.BodyMode) specChange {
		return func(s *v1alpha1.RestMappingSpec) { s.Operations.Update.Body = mode }
	}
	bodyFrom := func(x v1alpha1.Expression) specChange {
		return func(s *v1alpha1.RestMappingSpec) { s.Operations.Update.BodyExpression = x }
	}
	cases := map[string]struct {
		change specChange
		want   string
	}{
		"Desired is the fields of update": {
			update(v1alpha1.BodyDesired),
			`{"config":{"depth":2,"url":"u"},"description":"first","nested":{"a.b":0.5,"size":9007199254740993},"noise":"sent","password":"hunter2","rev":"r1","tags":["b","a"]}`,
		},
		"Changed is what differs, with what nobody can see": {
			update(v1alpha1.BodyChanged),
			`{"config":{"depth":2},"description":"first","nested":{"size":9007199254740993},"password":"hunter2"}`,
		},
		"Overlay keeps what is not owned": {
			update(v1alpha1.BodyOverlay),
			`{"absent":"stays","config":{"added":{"x":1},"depth":2,"url":"u"},"description":"first","id":5,` +
				`"nested":{"a.b":0.5,"server":true,"size":9007199254740993},"noise":"sent","password":"hunter2","rev":"r1","tags":["b","a"]}`,
		},
		"None":              {update(v1alpha1.BodyNone), ``},
		"PATCH is Changed":  {update(""), `{"config":{"depth":2},"description":"first","nested":{"size":9007199254740993},"password":"hunter2"}`},
		"a list around it":  {bodyFrom("[changed]"), `[{"config":{"depth":2},"description":"first","nested":{"size":9007199254740993},"password":"hunter2"}]`},
		"with the revision": {bodyFrom("merge(omit(desired, ['config', 'nested', 'tags']), {'version': observed.id})"), `{"description":"first","noise":"sent","password":"hunter2","rev":"r1","version":5}`},
		"text":              {bodyFrom("'x'"), `"x"`},
		"null is no body":   {bodyFrom("null"), ``},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := widgetPass(t, compiled(t, bodyFields, tc.change), bodySelf)
			req, err := s.UpdateRequest(t.Context(), object(t, observed))
			noError(t, err)
			if string(req.Body) != tc.want {
				t.Errorf("got  %s\nwant %s", req.Body, tc.want)
			}
			if (req.Body == nil) != (req.ContentType == "") {
				t.Errorf("body and content type go together: %q", req.ContentType)
			}
		})
	}
}

func TestCreateBody(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change specChange
		want   string
	}{
		"the fields of create": {
			bodyFields,
			`{"config":{"depth":2,"url":"u"},"description":"first","name":"w1","nested":{"a.b":0.5,"size":9007199254740993},"noise":"sent","password":"hunter2","tags":["b","a"]}`,
		},
		"a body expression": {
			all(bodyFields, func(s *v1alpha1.RestMappingSpec) { s.Operations.Create.BodyExpression = "{'data': [desired.name]}" }),
			`{"data":["w1"]}`,
		},
		"no field, no body":           {func(s *v1alpha1.RestMappingSpec) { s.Fields = nil }, ``},
		"no field, but Desired asked": {func(s *v1alpha1.RestMappingSpec) { s.Fields, s.Operations.Create.Body = nil, v1alpha1.BodyDesired }, `{}`},
		"None":                        {all(bodyFields, func(s *v1alpha1.RestMappingSpec) { s.Operations.Create.Body = v1alpha1.BodyNone }), ``},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			req, err := widgetPass(t, compiled(t, tc.change), bodySelf).CreateRequest(t.Context())
			noError(t, err)
			if string(req.Body) != tc.want {
				t.Errorf("got  %s\nwant %s", req.Body, tc.want)
			}
		})
	}
}

func TestUpdateDefaultsToDesiredUnlessItIsAPatch(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]string{
		"":      `{"description":"first","tags":["b","a"]}`,
		"PUT":   `{"description":"first","tags":["b","a"]}`,
		"POST":  `{"description":"first","tags":["b","a"]}`,
		"PATCH": `{"description":"first"}`,
	} {
		p := compiled(t, func(s *v1alpha1.RestMappingSpec) { s.Operations.Update.Method = method })
		req, err := widgetPass(t, p, widgetSelf).UpdateRequest(t.Context(), object(t, `{"description":"x","tags":["a","b"]}`))
		noError(t, err)
		if string(req.Body) != want || (method == "" && req.Method != http.MethodPut) {
			t.Errorf("%s: got %s %s", method, req.Method, req.Body)
		}
	}
}

func TestChangedOfAWholeObject(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ desired, observed, want string }{
		"nothing observed":           {`{"url":"u"}`, `{}`, `{"config":{"url":"u"}}`},
		"null observed":              {`{"url":"u"}`, `{"config":null}`, `{"config":{"url":"u"}}`},
		"text observed":              {`{"url":"u"}`, `{"config":"x"}`, `{"config":{"url":"u"}}`},
		"one key differs":            {`{"url":"u","depth":2}`, `{"config":{"url":"v","depth":2,"more":1}}`, `{"config":{"url":"u"}}`},
		"a list is sent whole":       {`{"l":[1,2]}`, `{"config":{"l":[1,3],"k":0}}`, `{"config":{"l":[1,2]}}`},
		"a null takes a key away":    {`{"url":null}`, `{"config":{"url":"v"}}`, `{"config":{"url":null}}`},
		"below the key that differs": {`{"a":{"b":{"c":1,"d":2}}}`, `{"config":{"a":{"b":{"c":9,"d":2},"e":1}}}`, `{"config":{"a":{"b":{"c":1}}}}`},
		"nothing differs":            {`{"url":"u"}`, `{"config":{"url":"u","more":1}}`, `{}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := compiled(t, func(s *v1alpha1.RestMappingSpec) {
				s.Fields = []v1alpha1.Field{{To: "config", From: "spec.free"}}
			})
			given := self(t, widgetSelf)
			given["spec"].(map[string]any)["free"] = object(t, tc.desired)
			s := p.NewPass(Inputs{Self: given})
			s.SetIdentifiers(map[string]string{"owner": "a", "widget": "b"})
			req, err := s.UpdateRequest(t.Context(), object(t, tc.observed))
			noError(t, err)
			if string(req.Body) != tc.want {
				t.Errorf("got %s, want %s", req.Body, tc.want)
			}
		})
	}
}

func TestOverlayNeedsAnObject(t *testing.T) {
	t.Parallel()
	p := compiled(t, func(s *v1alpha1.RestMappingSpec) { s.Operations.Update.Body = v1alpha1.BodyOverlay })
	for _, observed := range []any{nil, "text", []any{}} {
		_, err := widgetPass(t, p, widgetSelf).UpdateRequest(t.Context(), observed)
		if none := (*NoObjectError)(nil); !errors.As(err, &none) || none.Got != kindOf(observed) {
			t.Errorf("%v: error is %v", observed, err)
		}
	}
}

func TestObservedAtIsReadAndToIsWritten(t *testing.T) {
	t.Parallel()
	p := compiled(t, func(s *v1alpha1.RestMappingSpec) {
		s.Fields = []v1alpha1.Field{{To: "value", From: "spec.description", ObservedAt: "current.value"}}
	})
	s := widgetPass(t, p, widgetSelf)
	same, different := object(t, `{"value":"x","current":{"value":"first"}}`), object(t, `{"value":"first","current":{"value":"x"}}`)
	for observed, want := range map[*any]string{&same: `{}`, &different: `{"value":"first"}`} {
		req, err := s.UpdateRequest(t.Context(), *observed)
		noError(t, err)
		if string(req.Body) != want {
			t.Errorf("got %s, want %s", req.Body, want)
		}
	}
}

func TestWriteOnlyValues(t *testing.T) {
	t.Parallel()
	got, err := widgetPass(t, compiled(t, bodyFields, field(v1alpha1.Field{To: "x.y", From: "spec.size", WriteOnly: true})), bodySelf).WriteOnlyValues(t.Context())
	noError(t, err)
	if string(got) != `{"password":"hunter2","x.y":9007199254740993}` {
		t.Errorf("got %s", got)
	}
	got, err = widgetPass(t, compiled(t), widgetSelf).WriteOnlyValues(t.Context())
	noError(t, err)
	if got != nil {
		t.Errorf("got %s without writeOnly fields", got)
	}
}
