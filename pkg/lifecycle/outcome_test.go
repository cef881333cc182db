package lifecycle

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

func request(op rest.Operation) rest.Request {
	method := map[rest.Operation]string{
		rest.Read: "GET", rest.List: "GET", rest.Create: "POST", rest.Update: "PATCH", rest.Delete: "DELETE",
	}[op]
	return rest.Request{Operation: op, Method: method, Route: "/things/{name}"}
}

func status(code int) rest.Exchange { return rest.Exchange{Response: &rest.Response{Status: code}} }

func failure(kind rest.FailureKind) rest.Exchange {
	return rest.Exchange{Failure: &rest.Failure{Kind: kind, Message: "GET /things/{name}: " + string(kind)}}
}

func unreadable(code int, kind rest.FailureKind) rest.Exchange {
	x := failure(kind)
	x.Response = &rest.Response{Status: code}
	return x
}

func TestClassifyStatus(t *testing.T) {
	t.Parallel()
	everything := []rest.Operation{rest.Read, rest.List, rest.Create, rest.Update, rest.Delete}
	for name, tc := range map[string]struct {
		codes []int
		want  map[rest.Operation]Outcome
	}{
		"success is success": {[]int{200, 201, 202, 204, 206}, same(Success)},
		"gone is absence for the item alone": {[]int{404, 410}, map[rest.Operation]Outcome{
			rest.Read: Absent, rest.List: Failed, rest.Create: Rejected, rest.Update: Absent, rest.Delete: Absent,
		}},
		"a conflict is not applied, and on a delete it is in use": {[]int{409}, map[rest.Operation]Outcome{
			rest.Read: Failed, rest.List: Failed, rest.Create: Conflict, rest.Update: Conflict, rest.Delete: Waiting,
		}},
		"a failed precondition is a conflict": {[]int{412}, map[rest.Operation]Outcome{
			rest.Read: Failed, rest.List: Failed, rest.Create: Conflict, rest.Update: Conflict, rest.Delete: Conflict,
		}},
		"locked is in use": {[]int{423}, map[rest.Operation]Outcome{
			rest.Read: Failed, rest.List: Failed, rest.Create: Rejected, rest.Update: Rejected, rest.Delete: Waiting,
		}},
		"too many requests is throttled":       {[]int{429}, same(Throttled)},
		"a refused credential is unauthorized": {[]int{401, 403, 407}, same(Unauthorized)},
		"a timeout of the server leaves writes unknown": {[]int{408, 425}, map[rest.Operation]Outcome{
			rest.Read: Failed, rest.List: Failed, rest.Create: Ambiguous, rest.Update: Ambiguous, rest.Delete: Ambiguous,
		}},
		"a server error leaves writes unknown": {[]int{500, 502, 504, 507, 599}, map[rest.Operation]Outcome{
			rest.Read: Failed, rest.List: Failed, rest.Create: Ambiguous, rest.Update: Ambiguous, rest.Delete: Ambiguous,
		}},
		"unavailable throttles reads and leaves writes unknown": {[]int{503}, map[rest.Operation]Outcome{
			rest.Read: Throttled, rest.List: Throttled, rest.Create: Ambiguous, rest.Update: Ambiguous, rest.Delete: Ambiguous,
		}},
		"no final answer leaves writes unknown": {[]int{101, 103}, map[rest.Operation]Outcome{
			rest.Read: Failed, rest.List: Failed, rest.Create: Ambiguous, rest.Update: Ambiguous, rest.Delete: Ambiguous,
		}},
		"anything else of the client's is rejected": {[]int{300, 304, 400, 402, 405, 406, 413, 415, 422, 451}, map[rest.Operation]Outcome{
			rest.Read: Failed, rest.List: Failed, rest.Create: Rejected, rest.Update: Rejected, rest.Delete: Rejected,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, op := range everything {
				for _, code := range tc.codes {
					v := Classify(request(op), status(code), nil)
					if v.Outcome != tc.want[op] {
						t.Errorf("%s %d is %s, want %s", op, code, v.Outcome, tc.want[op])
					}
					if !strings.Contains(v.Message, "/things/{name} answered") {
						t.Errorf("%s %d: the message does not name the request: %q", op, code, v.Message)
					}
					if done := v.Outcome == Success || v.Outcome == Absent && op == rest.Delete; !done && v.Reason == "" {
						t.Errorf("%s %d has no reason", op, code)
					}
				}
			}
		})
	}
}

func same(o Outcome) map[rest.Operation]Outcome {
	return map[rest.Operation]Outcome{rest.Read: o, rest.List: o, rest.Create: o, rest.Update: o, rest.Delete: o}
}

