package mapping

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

func selecting(x v1alpha1.Expression) specChange {
	return func(s *v1alpha1.RestMappingSpec) {
		s.Operations.Read.Select, s.Operations.Create.Select, s.Operations.Update.Select = x, x, x
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change    specChange
		operation rest.Operation
		body      string
		want      any
		present   bool
	}{
		"a read's body is the object":               {nil, rest.Read, `{"id":1}`, map[string]any{"id": int64(1)}, true},
		"a create's body is not relied on":          {nil, rest.Create, `{"id":1}`, nil, false},
		"an update's body is not relied on":         {nil, rest.Update, `{"id":1}`, nil, false},
		"an envelope":                               {selecting("response.body.data"), rest.Read, `{"data":{"id":1}}`, map[string]any{"id": int64(1)}, true},
		"an envelope of a create":                   {selecting("response.body.data"), rest.Create, `{"data":{"id":1}}`, map[string]any{"id": int64(1)}, true},
		"a key that depends on the identifier":      {selecting("response.body[identifiers.widget].settings"), rest.Read, `{"w1":{"settings":{"n":"1"}}}`, map[string]any{"n": "1"}, true},
		"an element that fits":                      {selecting("response.body.sets.filter(x, x.name == self.metadata.name)[?0]"), rest.Read, `{"sets":[{"name":"w0"},{"name":"w1","v":2}]}`, map[string]any{"name": "w1", "v": int64(2)}, true},
		"no element that fits":                      {selecting("response.body.sets.filter(x, x.name == self.metadata.name)[?0]"), rest.Read, `{"sets":[]}`, nil, false},
		"null where the mapping says":               {selecting("response.body.data"), rest.Read, `{"data":null}`, nil, false},
		"something else, if the mapping says so":    {selecting("response.body.name"), rest.Read, `{"name":"vm-12"}`, "vm-12", true},
		"a list made into an object by the mapping": {selecting("{'items': response.body}"), rest.Read, `[1]`, map[string]any{"items": []any{int64(1)}}, true},
		"from the status":                           {selecting("{'status': response.status}"), rest.Read, `null`, map[string]any{"status": int64(200)}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			change := tc.change
			if change == nil {
				change = func(*v1alpha1.RestMappingSpec) {}
			}
			got, present, err := widgetPass(t, compiled(t, change), widgetSelf).Select(t.Context(), tc.operation, jsonResponse(t, 200, tc.body))
			noError(t, err)
			if diff := cmp.Diff(tc.want, got); diff != "" || present != tc.present {
				t.Errorf("present %v (-want +got):\n%s", present, diff)
			}
		})
	}
}

func TestSelectWithoutAnObject(t *testing.T) {
	t.Parallel()
	text := func(mediaType, body string) *rest.Response {
		r := &rest.Response{Status: 200, Headers: map[string]string{"content-type": mediaType}}
		if body != "" {
			r.Body = body
		}
		return r
	}
	cases := map[string]struct {
		resp *rest.Response
		want string
	}{
		"null":                   {jsonResponse(t, 200, `null`), "the response holds null where an object"},
		"a list":                 {jsonResponse(t, 200, `[{"secret":1}]`), "holds a list"},
		"text in JSON":           {jsonResponse(t, 200, `"vm-12"`), "holds text"},
		"a login page":           {text("text/html; charset=utf-8", "<html>private"), "holds text/html text"},
		"text of unknown type":   {text("", "private"), "holds text that is not JSON"},
		"nothing":                {text("application/json", ""), "holds no body"},
		"a very long media type": {text(strings.Repeat("x", 500), "private"), "xxx... text"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, present, err := widgetPass(t, compiled(t), widgetSelf).Select(t.Context(), rest.Read, tc.resp)
			wantError(t, err, tc.want, "spec.operations.read.select", "spec.outcomes")
			if none := (*NoObjectError)(nil); !errors.As(err, &none) || present {
				t.Errorf("error is %T, present %v", err, present)
			}
			if strings.Contains(err.Error(), "private") || strings.Contains(err.Error(), "vm-12") || strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows the content: %v", err)
			}
		})
	}
}

func TestSelectThatFailsIsAnErrorAndNotAbsence(t *testing.T) {
	t.Parallel()
	_, present, err := widgetPass(t, compiled(t, selecting("response.body.data")), widgetSelf).Select(t.Context(), rest.Read, jsonResponse(t, 200, `{"error":"x"}`))
	wantError(t, err, "spec.operations.read.select", "response.body.data is not there")
	if present {
		t.Error("present")
	}
}

func assigned(x v1alpha1.Expression) specChange {
	return func(s *v1alpha1.RestMappingSpec) {
		s.Identifiers[1] = v1alpha1.Identifier{Name: "widget", Assigned: x}
	}
}

