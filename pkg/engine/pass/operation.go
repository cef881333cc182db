package pass

import (
	"context"
	"errors"
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/mapping"
	"github.com/restmapping/operator/pkg/rest"
)

// operationMemory is what this process knows of an operation that the server has accepted. Losing it costs time alone.
type operationMemory struct {
	// named is the operation as the record has it; since is when this process first knew of it.
	named lifecycle.RecordedOperation
	since time.Time
	// ended tells that this process has learned that it is over.
	ended bool
	// failure is what the server said when it failed.
	failure *requestFailure
	// generation and program are what was sent; zero where another process sent it.
	generation int64
	program    *mapping.Program
}

// beginOperation gathers what the record says of an operation that is under way.
func (u *run) beginOperation() {
	if u.record == nil || u.record.Underway == nil || u.facts.Record == lifecycle.RecordForeign {
		return
	}
	named := *u.record.Underway
	if m := &u.mem.operation; withoutFailure(m.named) != withoutFailure(named) || m.since.IsZero() {
		*m = operationMemory{named: named, since: u.Clock.Now()}
	}
	under := &lifecycle.Underway{Operation: rest.Operation(named.Operation), Progress: lifecycle.ProgressUnknown}
	switch {
	case named.Failed != "":
		under.Progress, under.Outcome, under.Kept = lifecycle.ProgressFailed, named.Failed, true
		u.failure = u.mem.operation.failure
	case named.URL == "":
		under.Progress = lifecycle.ProgressForgotten
	}
	u.facts.Underway = under
	u.nameOperation(u.record.Identifiers)
}

func withoutFailure(o lifecycle.RecordedOperation) lifecycle.RecordedOperation {
	o.Failed = ""
	return o
}

// nameOperation notes which identifiers are known of what is being made.
func (u *run) nameOperation(ids map[string]string) {
	under := u.facts.Underway
	under.Identified = true
	for _, name := range u.program.IdentifierNames() {
		under.Identified = under.Identified && ids[name] != ""
	}
	under.Named = under.Identified && u.program.HasAssignedIdentifiers()
}

func (u *run) tickOperation() {
	under := u.facts.Underway
	if under != nil {
		under.Overdue = u.Clock.Now().Sub(u.mem.operation.since) > u.program.Deadline(under.Operation)
	}
}

// acceptance finds out whether a success only means that the server will do it later. An update or a delete that names
// no operation counts as done: the look that follows shows what became of it. A create that names none is waited for.
func (u *run) acceptance(ctx context.Context, req rest.Request, x rest.Exchange, v lifecycle.Verdict) lifecycle.Verdict {
	if u.stepping || v.Outcome != lifecycle.Success || x.Response == nil || x.Failure != nil {
		return v
	}
	accepted, handle, err := u.pass.Accepted(ctx, req.Operation, x.Response)
	if err == nil && !accepted {
		return v
	}
	u.handle = ""
	if err == nil && handle != "" {
		u.handle, err = u.reference(req, handle)
	}
	u.askAfter = x.RetryAfter
	if u.handle == "" {
		u.noHandle(req, err)
		if req.Operation != rest.Create {
			return v
		}
	}
	return v.Accept()
}

// reference gives the URL of an operation in the form in which it is recorded. One with a secret in it is not.
func (u *run) reference(req rest.Request, handle string) (string, error) {
	kept, err := u.endpoint.Reference(req, handle)
	if err != nil {
		return "", err
	}
	if u.redact(kept) != kept {
		return "", errSecretInHandle
	}
	return kept, nil
}

var errSecretInHandle = errors.New("it holds a secret, which must not be written down")

func (u *run) noHandle(req rest.Request, err error) {
	problem := "the answer names none; see async.handle"
	if err != nil {
		problem = u.redact(err.Error())
	}
	u.Events.Warning(u.obj, "OperationUnknown", string(req.Operation), "accepted, and the operation cannot be followed: "+req.Method+" "+req.Route+": "+problem)
}

// keepOperation persists which operation is under way, before it is asked about. After a create nothing else remembers
// what is being made, so that this is tried for as long as the process lives.
func (u *run) keepOperation(ctx context.Context) *lifecycle.Step {
	failpoint("after-accept-before-record")
	op := u.facts.Sent.Operation
	record := u.record.Accept(op, u.handle, u.Clock.Now())
	if op != rest.Delete {
		record.Underway.Values = u.writeOnly
	}
	if op == rest.Create {
		record.Identifiers = u.ids
		if stop := u.swapUntilKept(ctx, record); stop != nil {
			return stop
		}
	} else if err := u.swapRecord(ctx, record); err != nil {
		return u.writeFailed(err)
	}
	failpoint("after-operation-record")
	u.mem.operation = operationMemory{
		named: *record.Underway, since: u.Clock.Now(),
		generation: u.obj.GetGeneration(), program: u.program,
	}
	u.facts.Sent.Kept = true
	u.Events.Normal(u.obj, "Accepted", string(op), "the server has accepted it and does it later: "+u.program.Route(op))
	return nil
}

// pollOperation asks how far the operation has come.
func (u *run) pollOperation(ctx context.Context) *lifecycle.Step {
	failpoint("during-poll")
	u.askProgress(ctx, u.record.Underway.URL)
	failpoint("after-poll-before-record")
	return nil
}

