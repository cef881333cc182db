package mapping

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

func creatingLater(a v1alpha1.Async) specChange {
	return func(s *v1alpha1.RestMappingSpec) { s.Operations.Create.Async = &a }
}

func TestWhatIsOnlyAccepted(t *testing.T) {
	t.Parallel()
	pending := v1alpha1.Async{When: "response.body.state == 'pending'", Handle: "'/tasks/' + response.body.task"}
	cases := map[string]struct {
		async    *v1alpha1.Async
		status   int
		body     string
		headers  []string
		accepted bool
		handle   string
	}{
		"202 with a Location":              {&v1alpha1.Async{}, 202, `{}`, []string{"location", "/op/1"}, true, "/op/1"},
		"202 without a Location":           {&v1alpha1.Async{}, 202, `{}`, nil, true, ""},
		"201 is done":                      {&v1alpha1.Async{}, 201, `{}`, []string{"location", "/things/1"}, false, ""},
		"a predicate":                      {&pending, 200, `{"state":"pending","task":"7"}`, nil, true, "/tasks/7"},
		"a predicate that says no":         {&pending, 200, `{"state":"active","task":"7"}`, nil, false, ""},
		"a body without what it asks for":  {&pending, 200, `{}`, nil, false, ""},
		"a body that is no object":         {&pending, 200, `[1]`, nil, false, ""},
		"a handle that is not there":       {&pending, 200, `{"state":"pending"}`, nil, true, ""},
		"202 where nothing is done later":  {nil, 202, `{}`, []string{"location", "/op/1"}, false, ""},
		"another header":                   {&v1alpha1.Async{Handle: "response.headers['azure-asyncoperation']"}, 202, `{}`, []string{"azure-asyncoperation", "/op/2"}, true, "/op/2"},
		"another header that is not there": {&v1alpha1.Async{Handle: "response.headers['azure-asyncoperation']"}, 202, `{}`, nil, true, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := compiled(t)
			if tc.async != nil {
				p = compiled(t, creatingLater(*tc.async))
			}
			pass := widgetPass(t, p, `{}`)
			accepted, handle, err := pass.Accepted(t.Context(), rest.Create, jsonResponse(t, tc.status, tc.body, tc.headers...))
			if err != nil || accepted != tc.accepted || handle != tc.handle {
				t.Errorf("got %v, %q, %v", accepted, handle, err)
			}
		})
	}
}

