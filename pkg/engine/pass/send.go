package pass

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/rest"
	"github.com/restmapping/operator/pkg/rest/redact"
)

var noTime time.Time

// sendCreate sends the create that the intent is about. Its deadline counts from the intent: a process that was frozen
// in between wakes up with an expired context instead of making a second object.
func (u *run) sendCreate(ctx context.Context) *lifecycle.Step {
	left := u.endpoint.Timeout() - u.Clock.Now().Sub(u.intendedAt)
	limited, cancel := context.WithTimeout(ctx, max(left, 0))
	defer cancel()
	failpoint("after-intent-before-send")
	resp, stop := u.mutate(limited, u.create)
	failpoint("after-send-before-record")
	u.facts.Intended = false
	if stop != nil {
		return stop
	}
	u.mem.createAnswered = u.facts.Sent.Outcome != lifecycle.Ambiguous
	return u.createAnswered(ctx, resp)
}

// createAnswered takes what an answer to a create gives.
func (u *run) createAnswered(ctx context.Context, resp *rest.Response) *lifecycle.Step {
	if u.facts.Sent.Outcome == lifecycle.Accepted {
		u.know(u.pass.AssignedSoFar(ctx, resp))
	}
	if u.facts.Sent.Outcome != lifecycle.Success {
		return nil
	}
	u.owe()
	u.Events.Normal(u.obj, "Created", string(rest.Create), "created outside: "+u.create.Method+" "+u.create.Route)
	return u.afterCreated(ctx, resp)
}

// afterCreated takes the identity, and the object where the mapping says that it is in the response.
func (u *run) afterCreated(ctx context.Context, resp *rest.Response) *lifecycle.Step {
	if u.program.HasAssignedIdentifiers() {
		assigned, err := u.pass.Assigned(ctx, resp)
		if err != nil {
			u.mem.createAnswered = false
			u.failure = &requestFailure{operation: rest.Create, status: resp.Status, verdict: lifecycle.Verdict{
				Outcome: lifecycle.Ambiguous, Reason: v1alpha1.ReasonCreateOutcomeUnknown, Message: u.redact(err.Error()),
			}}
			return nil
		}
		u.know(assigned)
	}
	u.storeCreated(ctx, resp)
	u.facts.Sent.Identified = true
	u.mem.createdHere = true
	if u.facts.AllChosen {
		u.mem.confirmed, u.facts.Confirmed = true, true
	}
	if u.program.Selects(rest.Create) {
		return u.seeSelected(ctx, u.create, resp)
	}
	return nil
}

func (u *run) sendUpdate(ctx context.Context) *lifecycle.Step {
	if u.facts.Forced {
		u.pass.SendAll()
	}
	req, err := u.pass.UpdateRequest(ctx, u.observed)
	if err != nil {
		return stall(v1alpha1.ReasonExpressionFailed, err.Error())
	}
	forced, changed := u.facts.Forced, u.described(u.differences)
	failpoint("before-update-send")
	resp, stop := u.mutate(ctx, req)
	failpoint("after-update-send")
	if o := u.facts.Sent.Outcome; o == lifecycle.Success || o == lifecycle.Accepted {
		u.mem.fruitless.note(u.digest, u.obj.GetGeneration(), u.program)
	}
	if stop != nil || u.facts.Sent.Outcome != lifecycle.Success {
		return stop
	}
	u.mem.acceptedGeneration, u.mem.acceptedProgram = u.obj.GetGeneration(), u.program
	if stop := u.noteForced(ctx); stop != nil {
		return stop
	}
	switch {
	case len(u.drifted) > 0:
		u.corrected = true
		u.Events.Normal(u.obj, "DriftCorrected", string(rest.Update), "put back what was changed outside: "+changed)
	case forced:
		u.Events.Normal(u.obj, "Updated", string(rest.Update), "updated outside because annotation "+v1alpha1.ForceUpdateAnnotation+" asks for it")
	default:
		u.Events.Normal(u.obj, "Updated", string(rest.Update), "updated outside: "+changed)
	}
	if u.program.Selects(rest.Update) {
		return u.seeSelected(ctx, req, resp)
	}
	return nil
}

func (u *run) sendDelete(ctx context.Context) *lifecycle.Step {
	req, err := u.pass.DeleteRequest(ctx, u.observed)
	if err != nil {
		return stall(v1alpha1.ReasonExpressionFailed, err.Error())
	}
	before := u.mem.lastWrite
	failpoint("before-delete-send")
	_, stop := u.mutate(ctx, req)
	failpoint("after-delete-send")
	// A delete opens no consistency window for itself: what counts is whether what was written before may still appear.
	u.mem.lastWrite = before
	return stop
}

// mutate sends a mutating request once and notes what is known afterwards.
func (u *run) mutate(ctx context.Context, req rest.Request) (*rest.Response, *lifecycle.Step) {
	x := u.do(ctx, req)
	declared, err := declaredBy(ctx, u.pass, req, x)
	verdict := u.acceptance(ctx, req, x, lifecycle.Classify(req, x, declared))
	now := u.Clock.Now()
	if verdict.Outcome.Applied() {
		u.mem.lastWrite = now
		if req.Operation != rest.Delete {
			u.mem.seenSince, u.mem.absentAt = false, noTime
		}
	}
	if verdict.Outcome == lifecycle.Ambiguous {
		t := u.timing()
		later := u.program.Later(req.Operation)
		if req.Operation == rest.Delete {
			later = 0 // one that comes late does no harm
		}
		if open := now.Add(t.Slack + t.Window + later); open.After(u.mem.openUntil) {
			u.mem.openUntil = open
		}
	}
	u.facts.Sent = &lifecycle.Sent{Operation: req.Operation, Outcome: verdict.Outcome}
	u.facts.Look, u.observed = lifecycle.LookNotYet, nil
	switch verdict.Outcome {
	case lifecycle.Success:
		u.failure = nil
		u.keepWriteOnly(req.Operation)
	case lifecycle.Accepted:
		u.failure = nil
	default:
		u.fail(req, x, verdict)
	}
	if err != nil {
		return x.Response, stall(v1alpha1.ReasonExpressionFailed, err.Error())
	}
	return x.Response, nil
}

// fail keeps what a request has shown, with the server's own words, for the status.
func (u *run) fail(req rest.Request, x rest.Exchange, verdict lifecycle.Verdict) {
	f := &requestFailure{operation: req.Operation, verdict: verdict}
	if x.Response != nil {
		f.status = x.Response.Status
	}
	if x.Failure != nil && x.Failure.Kind == rest.Redirected {
		// Where it points, and what to do about it, says more than the status.
		f.verdict.Message = x.Failure.Message
	} else if words := lifecycle.ServerWords(x.Response, u.redact); words != "" && verdict.Outcome != lifecycle.Absent {
		f.verdict.Message = fmt.Sprintf("%s: %s", verdict.Message, words)
	}
	f.verdict.Message = u.redact(f.verdict.Message)
	u.failure = f
}

// redact takes out every secret that this pass has in its hands: servers repeat what they were sent.
func (u *run) redact(text string) string {
	hidden := slices.Concat(slices.Collect(maps.Values(u.secrets)), u.concealed, u.sensitive)
	text = redact.Hide(text, hidden)
	if u.endpoint != nil {
		text = u.endpoint.Redact(text)
	}
	return text
}