func TestAssigned(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		from v1alpha1.Expression
		resp *rest.Response
		want string
	}{
		"from the body":               {"response.body.id", jsonResponse(t, 201, `{"id":"a-1"}`), "a-1"},
		"a number is text":            {"response.body.id", jsonResponse(t, 201, `{"id":9007199254740993}`), "9007199254740993"},
		"the body itself":             {"response.body", jsonResponse(t, 201, `"vm-12"`), "vm-12"},
		"from Location":               {"lastSegment(response.headers.location)", jsonResponse(t, 201, `null`, "location", "https://h/admin/clients/c%2F1?x=1"), "c/1"},
		"from a relative Location":    {"lastSegment(response.headers.location)", jsonResponse(t, 201, `null`, "location", "/clients/c1/"), "c1"},
		"from a header with a dash":   {"response.headers['x-id']", jsonResponse(t, 201, `null`, "x-id", "7"), "7"},
		"header if there is one":      {"has(response.headers.location) ? lastSegment(response.headers.location) : response.body.id", jsonResponse(t, 200, `{"id":"b"}`), "b"},
		"a double from the server":    {"response.body.id", jsonResponse(t, 201, `{"id":5350200.0}`), "5350200"},
		"a name with an odd sign":     {"response.body.id", jsonResponse(t, 201, `{"id":"a/b c"}`), "a/b c"},
		"depending on the status":     {"response.status == 201 ? 'new' : 'old'", jsonResponse(t, 201, `{}`), "new"},
		"an identifier that is false": {"response.body.id", jsonResponse(t, 201, `{"id":false}`), "false"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := widgetPass(t, compiled(t, assigned(tc.from)), widgetSelf).Assigned(t.Context(), tc.resp)
			noError(t, err)
			if diff := cmp.Diff(map[string]string{"widget": tc.want}, got); diff != "" {
				t.Errorf("identifiers (-want +got):\n%s", diff)
			}
		})
	}
	got, err := widgetPass(t, compiled(t), widgetSelf).Assigned(t.Context(), jsonResponse(t, 201, `{}`))
	if err != nil || len(got) != 0 {
		t.Errorf("a mapping without assigned identifiers: %v, %v", got, err)
	}
}

func TestAssignedThatIsNotThere(t *testing.T) {
	t.Parallel()
	many := map[string]any{strings.Repeat("k", 100): "private"}
	for i := range 20 {
		many[fmt.Sprintf("m%02d", i)] = "private"
	}
	cases := map[string]struct {
		from v1alpha1.Expression
		resp *rest.Response
		says []string
	}{
		"another key": {
			"response.body.id", jsonResponse(t, 201, `{"uuid":"private","name":"private"}`, "etag", "private"),
			[]string{"response.body.id is not there", "status 201", "the headers content-type, etag", "an object with the keys name, uuid"},
		},
		"no Location":   {"lastSegment(response.headers.location)", jsonResponse(t, 201, `null`), []string{"response.headers.location is not there", "null"}},
		"null":          {"response.body.id", jsonResponse(t, 201, `{"id":null}`), []string{"null or an absent optional", "the keys id"}},
		"empty text":    {"response.body.id", jsonResponse(t, 201, `{"id":""}`), []string{"is empty"}},
		"dots":          {"response.body.id", jsonResponse(t, 201, `{"id":".."}`), []string{". or .."}},
		"a list":        {"response.body.id", jsonResponse(t, 201, `{"id":["private"]}`), []string{"must give"}},
		"no body":       {"response.body.id", &rest.Response{Status: 204}, []string{"no headers", "no body"}},
		"many keys":     {"response.body.id", &rest.Response{Status: 201, IsJSON: true, Body: many}, []string{"k..., m00, m01", "m10, ..."}},
		"an empty body": {"response.body.id", jsonResponse(t, 201, `{}`), []string{"an object with no keys"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := widgetPass(t, compiled(t, assigned(tc.from)), widgetSelf).Assigned(t.Context(), tc.resp)
			wantError(t, err, append(tc.says, "spec.identifiers[1].assigned", `"widget"`)...)
			if missing := (*AssignedError)(nil); !errors.As(err, &missing) || missing.Identifier != "widget" {
				t.Errorf("error is %T", err)
			}
			if strings.Contains(err.Error(), "private") {
				t.Errorf("the error shows a value: %v", err)
			}
		})
	}
}

func TestAssignedFromItem(t *testing.T) {
	t.Parallel()
	s := widgetPass(t, compiled(t, assigned("has(response.headers.location) ? lastSegment(response.headers.location) : response.body.id")), widgetSelf)
	got, err := s.AssignedFromItem(t.Context(), object(t, `{"id":12}`))
	noError(t, err)
	if got["widget"] != "12" {
		t.Errorf("got %v", got)
	}
	_, err = s.AssignedFromItem(t.Context(), object(t, `{"key":12}`))
	wantError(t, err, "spec.identifiers[1].assigned", "is not there", "an item of the list: an object with the keys key")
}
