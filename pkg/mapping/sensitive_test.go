package mapping

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

func sensitive(paths ...string) specChange {
	return func(s *v1alpha1.RestMappingSpec) { s.Sensitive = paths }
}

func status(to string, value v1alpha1.Expression) specChange {
	return func(s *v1alpha1.RestMappingSpec) {
		s.Status = append(s.Status, v1alpha1.StatusField{To: to, Value: value})
	}
}

func assignedBy(value v1alpha1.Expression) specChange {
	return func(s *v1alpha1.RestMappingSpec) {
		s.Identifiers = append(s.Identifiers, v1alpha1.Identifier{Name: "id", Assigned: value})
		s.Operations.Create.Safety = v1alpha1.SafetyNone
	}
}

func async(a v1alpha1.Async) specChange {
	return func(s *v1alpha1.RestMappingSpec) { s.Operations.Update.Async = &a }
}

func selects(value v1alpha1.Expression) specChange {
	return func(s *v1alpha1.RestMappingSpec) { s.Operations.Read.Select = value }
}

// Whatever people see is a compile error when it names a sensitive place, directly, by an index, optionally, or below it; also
// where the mark stands on the answer and the expression speaks of the object, and the other way round.
func TestCompileRefusesToShowWhatIsSensitive(t *testing.T) {
	t.Parallel()
	configMap := v1alpha1.Output{Kind: v1alpha1.OutputConfigMap, Data: data("a", "observed.token")}
	cases := map[string]struct {
		marks   []string
		changes []specChange
		field   string
	}{
		"a status field":              {[]string{"observed.token"}, []specChange{status("url", "observed.token")}, "spec.status[0].value"},
		"below it":                    {[]string{"observed.keys"}, []specChange{status("url", "observed.keys.first.text")}, "spec.status[0].value"},
		"optionally":                  {[]string{"observed.token"}, []specChange{status("url", "observed.?token.orValue('')")}, "spec.status[0].value"},
		"by an index":                 {[]string{"observed.token"}, []specChange{status("url", "observed['token']")}, "spec.status[0].value"},
		"how long it is":              {[]string{"observed.token"}, []specChange{status("count", "size(observed.token)")}, "spec.status[0].value"},
		"marked in the answer":        {[]string{"response.body.token"}, []specChange{status("url", "observed.token")}, "spec.status[0].value"},
		"in an envelope":              {[]string{"response.body.data.token"}, []specChange{selects("response.body.data"), status("url", "observed.token")}, "spec.status[0].value"},
		"an identifier":               {[]string{"response.body.token"}, []specChange{assignedBy("response.body.token")}, "spec.identifiers[2].assigned"},
		"an identifier, marked below": {[]string{"observed.token"}, []specChange{assignedBy("response.body.token")}, "spec.identifiers[2].assigned"},
		"a header":                    {[]string{"response.headers.X-Token"}, []specChange{assignedBy("response.headers['x-token']")}, "spec.identifiers[2].assigned"},
		"a ConfigMap":                 {[]string{"observed.token"}, []specChange{output(configMap)}, "spec.outputs[0].data[a]"},
		"the URL of an operation":     {[]string{"response.body.url"}, []specChange{async(v1alpha1.Async{Handle: "response.body.url"})}, "spec.operations.update.async.handle"},
		"the words of an operation":   {[]string{"operation.body.why"}, []specChange{async(v1alpha1.Async{Failed: "true", Message: "operation.body.why"})}, "spec.operations.update.async.message"},
		"one that is built anew":      {[]string{"response.body.token"}, []specChange{selects("{'a': response.body.token}")}, "spec.operations.read.select"},
		"one that is built of all":    {[]string{"response.body.token"}, []specChange{selects("merge(response.body, {})")}, "spec.operations.read.select"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantOneError(t, compileErrors(t, widgetTarget(t), append(tc.changes, sensitive(tc.marks...))...), tc.field, "sensitive")
		})
	}
}

func TestCompileRefusesMarksThatAreNone(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"token": "observed.", "observed": "observed.", "self.spec.token": "observed.", "response.status": "body", "observed..a": "empty",
		"response.headers": "headers", "response.token": "body",
	} {
		wantOneError(t, compileErrors(t, widgetTarget(t), sensitive(text)), "spec.sensitive[0]", says)
	}
}