func (u *run) askProgress(ctx context.Context, url string) {
	under := u.facts.Underway
	req := u.pass.PollRequest(under.Operation, url)
	x := u.do(ctx, req)
	report, declared, err := u.report(ctx, under.Operation, x)
	if err != nil {
		under.Progress = lifecycle.ProgressUnreadable
		u.failure = &requestFailure{operation: under.Operation, verdict: lifecycle.Verdict{Reason: v1alpha1.ReasonExpressionFailed, Message: u.redact(err.Error())}}
		return
	}
	progress, verdict := lifecycle.JudgeOperation(req, under.Operation, x, report, declared)
	under.Progress, under.Outcome, u.askAfter = progress, verdict.Outcome, verdict.After
	switch progress {
	case lifecycle.ProgressUnreadable:
		u.fail(req, x, verdict)
	case lifecycle.ProgressFailed:
		verdict.Message = u.redact(verdict.Message)
		u.failure = &requestFailure{operation: under.Operation, status: x.Response.Status, verdict: verdict}
		u.mem.operation.failure = u.failure
	case lifecycle.ProgressDone:
		if under.Operation == rest.Create {
			u.know(u.pass.AssignedByOperation(ctx, x.Response))
			u.nameOperation(u.ids)
		}
	default: // there is nothing to note
	}
	u.noteEnd()
}

// report lets the mapping read an answer about an operation.
func (u *run) report(ctx context.Context, op rest.Operation, x rest.Exchange) (lifecycle.Report, *lifecycle.Declared, error) {
	if x.Response == nil || x.Failure != nil {
		return lifecycle.Report{}, nil, nil //nolint:nilerr // the failure is a fact of the exchange; there is nothing to read
	}
	done, failed, message, err := u.pass.Progress(ctx, op, x.Response)
	if err != nil || !failed {
		return lifecycle.Report{Done: done}, nil, err
	}
	if message == "" {
		message = lifecycle.ServerWords(x.Response, u.redact)
	}
	outcome, words, matched, err := u.pass.Outcome(ctx, op, x.Response)
	report := lifecycle.Report{Failed: true, Message: lifecycle.CutWords(u.redact(message))}
	if err != nil || !matched {
		return report, nil, err
	}
	return report, &lifecycle.Declared{Outcome: outcome, Message: words}, nil
}

// noteEnd opens a consistency window when this process learns that an operation is over: what it did, it did just before.
func (u *run) noteEnd() {
	m := &u.mem.operation
	switch u.facts.Underway.Progress {
	case lifecycle.ProgressDone, lifecycle.ProgressFailed, lifecycle.ProgressForgotten:
	default:
		return
	}
	if m.ended {
		return
	}
	m.ended = true
	if u.facts.Underway.Operation == rest.Delete {
		return
	}
	u.mem.lastWrite, u.mem.seenSince, u.mem.absentAt = u.Clock.Now(), false, noTime
	if u.facts.Underway.Progress == lifecycle.ProgressDone {
		u.noteDone()
	}
}

// noteDone: the server has what was sent.
func (u *run) noteDone() {
	m := &u.mem.operation
	if m.program != nil {
		u.mem.acceptedGeneration, u.mem.acceptedProgram = m.generation, m.program
	}
	u.serverHas(m.named.Values)
	if u.facts.Underway.Operation == rest.Create {
		u.mem.createdHere = true
		u.Events.Normal(u.obj, "Created", string(rest.Create), "created outside: the operation of "+u.program.Route(rest.Create)+" is done")
		return
	}
	u.Events.Normal(u.obj, "Updated", string(rest.Update), "updated outside: the operation of "+u.program.Route(rest.Update)+" is done")
}

// endOperation takes an operation that is over out of the record, or notes there that a create has failed.
func (u *run) endOperation(ctx context.Context) *lifecycle.Step {
	under := u.facts.Underway
	record := *u.record
	if under.Operation == rest.Create {
		failed := *record.Underway
		failed.Failed = under.Outcome
		record.Underway = &failed
	} else {
		record.Underway = nil
		if sent := u.record.Underway.Values; sent != "" && under.Progress == lifecycle.ProgressDone {
			record.Values = sent
		}
		if under.Progress == lifecycle.ProgressRunning || under.Progress == lifecycle.ProgressUnreadable {
			u.failure = &requestFailure{operation: under.Operation, verdict: lifecycle.TimedOut(under.Operation)}
		}
	}
	if err := u.swapRecord(ctx, record); err != nil {
		return u.writeFailed(err)
	}
	lifecycle.Conclude(&u.facts, lifecycle.EndOperation)
	if u.facts.Underway == nil {
		u.observed = nil
	}
	return nil
}

// pollDelay is the server's own wish, or the mapping's interval.
func (u *run) pollDelay() time.Duration {
	if u.askAfter > 0 {
		return min(u.askAfter, maxServerDelay)
	}
	if u.facts.Underway != nil {
		return u.program.PollInterval(u.facts.Underway.Operation)
	}
	return u.program.PollInterval(u.facts.Sent.Operation)
}

// cameToItsEnd tells whether a create that was only accepted, and that nothing remembers, is over.
func (u *run) cameToItsEnd(ctx context.Context) bool {
	if u.handle == "" {
		return true
	}
	u.facts.Underway = &lifecycle.Underway{Operation: rest.Create}
	u.askProgress(ctx, u.handle)
	progress := u.facts.Underway.Progress
	u.facts.Underway = nil
	return progress != lifecycle.ProgressRunning && progress != lifecycle.ProgressUnreadable
}
