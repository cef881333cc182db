package lifecycle

import (
	"testing"
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

func TestWhatAnAnswerAboutAnOperationMeans(t *testing.T) {
	t.Parallel()
	poll := rest.Request{Operation: rest.Poll, Method: "GET", Route: "operation of /things"}
	answer := func(status int) rest.Exchange { return rest.Exchange{Response: &rest.Response{Status: status}} }
	cases := map[string]struct {
		exchange rest.Exchange
		report   Report
		declared *Declared
		progress Progress
		outcome  Outcome
		reason   string
	}{
		"at work":                   {answer(200), Report{}, nil, ProgressRunning, Success, ""},
		"at work, with 202":         {answer(202), Report{}, nil, ProgressRunning, Success, ""},
		"done":                      {answer(200), Report{Done: true}, nil, ProgressDone, Success, ""},
		"failed":                    {answer(200), Report{Failed: true, Message: "no"}, nil, ProgressFailed, Failed, v1alpha1.ReasonOperationFailed},
		"failed and done":           {answer(200), Report{Failed: true, Done: true}, nil, ProgressFailed, Failed, v1alpha1.ReasonOperationFailed},
		"failed: taken":             {answer(200), Report{Failed: true}, &Declared{Outcome: v1alpha1.OutcomeConflict}, ProgressFailed, Conflict, v1alpha1.ReasonConflict},
		"failed: for good":          {answer(200), Report{Failed: true}, &Declared{Outcome: v1alpha1.OutcomeRejected}, ProgressFailed, Rejected, v1alpha1.ReasonRequestRejected},
		"failed: it may be there":   {answer(200), Report{Failed: true}, &Declared{Outcome: v1alpha1.OutcomeRetry}, ProgressFailed, Failed, v1alpha1.ReasonOperationFailed},
		"failed, declared well":     {answer(200), Report{Failed: true}, &Declared{Outcome: v1alpha1.OutcomeSuccess}, ProgressFailed, Failed, v1alpha1.ReasonOperationFailed},
		"failed, told by 404":       {answer(404), Report{Failed: true}, nil, ProgressFailed, Failed, v1alpha1.ReasonOperationFailed},
		"forgotten":                 {answer(404), Report{}, nil, ProgressForgotten, Absent, ""},
		"gone":                      {answer(410), Report{}, nil, ProgressForgotten, Absent, ""},
		"no right to ask":           {answer(403), Report{}, nil, ProgressUnreadable, Unauthorized, v1alpha1.ReasonUnauthorized},
		"the server is down":        {answer(500), Report{}, nil, ProgressUnreadable, Failed, v1alpha1.ReasonServerError},
		"too many questions":        {answer(429), Report{}, nil, ProgressUnreadable, Throttled, v1alpha1.ReasonThrottled},
		"no answer":                 {rest.Exchange{Failure: &rest.Failure{Kind: rest.Broken}}, Report{}, nil, ProgressUnreadable, Failed, v1alpha1.ReasonEndpointUnreachable},
		"an answer that is cut off": {rest.Exchange{Response: &rest.Response{Status: 200}, Failure: &rest.Failure{Kind: rest.Undecodable}}, Report{Done: true}, nil, ProgressUnreadable, Failed, v1alpha1.ReasonObservationFailed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.exchange.RetryAfter = time.Minute
			progress, v := JudgeOperation(poll, rest.Create, tc.exchange, tc.report, tc.declared)
			if progress != tc.progress || v.Outcome != tc.outcome || v.Reason != tc.reason || v.After != time.Minute {
				t.Errorf("got %s, %+v", progress, v)
			}
		})
	}
}

func TestOnlyASuccessIsAccepted(t *testing.T) {
	t.Parallel()
	for _, o := range outcomes {
		want := o
		if o == Success {
			want = Accepted
		}
		if got := (Verdict{Outcome: o}).Accept().Outcome; got != want {
			t.Errorf("%s becomes %s", o, got)
		}
	}
}

// TestTheRecordKeepsAnOperation: an older record has none, and a broken one is not used.
func TestTheRecordKeepsAnOperation(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	record := NewRecord(Subject{UID: "uid"}, "server", PhaseCreating).Accept(rest.Create, "/op/1", at)
	text, err := record.Encode()
	if want := `{"v":3,"uid":"uid","of":" ","endpoint":"server","phase":"Creating","op":{"op":"Create","url":"/op/1","at":"2026-05-01T12:00:00Z"}}`; err != nil || text != want {
		t.Errorf("written as %s, %v", text, err)
	}
	if back, err := DecodeRecord(text); err != nil || *back.Underway != *record.Underway {
		t.Errorf("read as %+v, %v", back, err)
	}
	if _, err := DecodeRecord(`{"v":1,"uid":"u","endpoint":"e","phase":"Created","op":{"op":"Read","url":"/x","at":""}}`); err == nil {
		t.Error("an operation that changes nothing was taken for one under way")
	}
}