func TestClassifyFailure(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		x                   rest.Exchange
		read, create, touch Outcome // touch: update and delete
	}{
		"what was not sent was not done":                {failure(rest.NotSent), NotSent, NotSent, NotSent},
		"a timeout leaves writes unknown":               {failure(rest.TimedOut), Failed, Ambiguous, Ambiguous},
		"a broken connection leaves writes unknown":     {failure(rest.Broken), Failed, Ambiguous, Ambiguous},
		"a redirect is not followed by a write":         {failure(rest.Redirected), Failed, Rejected, Rejected},
		"a kind that is not known is treated with care": {failure("New"), Failed, Ambiguous, Ambiguous},
		"no response and no failure":                    {rest.Exchange{}, Failed, Ambiguous, Ambiguous},
		"a success cut off hides an identity":           {unreadable(201, rest.Undecodable), Failed, Ambiguous, Success},
		"a success too large hides an identity":         {unreadable(200, rest.TooLarge), Failed, Ambiguous, Success},
		"a refusal is one whatever its body":            {unreadable(422, rest.Undecodable), Failed, Rejected, Rejected},
		"a server error with a broken body":             {unreadable(500, rest.Undecodable), Failed, Ambiguous, Ambiguous},
		"a redirect with its status":                    {unreadable(302, rest.Redirected), Failed, Rejected, Rejected},
		"a failure before any status":                   {unreadable(0, rest.Broken), Failed, Ambiguous, Ambiguous},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := map[rest.Operation]Outcome{
				rest.Read: tc.read, rest.List: tc.read, rest.Create: tc.create, rest.Update: tc.touch, rest.Delete: tc.touch,
			}
			for op, outcome := range want {
				if v := Classify(request(op), tc.x, nil); v.Outcome != outcome || v.Reason == "" || v.Message == "" {
					t.Errorf("%s gives %+v, want outcome %s with reason and message", op, v, outcome)
				}
			}
		})
	}
}

func TestClassifyDeclared(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		op       rest.Operation
		code     int
		declared v1alpha1.OutcomeName
		want     Outcome
		reason   string
	}{
		"a body that says error turns 200 into rejected": {rest.Update, 200, v1alpha1.OutcomeRejected, Rejected, v1alpha1.ReasonRequestRejected},
		"a read that is rejected is only a failed look":  {rest.Read, 200, v1alpha1.OutcomeRejected, Failed, v1alpha1.ReasonObservationFailed},
		"a state that means gone":                        {rest.Read, 200, v1alpha1.OutcomeAbsent, Absent, v1alpha1.ReasonExternalMissing},
		"a list may declare absence":                     {rest.List, 404, v1alpha1.OutcomeAbsent, Absent, v1alpha1.ReasonExternalMissing},
		"a create has nothing to be absent but a parent": {rest.Create, 404, v1alpha1.OutcomeAbsent, Waiting, v1alpha1.ReasonWaitingForServer},
		"exists already under another code":              {rest.Create, 422, v1alpha1.OutcomeConflict, Conflict, v1alpha1.ReasonConflict},
		"a parent that is busy":                          {rest.Delete, 400, v1alpha1.OutcomeWait, Waiting, v1alpha1.ReasonWaitingForServer},
		"retry is no proof that a write was not done":    {rest.Create, 500, v1alpha1.OutcomeRetry, Ambiguous, v1alpha1.ReasonServerError},
		"retry of a read":                                {rest.Read, 418, v1alpha1.OutcomeRetry, Failed, v1alpha1.ReasonServerError},
		"a failure that means done":                      {rest.Delete, 500, v1alpha1.OutcomeSuccess, Success, ""},
		"a word that is not known":                       {rest.Create, 200, "New", Ambiguous, v1alpha1.ReasonInternalError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := Classify(request(tc.op), status(tc.code), &Declared{Outcome: tc.declared, Message: "said so"})
			if v.Outcome != tc.want || v.Reason != tc.reason {
				t.Errorf("got %s/%s, want %s/%s", v.Outcome, v.Reason, tc.want, tc.reason)
			}
			if v.Message != "said so" {
				t.Errorf("the mapping's own words are lost: %q", v.Message)
			}
		})
	}
}

func TestClassifyKeepsTheServersWishAndIgnoresADeclarationOfABrokenResponse(t *testing.T) {
	t.Parallel()
	x := status(429)
	x.RetryAfter = 7 * time.Second
	if v := Classify(request(rest.Create), x, nil); v.After != 7*time.Second {
		t.Errorf("After is %s", v.After)
	}
	v := Classify(request(rest.Create), unreadable(500, rest.Undecodable), &Declared{Outcome: v1alpha1.OutcomeRejected})
	if v.Outcome != Ambiguous {
		t.Errorf("a declaration about half a response gave %s", v.Outcome)
	}
}

func TestOnlySuccessAndAmbiguousMayHaveBeenApplied(t *testing.T) {
	t.Parallel()
	var got []Outcome
	for _, o := range []Outcome{Success, Absent, Conflict, Throttled, Unauthorized, Rejected, Waiting, Failed, NotSent, Ambiguous} {
		if o.Applied() {
			got = append(got, o)
		}
	}
	if diff := cmp.Diff([]Outcome{Success, Ambiguous}, got); diff != "" {
		t.Error(diff)
	}
}
