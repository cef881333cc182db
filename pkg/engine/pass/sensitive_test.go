package pass_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/restfake"
)

// What a mapping marks as sensitive is in no status, message or event, also where the server repeats it at another place.
func TestWhatIsSensitiveIsShownNowhere(t *testing.T) {
	t.Parallel()
	shows := strings.Replace(upsertMapping, "status: [", `status: [{to: hint, value: "observed.?hint"}, `, 1)
	b := newBench(t, shows+"  sensitive: [observed.token]\n", upsertThings())
	b.settled("one", "{size: 3}")
	answer := `{"id":"one","size":3,"token":"` + canary + `","hint":"use ` + canary + `"}`
	b.server.AddRule(restfake.Rule{Method: http.MethodGet, Times: 1, Fault: restfake.Reply(200, "application/json", answer)})
	b.look("one")
	if got, _ := b.obj("one").Object["status"].(map[string]any); got["hint"] != "use [redacted]" {
		t.Errorf("the status is %v", got)
	}
	b.noCanary("one")
	drifted := strings.Replace(answer, `"size":3`, `"size":4`, 1)
	b.server.AddRule(restfake.Rule{Method: http.MethodGet, Times: 1, Fault: restfake.Reply(200, "application/json", drifted)})
	b.server.AddRule(restfake.Rule{Method: http.MethodPut, Times: 1, Fault: restfake.Reply(422, "application/json", `{"message":"`+canary+` is expired"}`)})
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionSynced, "False RequestRejected")
	b.wantMessage("one", v1alpha1.ConditionSynced, "[redacted] is expired")
	b.noCanary("one")
	// An error that holds the value at the marked place itself.
	b.server.AddRule(restfake.Rule{Method: http.MethodGet, Times: 1, Fault: restfake.Reply(403, "application/json", `{"token":"`+canary+`","message":"`+canary+` is no good"}`)})
	b.look("one")
	b.wantMessage("one", v1alpha1.ConditionReady, "[redacted] is no good")
	b.noCanary("one")
	if diff := cmp.Diff(nil, b.obj("one").Object); strings.Contains(diff, canary) {
		t.Errorf("the value is in the custom resource: %s", diff)
	}
}

// The same where select builds the object anew, so that its place in the answer is not known.
func TestWhatSelectMakesSensitiveIsShownNowhere(t *testing.T) {
	t.Parallel()
	shows := strings.Replace(upsertMapping, "status: [", `status: [{to: hint, value: "observed.?hint"}, `, 1)
	shows = strings.Replace(shows, `read: {path: "/things/{id}"}`, `read: {path: "/things/{id}", select: "{'size': response.body.size, 'key': response.body.?a, 'hint': response.body.?hint}"}`, 1)
	b := newBench(t, shows+"  sensitive: [observed.key]\n", upsertThings())
	b.settled("one", "{size: 3}")
	b.server.AddRule(restfake.Rule{Method: http.MethodGet, Times: 1, Fault: restfake.Reply(200, "application/json", `{"size":3,"a":"`+canary+`","hint":"use `+canary+`"}`)})
	b.look("one")
	if got, _ := b.obj("one").Object["status"].(map[string]any); got["hint"] != "use [redacted]" {
		t.Errorf("the status is %v", got)
	}
}