func TestTheProgressOfAnOperation(t *testing.T) {
	t.Parallel()
	state := v1alpha1.Async{Done: "operation.body.s == 'done'", Failed: "operation.body.s == 'bad'", Message: "operation.body.why"}
	type progress struct {
		Done, Failed bool
		Message      string
	}
	cases := map[string]struct {
		async  v1alpha1.Async
		status int
		body   string
		want   progress
	}{
		"200 is done by default":     {v1alpha1.Async{}, 200, `{}`, progress{Done: true}},
		"202 is not":                 {v1alpha1.Async{}, 202, `{}`, progress{}},
		"nor is an error":            {v1alpha1.Async{}, 404, `{}`, progress{}},
		"a state that says so":       {state, 200, `{"s":"done"}`, progress{Done: true}},
		"a state that does not":      {state, 200, `{"s":"busy"}`, progress{}},
		"a failure with its words":   {state, 200, `{"s":"bad","why":"no room"}`, progress{Failed: true, Message: "no room"}},
		"a failure without words":    {state, 200, `{"s":"bad"}`, progress{Failed: true}},
		"an answer of another shape": {state, 200, `{}`, progress{}},
		"an error page":              {state, 502, `"oops"`, progress{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pass := widgetPass(t, compiled(t, creatingLater(tc.async)), `{}`)
			var got progress
			var err error
			got.Done, got.Failed, got.Message, err = pass.Progress(t.Context(), rest.Create, jsonResponse(t, tc.status, tc.body))
			noError(t, err)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAnIdentifierComesFromTheAnswerThatItNames(t *testing.T) {
	t.Parallel()
	p := compiled(t, creatingLater(v1alpha1.Async{}), func(s *v1alpha1.RestMappingSpec) {
		s.Identifiers[0] = v1alpha1.Identifier{Name: "owner", Assigned: "response.body.id"}
		s.Identifiers[1] = v1alpha1.Identifier{Name: "widget", Assigned: "operation.body.id"}
		s.Operations.Create.Path = "/widgets"
	})
	pass := widgetPass(t, p, `{}`)
	resp := jsonResponse(t, 202, `{"id":7}`)
	if diff := cmp.Diff(map[string]string{"owner": "7"}, pass.AssignedSoFar(t.Context(), resp)); diff != "" {
		t.Errorf("from the answer to the create: %s", diff)
	}
	if diff := cmp.Diff(map[string]string{"widget": "7"}, pass.AssignedByOperation(t.Context(), resp)); diff != "" {
		t.Errorf("from the operation: %s", diff)
	}
	if got := pass.AssignedSoFar(t.Context(), jsonResponse(t, 202, `{}`)); len(got) != 0 {
		t.Errorf("from nothing: %v", got)
	}
	all, err := pass.AssignedFromItem(t.Context(), map[string]any{"id": int64(8)})
	if diff := cmp.Diff(map[string]string{"owner": "8", "widget": "8"}, all); err != nil || diff != "" {
		t.Errorf("from an item: %s, %v", diff, err)
	}
}

func TestWhatAnAsyncCannotSay(t *testing.T) {
	t.Parallel()
	got := compileErrors(t, widgetTarget(t), creatingLater(v1alpha1.Async{Done: "response.body.done"}))
	wantOneError(t, got, "spec.operations.create.async.done", "response")
	got = compileErrors(t, widgetTarget(t), creatingLater(v1alpha1.Async{Interval: metav1.Duration{Duration: time.Millisecond}}))
	wantOneError(t, got, "spec.operations.create.async.interval", "500ms")
	got = compileErrors(t, widgetTarget(t), creatingLater(v1alpha1.Async{Deadline: metav1.Duration{Duration: 48 * time.Hour}}))
	wantOneError(t, got, "spec.operations.create.async.deadline", "24h")
	got = compileErrors(t, widgetTarget(t), func(s *v1alpha1.RestMappingSpec) {
		s.Identifiers[1] = v1alpha1.Identifier{Name: "widget", Assigned: "response.body.id + operation.body.id"}
	})
	if len(got) == 0 {
		t.Error("an identifier from two answers was accepted")
	}
}

func TestAnOutputOfACreateThatIsDoneLaterIsRefused(t *testing.T) {
	t.Parallel()
	got := compileErrors(t, widgetTarget(t), creatingLater(v1alpha1.Async{}), output(v1alpha1.Output{Data: data("a", "response.body.token"), Operations: onCreate}))
	wantOneError(t, got, "spec.outputs[0].operations", "async")
}

func TestTheTimesOfAnOperation(t *testing.T) {
	t.Parallel()
	p := compiled(t, creatingLater(v1alpha1.Async{Deadline: metav1.Duration{Duration: time.Hour}}))
	if p.Later(rest.Create) != time.Hour || p.Later(rest.Update) != 0 {
		t.Errorf("later is %v and %v", p.Later(rest.Create), p.Later(rest.Update))
	}
	if p.Deadline(rest.Update) != defaultDeadline || p.PollInterval(rest.Create) != defaultPollInterval {
		t.Error("the defaults do not stand in")
	}
	req := widgetPass(t, p, `{}`).PollRequest(rest.Create, "/op/1?x=1")
	if req.Method != http.MethodGet || req.Follow != "/op/1?x=1" || req.Operation != rest.Poll || req.Operation.Mutating() {
		t.Errorf("the question is %+v", req)
	}
}
