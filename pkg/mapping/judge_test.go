package mapping

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

func TestRules(t *testing.T) {
	t.Parallel()
	p := compiled(t, func(s *v1alpha1.RestMappingSpec) {
		s.Rules = []v1alpha1.Rule{
			{Expression: "self.spec.size < 5", Message: "too large; use less than 5"},
			{Expression: "self.spec.owner == 'acme'", Message: "never shown"},
			{Expression: "self.spec.tags.size() > 5", Message: "too few tags", Reason: "FewTags"},
		}
	})
	got, err := widgetPass(t, p, widgetSelf).Rules(t.Context())
	noError(t, err)
	want := []Violation{{v1alpha1.ReasonRuleViolated, "too large; use less than 5"}, {"FewTags", "too few tags"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
	none, err := widgetPass(t, compiled(t), widgetSelf).Rules(t.Context())
	if err != nil || none != nil {
		t.Errorf("without rules: %v, %v", none, err)
	}
}

func TestRulesThatCannotBeJudged(t *testing.T) {
	t.Parallel()
	p := compiled(t, func(s *v1alpha1.RestMappingSpec) {
		s.Rules = []v1alpha1.Rule{
			{Expression: "self.spec.endpointRef == 'x'", Message: "a"},
			{Expression: "self.spec.?free.ok", Message: "b"},
			{Expression: "self.spec.size < 5", Message: "c"},
		}
	})
	got, err := widgetPass(t, p, widgetSelf).Rules(t.Context())
	wantError(t, err, "spec.rules[0].expression", "self.spec.endpointRef is not there", "spec.rules[1].expression", "true or false")
	if len(got) != 1 || got[0].Message != "c" {
		t.Errorf("the others are judged all the same: %v", got)
	}
}

func TestReady(t *testing.T) {
	t.Parallel()
	ready := func(x v1alpha1.Expression, message string) specChange {
		return func(s *v1alpha1.RestMappingSpec) { s.Ready = &v1alpha1.ReadyRule{Expression: x, Message: message} }
	}
	cases := map[string]struct {
		change  specChange
		ok      bool
		message string
	}{
		"without a rule":          {func(*v1alpha1.RestMappingSpec) {}, true, ""},
		"true":                    {ready("!observed.empty", "no commits"), true, ""},
		"false":                   {ready("observed.empty", "no commits"), false, "no commits"},
		"false without a message": {ready("observed.state == 'up'", ""), false, "the object exists and is not usable yet: observed.state == 'up' is false"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ok, message, err := widgetPass(t, compiled(t, tc.change), widgetSelf).Ready(t.Context(), object(t, `{"empty":false,"state":"down"}`))
			noError(t, err)
			if ok != tc.ok || message != tc.message {
				t.Errorf("got %v %q", ok, message)
			}
		})
	}
	ok, _, err := widgetPass(t, compiled(t, ready("observed.none == 1", "")), widgetSelf).Ready(t.Context(), object(t, `{}`))
	wantError(t, err, "spec.ready.expression", "observed.none is not there")
	if ok {
		t.Error("what cannot be judged is not ready")
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	p := compiled(t, func(s *v1alpha1.RestMappingSpec) {
		s.Status = []v1alpha1.StatusField{
			{To: "url", Value: "observed.html_url"},
			{To: "count", Value: "observed.?count"},
			{To: "remote.state", Value: "observed.state + '@' + endpoint.name"},
			{To: "remote.nodes", Value: "observed.nodes.map(n, {'port': n})"},
			{To: `open["a.b"].c`, Value: "identifiers.widget"},
		}
	})
	got, err := widgetPass(t, p, widgetSelf).Status(t.Context(), object(t, `{"html_url":"https://x","state":"up","nodes":[1,2]}`))
	noError(t, err)
	want := object(t, `{"url":"https://x","remote":{"state":"up@main","nodes":[{"port":1},{"port":2}]},"open":{"a.b":{"c":"w1"}}}`)
	if diff := cmp.Diff(want, any(got)); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestStatusThatDoesNotFitIsSaidAndTheRestIsShown(t *testing.T) {
	t.Parallel()
	p := compiled(t, func(s *v1alpha1.RestMappingSpec) {
		s.Status = []v1alpha1.StatusField{
			{To: "url", Value: "observed.id"},
			{To: "count", Value: "observed.count"},
			{To: "remote.nodes", Value: "observed.nodes"},
			{To: "remote.state", Value: "observed.none"},
		}
	})
	got, err := widgetPass(t, p, widgetSelf).Status(t.Context(), object(t, `{"id":5,"count":3,"nodes":[{"port":"x"}]}`))
	wantError(t, err,
		"spec.status[0].value: status.url: the CRD's schema wants the type string, and this is a number",
		"spec.status[2].value: status.remote.nodes: [0]: port: ", "observed.none is not there")
	if diff := cmp.Diff(map[string]any{"count": int64(3)}, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestOutcome(t *testing.T) {
	t.Parallel()
	rule := func(when v1alpha1.Expression, outcome v1alpha1.OutcomeName, on ...string) v1alpha1.OutcomeRule {
		return v1alpha1.OutcomeRule{When: when, Outcome: outcome, Operations: on, Message: "said by " + string(when)}
	}
	p := compiled(t, func(s *v1alpha1.RestMappingSpec) {
		s.Outcomes = []v1alpha1.OutcomeRule{
			rule("response.body == null", v1alpha1.OutcomeAbsent, "Read"),
			rule("response.body.gone", v1alpha1.OutcomeAbsent, "Read", "Delete"),
			rule("response.status == 422 && response.body.message.contains('exists')", v1alpha1.OutcomeConflict, "Create"),
			rule("response.status == 409 && self.spec.size > 5", v1alpha1.OutcomeWait),
			rule("response.status == 409", v1alpha1.OutcomeRejected),
			rule("response.headers['x-state'] == 'busy'", v1alpha1.OutcomeRetry),
		}
	})
	cases := map[string]struct {
		operation rest.Operation
		resp      *rest.Response
		want      v1alpha1.OutcomeName
	}{
		"200 null, declared absent":                  {rest.Read, jsonResponse(t, 200, `null`), v1alpha1.OutcomeAbsent},
		"for another operation it is not":            {rest.Create, jsonResponse(t, 200, `null`), ""},
		"a flag in the body":                         {rest.Delete, jsonResponse(t, 200, `{"gone":true}`), v1alpha1.OutcomeAbsent},
		"the flag is false":                          {rest.Delete, jsonResponse(t, 200, `{"gone":false}`), ""},
		"the flag is not there":                      {rest.Read, jsonResponse(t, 200, `{"id":1}`), ""},
		"a text instead of an object":                {rest.Create, &rest.Response{Status: 422, Body: "<html>"}, ""},
		"422 with words":                             {rest.Create, jsonResponse(t, 422, `{"message":"it exists"}`), v1alpha1.OutcomeConflict},
		"422 with other words":                       {rest.Create, jsonResponse(t, 422, `{"message":"bad"}`), ""},
		"the first that applies wins":                {rest.Update, jsonResponse(t, 409, `{}`), v1alpha1.OutcomeWait},
		"a header":                                   {rest.Update, jsonResponse(t, 200, `{}`, "x-state", "busy"), v1alpha1.OutcomeRetry},
		"a rule for all operations applies to lists": {rest.List, jsonResponse(t, 409, `[]`), v1alpha1.OutcomeWait},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, message, matched, err := widgetPass(t, p, widgetSelf).Outcome(t.Context(), tc.operation, tc.resp)
			noError(t, err)
			if got != tc.want || matched != (tc.want != "") || (message != "") != matched {
				t.Errorf("got %q %q %v", got, message, matched)
			}
		})
	}
}

func TestOutcomeThatCannotBeJudged(t *testing.T) {
	t.Parallel()
	p := compiled(t, func(s *v1alpha1.RestMappingSpec) {
		s.Outcomes = []v1alpha1.OutcomeRule{
			{When: "response.body.message.contains('x')", Outcome: v1alpha1.OutcomeAbsent},
			{When: "response.status == 409", Outcome: v1alpha1.OutcomeConflict},
		}
	})
	s := widgetPass(t, p, widgetSelf)
	got, _, matched, err := s.Outcome(t.Context(), rest.Create, jsonResponse(t, 409, `{"message":null}`))
	if err != nil || !matched || got != v1alpha1.OutcomeConflict {
		t.Errorf("a later rule still applies: %v %v %v", got, matched, err)
	}
	_, _, matched, err = s.Outcome(t.Context(), rest.Create, jsonResponse(t, 400, `{"message":null}`))
	wantError(t, err, "spec.outcomes[0].when")
	if matched {
		t.Error("nothing applied")
	}
}

// TestARuleForObjectsDoesNotApplyToOtherBodies: the rules after it, and the default table, count.
func TestARuleForObjectsDoesNotApplyToOtherBodies(t *testing.T) {
	t.Parallel()
	bodies := map[string]any{"text": "<html>", "none": nil, "a list": []any{"x"}, "a number": int64(3)}
	for _, when := range []v1alpha1.Expression{
		"response.body.message == 'x'", "has(response.body.message)", "response.body.?message.orValue('') == 'x'",
		"response.body['a-b'] == 'x'", "'message' in response.body && response.body.message == 'x'",
		"response.body.errors.exists(e, e.code == 1)", "response.body.exists(k, response.body[k] == 1)", "response.body[0].code == 1",
	} {
		p := compiled(t, func(s *v1alpha1.RestMappingSpec) {
			s.Outcomes = []v1alpha1.OutcomeRule{{When: when, Outcome: v1alpha1.OutcomeAbsent}}
		})
		for name, body := range bodies {
			_, _, matched, err := widgetPass(t, p, widgetSelf).Outcome(t.Context(), rest.Read, &rest.Response{Status: 500, Body: body})
			if matched || err != nil {
				t.Errorf("%s of %s: %v, %v", when, name, matched, err)
			}
		}
	}
}

func TestARuleThatIsWrongWhateverTheBodyIsSaysSo(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		when v1alpha1.Expression
		body any
	}{
		"it does not look at the body":   {"int(response.headers.x) == 1", "text"},
		"it fails for an object":         {"response.body.message.contains('x')", map[string]any{"message": int64(1)}},
		"it costs too much for any body": {"lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, a + b + c < size(response.body) + 10000)))", "text"},
	} {
		p := compiled(t, func(s *v1alpha1.RestMappingSpec) {
			s.Outcomes = []v1alpha1.OutcomeRule{{When: tc.when, Outcome: v1alpha1.OutcomeAbsent}}
		})
		resp := &rest.Response{Status: 500, Headers: map[string]string{"x": "y"}, Body: tc.body}
		if _, _, matched, err := widgetPass(t, p, widgetSelf).Outcome(t.Context(), rest.Read, resp); matched || err == nil {
			t.Errorf("%s: %v, %v", name, matched, err)
		}
	}
}
