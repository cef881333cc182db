package lifecycle

import (
	"net/http"
	"strings"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

// Report is what the mapping reads out of an answer about an operation.
type Report struct {
	Done, Failed bool
	// Message says why it failed, in the server's words; empty for none.
	Message string
}

// Accept gives the verdict on a request that the mapping says was only accepted. Only a success can be.
func (v Verdict) Accept() Verdict {
	if v.Outcome == Success {
		v.Outcome = Accepted
	}
	return v
}

// JudgeOperation gives an answer about an operation its meaning. of is what the operation does, declared what the
// mapping's outcome rules say of a failure. An answer that is missing says nothing about the operation, and one that the
// operation is not there says nothing about how it ended.
func JudgeOperation(poll rest.Request, of rest.Operation, x rest.Exchange, r Report, declared *Declared) (Progress, Verdict) {
	var progress Progress
	var v Verdict
	switch {
	case x.Response == nil || x.Failure != nil:
		progress, v = ProgressUnreadable, classify(poll, x, nil)
	case r.Failed:
		progress, v = ProgressFailed, operationFailed(poll, of, x.Response.Status, r, declared)
	case r.Done:
		progress, v = ProgressDone, Verdict{Outcome: Success}
	case x.Response.Status == http.StatusNotFound || x.Response.Status == http.StatusGone:
		progress, v = ProgressForgotten, Verdict{Outcome: Absent, Message: answered(poll, x.Response.Status)}
	case isSuccess(x.Response.Status):
		progress, v = ProgressRunning, Verdict{Outcome: Success}
	default:
		progress, v = ProgressUnreadable, classifyRead(poll, x.Response.Status)
	}
	v.After = x.RetryAfter
	return progress, v
}

// TimedOut is for an operation that is given up because it takes longer than the mapping allows.
func TimedOut(of rest.Operation) Verdict {
	return Verdict{
		Outcome: Failed, Reason: v1alpha1.ReasonOperationTimedOut,
		Message: "the server accepted the request, and its operation has not come to an end within operations." + strings.ToLower(string(of)) + ".async.deadline; it is given up, and the object decides what is sent next",
	}
}

// operationFailed: what the mapping declares says that nothing was applied; otherwise nobody knows.
func operationFailed(poll rest.Request, of rest.Operation, status int, r Report, declared *Declared) Verdict {
	v := Verdict{Outcome: Failed, Reason: v1alpha1.ReasonOperationFailed}
	if declared != nil {
		meant := poll
		meant.Operation = of
		v = classifyDeclared(meant, status, declared)
		if v.Outcome.Applied() {
			v.Outcome, v.Reason = Failed, v1alpha1.ReasonOperationFailed
		}
	}
	v.Message = "the server accepted the request, and its operation failed"
	switch {
	case declared != nil && declared.Message != "":
		v.Message = declared.Message
	case r.Message != "":
		v.Message += ": " + r.Message
	}
	return v
}
