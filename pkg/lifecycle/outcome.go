package lifecycle

import (
	"fmt"
	"net/http"
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

// Outcome is what an exchange means for the object outside.
type Outcome string

// The outcomes. After every one but Ambiguous it is known whether a mutating request was applied.
const (
	// Success: it was applied, or read.
	Success Outcome = "Success"
	// Absent: the object is not there.
	Absent Outcome = "Absent"
	// Conflict: an object with this key exists already, or it changed meanwhile. Not applied.
	Conflict Outcome = "Conflict"
	// Throttled: the server asks to come later. Not applied.
	Throttled Outcome = "Throttled"
	// Unauthorized: the credential was refused. Not applied.
	Unauthorized Outcome = "Unauthorized"
	// Rejected: a person must change something. Not applied.
	Rejected Outcome = "Rejected"
	// Waiting: something else must happen first. Not applied.
	Waiting Outcome = "Waiting"
	// Failed: it passes by itself. Not applied, or a read.
	Failed Outcome = "Failed"
	// NotSent: nothing left this process.
	NotSent Outcome = "NotSent"
	// Ambiguous: a mutating request may have been applied, now or later.
	Ambiguous Outcome = "Ambiguous"
	// Accepted: the server has begun to do it, and will say how it ended.
	Accepted Outcome = "Accepted"
)

// Applied reports whether the server may have done, or may still do, what was asked.
func (o Outcome) Applied() bool { return o == Success || o == Accepted || o == Ambiguous }

// Declared is what the mapping says a response means.
type Declared struct {
	Outcome v1alpha1.OutcomeName
	Message string
}

// Verdict is the meaning of one exchange.
type Verdict struct {
	Outcome Outcome
	// Reason is the condition reason to show when this keeps the custom resource from being ready.
	Reason string
	// Message says what the server or the connection did, in words that are safe to show.
	Message string
	// After is the server's own wish when to come again; zero for none.
	After time.Duration
}

// Classify gives an exchange its meaning. declared is what the mapping's outcome rules said of the response, nil
// when none applied. It is the only function that maps HTTP facts to outcomes; docs/spec/restmapping.md has its table.
func Classify(req rest.Request, x rest.Exchange, declared *Declared) Verdict {
	v := classify(req, x, declared)
	v.After = x.RetryAfter
	if declared != nil && declared.Message != "" {
		v.Message = declared.Message
	}
	return v
}

func classify(req rest.Request, x rest.Exchange, declared *Declared) Verdict {
	switch {
	case x.Failure != nil && (x.Response == nil || x.Response.Status == 0):
		return classifyFailure(req, x.Failure)
	case x.Failure != nil && isSuccess(x.Response.Status):
		return classifyUnreadable(req, x)
	case x.Response == nil:
		return Verdict{Outcome: undone(req), Reason: v1alpha1.ReasonInternalError, Message: what(req) + ": no response and no failure"}
	case declared != nil && x.Failure == nil:
		return classifyDeclared(req, x.Response.Status, declared)
	case req.Operation.Mutating():
		return classifyWrite(req, x.Response.Status)
	default:
		return classifyRead(req, x.Response.Status)
	}
}

// undone is Failed for reads; a mutating request may have been applied.
func undone(req rest.Request) Outcome {
	if req.Operation.Mutating() {
		return Ambiguous
	}
	return Failed
}

func classifyFailure(req rest.Request, f *rest.Failure) Verdict {
	v := Verdict{Reason: v1alpha1.ReasonEndpointUnreachable, Message: f.Message}
	switch f.Kind {
	case rest.NotSent:
		v.Outcome, v.Reason = NotSent, heldReason(f.Held)
	case rest.Redirected:
		v.Outcome, v.Reason = Rejected, v1alpha1.ReasonRequestRejected
	case rest.TimedOut, rest.Broken, rest.TooLarge, rest.Undecodable:
		v.Outcome = undone(req)
	default:
		v.Outcome = undone(req)
	}
	if !req.Operation.Mutating() && v.Outcome == Rejected {
		v.Outcome, v.Reason = Failed, v1alpha1.ReasonObservationFailed
	}
	return v
}

// heldReason names what kept a request back.
func heldReason(held rest.Hold) string {
	switch held {
	case rest.HeldByAddress:
		return v1alpha1.ReasonAddressNotAllowed
	case rest.HeldByCircuit:
		return v1alpha1.ReasonCircuitOpen
	case rest.HeldByServer:
		return v1alpha1.ReasonThrottled
	case rest.HeldByLock:
		return v1alpha1.ReasonWaitingForServer
	default:
		return v1alpha1.ReasonEndpointUnreachable
	}
}

// classifyUnreadable is for a success whose body could not be used. For a create that means that the identity is
// unknown; updates and deletes are observed afterwards anyway.
func classifyUnreadable(req rest.Request, x rest.Exchange) Verdict {
	v := Verdict{Reason: v1alpha1.ReasonServerError, Message: x.Failure.Message}
	switch {
	case req.Operation == rest.Update || req.Operation == rest.Delete:
		v.Outcome = Success
	case req.Operation.Mutating():
		v.Outcome = Ambiguous
	default:
		v.Outcome, v.Reason = Failed, v1alpha1.ReasonObservationFailed
	}
	return v
}

func classifyDeclared(req rest.Request, status int, d *Declared) Verdict {
	v := Verdict{Message: fmt.Sprintf("%s answered %d, which the mapping declares as %s", what(req), status, d.Outcome)}
	switch d.Outcome {
	case v1alpha1.OutcomeSuccess:
		v.Outcome = Success
	case v1alpha1.OutcomeAbsent:
		v.Outcome, v.Reason = Absent, v1alpha1.ReasonExternalMissing
	case v1alpha1.OutcomeConflict:
		v.Outcome, v.Reason = Conflict, v1alpha1.ReasonConflict
	case v1alpha1.OutcomeWait:
		v.Outcome, v.Reason = Waiting, v1alpha1.ReasonWaitingForServer
	case v1alpha1.OutcomeRetry:
		v.Outcome, v.Reason = undone(req), v1alpha1.ReasonServerError
	case v1alpha1.OutcomeRejected:
		v.Outcome, v.Reason = Rejected, v1alpha1.ReasonRequestRejected
	default:
		return Verdict{Outcome: undone(req), Reason: v1alpha1.ReasonInternalError, Message: what(req) + ": unknown declared outcome"}
	}
	if req.Operation == rest.Create && v.Outcome == Absent {
		v.Outcome, v.Reason = Waiting, v1alpha1.ReasonWaitingForServer
	}
	if !req.Operation.Mutating() && v.Outcome == Rejected {
		v.Outcome, v.Reason = Failed, v1alpha1.ReasonObservationFailed
	}
	return v
}

func classifyRead(req rest.Request, status int) Verdict {
	v := Verdict{Message: answered(req, status)}
	switch {
	case isSuccess(status):
		v.Outcome = Success
	case (status == http.StatusNotFound || status == http.StatusGone) && req.Operation == rest.Read:
		v.Outcome, v.Reason = Absent, v1alpha1.ReasonExternalMissing
	case status == http.StatusNotFound || status == http.StatusGone:
		v.Outcome, v.Reason = Failed, v1alpha1.ReasonObservationFailed
		v.Message += ": a collection that is not there says nothing about the object; check the path and the base URL"
	case isUnauthorized(status):
		v.Outcome, v.Reason, v.Message = Unauthorized, v1alpha1.ReasonUnauthorized, v.Message+toBeTrusted(status)
	case status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable:
		v.Outcome, v.Reason = Throttled, v1alpha1.ReasonThrottled
	case status >= http.StatusInternalServerError:
		v.Outcome, v.Reason = Failed, v1alpha1.ReasonServerError
	default:
		v.Outcome, v.Reason = Failed, v1alpha1.ReasonObservationFailed
	}
	return v
}

func classifyWrite(req rest.Request, status int) Verdict {
	v := Verdict{Message: answered(req, status)}
	switch {
	case isSuccess(status):
		v.Outcome = Success
	case req.Operation == rest.Delete && (status == http.StatusNotFound || status == http.StatusGone):
		v.Outcome = Absent
	case req.Operation == rest.Update && (status == http.StatusNotFound || status == http.StatusGone):
		v.Outcome, v.Reason = Absent, v1alpha1.ReasonExternalMissing
	case req.Operation == rest.Delete && (status == http.StatusConflict || status == http.StatusLocked):
		v.Outcome, v.Reason = Waiting, v1alpha1.ReasonWaitingForServer
	case status == http.StatusConflict || status == http.StatusPreconditionFailed:
		v.Outcome, v.Reason = Conflict, v1alpha1.ReasonConflict
	case status == http.StatusTooManyRequests:
		v.Outcome, v.Reason = Throttled, v1alpha1.ReasonThrottled
	case isUnauthorized(status):
		v.Outcome, v.Reason, v.Message = Unauthorized, v1alpha1.ReasonUnauthorized, v.Message+toBeTrusted(status)
	case status == http.StatusRequestTimeout, status == http.StatusTooEarly, status >= http.StatusInternalServerError, status < http.StatusOK:
		v.Outcome, v.Reason = Ambiguous, v1alpha1.ReasonServerError
	default:
		v.Outcome, v.Reason = Rejected, v1alpha1.ReasonRequestRejected
	}
	return v
}

func isSuccess(status int) bool {
	return status >= http.StatusOK && status < http.StatusMultipleChoices
}

func isUnauthorized(status int) bool {
	return status == http.StatusUnauthorized || status == http.StatusForbidden || status == http.StatusProxyAuthRequired
}

// toBeTrusted is what to do about an answer that refuses whoever asked.
func toBeTrusted(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return " (check spec.auth of the endpoint and the Secrets it names)"
	case http.StatusForbidden:
		return " (may the account of the endpoint's spec.auth do that there?)"
	default:
		return " (check spec.proxy.basic of the endpoint)"
	}
}

func what(req rest.Request) string { return req.Method + " " + req.Route }

func answered(req rest.Request, status int) string {
	text := http.StatusText(status)
	if text == "" {
		return fmt.Sprintf("%s answered %d", what(req), status)
	}
	return fmt.Sprintf("%s answered %d %s", what(req), status, text)
}