// What is sensitive may be sent, and written into a Secret.
func TestWhatIsSensitiveCanBeUsed(t *testing.T) {
	t.Parallel()
	p := compiled(t, sensitive("observed.token"), output(v1alpha1.Output{Data: data("token", "observed.token")}), func(s *v1alpha1.RestMappingSpec) {
		s.Operations.Update.BodyExpression = "{'token': observed.token}"
	})
	pass := p.NewPass(Inputs{Self: self(t, widgetSelf)})
	pass.SetIdentifiers(map[string]string{"owner": "acme", "widget": "w1"})
	observed := object(t, `{"token":"t0p"}`)
	got, err := pass.ObservedData(t.Context(), p.Outputs()[0], observed)
	if err != nil || got["token"] != "t0p" {
		t.Errorf("the output is %v, %v", got, err)
	}
	req, err := pass.UpdateRequest(t.Context(), observed)
	if err != nil || string(req.Body) != `{"token":"t0p"}` {
		t.Errorf("the body is %s, %v", req.Body, err)
	}
}

// An expression that names no sensitive place does not get what is there either, whatever it does with the object.
func TestWhatIsSensitiveIsNotThere(t *testing.T) {
	t.Parallel()
	const canary = "canary-token"
	answer := `{"name":"w","token":"` + canary + `","keys":[{"id":1,"secret":"` + canary + `"}],"deep":{"a":"` + canary + `","b":2}}`
	p := compiled(t, sensitive("observed.token", "observed.keys.secret", "observed.deep.a"),
		status("open", "observed"), status("url", "toJSON(observed)"),
		output(v1alpha1.Output{Kind: v1alpha1.OutputConfigMap, Data: data("a", "toJSON(observed)")}),
		assignedBy("toJSON(response.body)"), async(v1alpha1.Async{Failed: "true", Message: "toJSON(operation.body)", Handle: "toJSON(response.body)"}))
	pass := p.NewPass(Inputs{Self: self(t, widgetSelf)})
	resp := &rest.Response{Status: 202, Body: object(t, answer), IsJSON: true}
	var shown strings.Builder
	note := func(what any, err error) {
		if err != nil {
			t.Error(err)
		}
		shown.WriteString(cmp.Diff(nil, what))
	}
	got, err := pass.Status(t.Context(), resp.Body)
	note(got, err)
	if diff := cmp.Diff(object(t, `{"name":"w","keys":[{"id":1}],"deep":{"b":2}}`), got["open"]); diff != "" {
		t.Errorf("what is left (-want +got):\n%s", diff)
	}
	written, err := pass.ObservedData(t.Context(), p.Outputs()[0], resp.Body)
	note(written, err)
	ids, err := pass.Assigned(t.Context(), resp)
	note(ids, err)
	ids, err = pass.AssignedFromItem(t.Context(), resp.Body)
	note(ids, err)
	note(pass.AssignedSoFar(t.Context(), resp), nil)
	_, handle, err := pass.Accepted(t.Context(), rest.Update, resp)
	note(handle, err)
	_, _, message, err := pass.Progress(t.Context(), rest.Update, resp)
	note(message, err)
	if strings.Contains(shown.String(), canary) {
		t.Errorf("the value is shown: %s", shown.String())
	}
	if !strings.Contains(cmp.Diff(nil, resp.Body), canary) {
		t.Error("the answer itself was changed")
	}
}

// Both the place in the answer and the one in the object give the value, so that messages can be cleaned of it.
func TestSensitiveValuesAreFound(t *testing.T) {
	t.Parallel()
	p := compiled(t, sensitive("observed.token", "observed.keys", "response.headers.x-new"))
	pass := p.NewPass(Inputs{Self: self(t, widgetSelf)})
	body := object(t, `{"token":"t0p","keys":[{"a":"s1"},{"b":{"c":["s2",70000]}},true,null],"name":"w"}`)
	want := []string{"t0p", "s1", "s2", "70000"}
	if diff := cmp.Diff(want, pass.SensitiveOf(body)); diff != "" {
		t.Errorf("of the object (-want +got):\n%s", diff)
	}
	resp := &rest.Response{Status: 200, Body: body, IsJSON: true, Headers: map[string]string{"x-new": "h1"}}
	if diff := cmp.Diff(append([]string{"h1"}, want...), pass.SensitiveValues(resp)); diff != "" {
		t.Errorf("of the answer (-want +got):\n%s", diff)
	}
	if got := pass.SensitiveValues(nil); got != nil {
		t.Errorf("of no answer: %v", got)
	}
}

func TestASensitiveDifferenceIsNotDescribed(t *testing.T) {
	t.Parallel()
	for _, mark := range []string{"observed.config.url", "observed.config", "response.body.config.url"} {
		p := compiled(t, sensitive(mark), field(v1alpha1.Field{From: "spec.config", To: "config"}))
		pass := p.NewPass(Inputs{Self: self(t, strings.Replace(widgetSelf, "owner: acme,", "owner: acme, config: {url: wanted-url},", 1))})
		got, err := pass.Compare(t.Context(), object(t, `{"description":"first","tags":["a","b"],"config":{"url":"found-url"}}`))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]Difference{{Path: "config"}}, got.Differences); diff != "" {
			t.Errorf("%s: differences (-want +got):\n%s", mark, diff)
		}
	}
}
