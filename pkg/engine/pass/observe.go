package pass

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/mapping"
	"github.com/restmapping/operator/pkg/rest"
)

// observe looks at the object: by its identity when that is known and can be read, otherwise by the list.
func (u *run) observe(ctx context.Context) *lifecycle.Step {
	stop := u.look(ctx)
	u.mem.lookedAt = u.mem.lookedAt || u.facts.Look == lifecycle.LookFound
	return stop
}

func (u *run) look(ctx context.Context) *lifecycle.Step {
	known := u.identified()
	switch {
	case known && u.program.Supports(rest.Read):
		return u.read(ctx)
	case known && u.program.Supports(rest.List), u.program.CanLookUp():
		return u.list(ctx)
	default:
		u.facts.Look = lifecycle.LookImpossible
		return nil
	}
}

func (u *run) read(ctx context.Context) *lifecycle.Step {
	req, err := u.pass.ReadRequest(ctx)
	if err != nil {
		return stall(v1alpha1.ReasonExpressionFailed, err.Error())
	}
	x, verdict, stop := u.ask(ctx, req)
	if stop != nil {
		return stop
	}
	switch verdict.Outcome {
	case lifecycle.Success:
		if stop := u.seeSelected(ctx, req, x.Response); stop != nil {
			return stop
		}
		return u.checkMark(ctx)
	case lifecycle.Absent:
		return u.readAbsent(ctx)
	default:
		return u.lookFailed(req, x, verdict)
	}
}

// readAbsent asks the list, where it can find the object, before the absence of a recorded object is believed: the server
// may have given it a new identifier, or the path of the read may be wrong.
func (u *run) readAbsent(ctx context.Context) *lifecycle.Step {
	u.seeAbsent()
	if u.searching || u.facts.Record != lifecycle.RecordCreated || u.facts.AllChosen || !u.program.CanLookUp() || !u.unique() {
		return nil
	}
	before := maps.Clone(u.ids)
	u.searching = true
	defer func() { u.searching = false }()
	stop := u.list(ctx)
	switch {
	case stop != nil:
		return stop
	case u.facts.Look == lifecycle.LookFailed && u.collectionGone():
		u.failure = nil
		u.seeAbsent()
		return nil
	case u.facts.Look != lifecycle.LookFound:
		return nil
	case !differ(u.ids, before):
		return u.contradiction()
	default:
		return u.moved(ctx)
	}
}

// collectionGone tells that the list could not be asked because what holds it is not there: a parent that was deleted
// takes its children along. Then the read's word stands.
func (u *run) collectionGone() bool {
	f := u.failure
	return f != nil && (f.verdict.Outcome == lifecycle.Waiting || f.status == http.StatusNotFound || f.status == http.StatusGone)
}

// unique tells that what the list finds is ours, and nothing else.
func (u *run) unique() bool {
	return u.facts.Safety == v1alpha1.SafetyMarker || u.facts.Safety == v1alpha1.SafetyUniqueKey
}

// contradiction: the list shows the object and the read does not. Nothing may follow from that.
func (u *run) contradiction() *lifecycle.Step {
	u.failure = &requestFailure{operation: rest.Read, verdict: lifecycle.Verdict{
		Outcome: lifecycle.Failed, Reason: v1alpha1.ReasonObservationFailed,
		Message: "operations.list finds the object and operations.read (" + u.program.Route(rest.Read) + ") does not; check the path of the read",
	}}
	u.facts.Look = lifecycle.LookFailed
	u.mem.failures++
	return nil
}

// moved persists the identifiers under which the list has found the object.
func (u *run) moved(ctx context.Context) *lifecycle.Step {
	record := *u.record
	record.Identifiers = maps.Clone(u.ids)
	if err := u.swapRecord(ctx, record); err != nil {
		return u.writeFailed(err)
	}
	return nil
}

// checkMark looks whether an object that was read by its recorded identity is the one that was made. Servers give
// identifiers a second time. Where the read does not show the mark, the list decides.
func (u *run) checkMark(ctx context.Context) *lifecycle.Step {
	found := u.facts.Look == lifecycle.LookFound && u.facts.Record == lifecycle.RecordCreated
	if u.searching || !found || u.facts.Safety != v1alpha1.SafetyMarker || u.pass.Matches(ctx, u.observed) {
		return nil
	}
	observed, before := u.observed, maps.Clone(u.ids)
	u.searching = true
	defer func() { u.searching = false }()
	if stop := u.list(ctx); stop != nil || u.facts.Look != lifecycle.LookFound && u.facts.Look != lifecycle.LookAbsent {
		return stop
	}
	switch {
	case u.facts.Look == lifecycle.LookAbsent:
		u.facts.Look, u.facts.Unmarked, u.observed = lifecycle.LookFound, true, observed
		return nil
	case differ(u.ids, before):
		return u.moved(ctx)
	default:
		return u.see(ctx, observed)
	}
}

// list searches page by page. Absence is only concluded after the last.
func (u *run) list(ctx context.Context) *lifecycle.Step {
	var matches []any
	for page := (mapping.Page{}); ; {
		req, err := u.pass.ListRequest(ctx, page)
		if err != nil {
			return stall(v1alpha1.ReasonExpressionFailed, err.Error())
		}
		x, verdict, stop := u.ask(ctx, req)
		if stop != nil {
			return stop
		}
		switch verdict.Outcome {
		case lifecycle.Success:
		case lifecycle.Absent:
			u.seeAbsent()
			return nil
		default:
			return u.lookFailed(req, x, verdict)
		}
		found, next, err := u.pass.ListPage(ctx, x.Response, page)
		if err != nil {
			return u.unreadable(req, x.Response, err)
		}
		matches = append(matches, found...)
		if next == nil {
			return u.seeMatches(ctx, matches)
		}
		page = *next
	}
}

func (u *run) seeMatches(ctx context.Context, matches []any) *lifecycle.Step {
	switch len(matches) {
	case 0:
		u.seeAbsent()
		return nil
	case 1:
		return u.seeItem(ctx, matches[0])
	default:
		u.facts.Look = lifecycle.LookSeveral
		return nil
	}
}

// seeItem takes the identity from a list item. The whole object is read where it can be: items are often shortened.
func (u *run) seeItem(ctx context.Context, item any) *lifecycle.Step {
	if !u.identified() || u.searching {
		assigned, err := u.pass.AssignedFromItem(ctx, item)
		if err != nil {
			return stall(v1alpha1.ReasonExpressionFailed, err.Error())
		}
		same := !differ(assigned, u.ids)
		u.know(assigned)
		shown := u.searching && same
		if u.program.Supports(rest.Read) && !shown {
			return u.read(ctx)
		}
	} else if stop := u.follow(ctx, item); stop != nil {
		return stop
	}
	return u.see(ctx, item)
}

// follow keeps up with a server that gives its objects new identifiers when they change. Where there is only a list, the
// item that matches is the object, and its identifier is the one that counts.
func (u *run) follow(ctx context.Context, item any) *lifecycle.Step {
	if !u.identifiedByList() || u.facts.Record != lifecycle.RecordCreated {
		return nil
	}
	assigned, err := u.pass.AssignedFromItem(ctx, item)
	if err != nil {
		return stall(v1alpha1.ReasonExpressionFailed, err.Error())
	}
	if !differ(assigned, u.ids) {
		return nil
	}
	u.know(assigned)
	return u.moved(ctx)
}

// know adds identifiers that a response has shown.
func (u *run) know(assigned map[string]string) {
	maps.Copy(u.ids, assigned)
	u.pass.SetIdentifiers(u.ids)
}

// ask sends a request and gives what came of it and its meaning.
func (u *run) ask(ctx context.Context, req rest.Request) (rest.Exchange, lifecycle.Verdict, *lifecycle.Step) {
	x := u.do(ctx, req)
	declared, err := declaredBy(ctx, u.pass, req, x)
	if err != nil {
		return x, lifecycle.Verdict{}, stall(v1alpha1.ReasonExpressionFailed, err.Error())
	}
	return x, lifecycle.Classify(req, x, declared), nil
}

// declaredBy asks the mapping's outcome rules about a whole response.
func declaredBy(ctx context.Context, p *mapping.Pass, req rest.Request, x rest.Exchange) (*lifecycle.Declared, error) {
	if x.Response == nil || x.Failure != nil {
		return nil, nil //nolint:nilerr // the failure is a fact of the exchange; there is nothing to ask about
	}
	outcome, message, matched, err := p.Outcome(ctx, req.Operation, x.Response)
	if err != nil || !matched {
		return nil, err
	}
	return &lifecycle.Declared{Outcome: outcome, Message: message}, nil
}

// seeSelected takes the object out of a response.
func (u *run) seeSelected(ctx context.Context, req rest.Request, resp *rest.Response) *lifecycle.Step {
	observed, present, err := u.pass.Select(ctx, req.Operation, resp)
	if err == nil && !present {
		err = errNothingSelected
	}
	if err != nil {
		return u.unreadable(req, resp, err)
	}
	return u.see(ctx, observed)
}

var errNothingSelected = errors.New("the response holds no object; if that means that it is absent, declare so in outcomes")

// see compares the object with what is specified.
func (u *run) see(ctx context.Context, observed any) *lifecycle.Step {
	u.sensitive = append(u.sensitive, u.pass.SensitiveOf(observed)...)
	comparison, err := u.compare(ctx, observed)
	if err != nil {
		return stall(v1alpha1.ReasonExpressionFailed, err.Error())
	}
	u.observed = observed
	u.facts.Look = lifecycle.LookFound
	u.differences, u.immutable = slices.Concat(comparison.Differences, comparison.Immutable), comparison.Immutable
	if u.secretChanged {
		u.differences = append(u.differences, mapping.Difference{Path: writeOnlyPath})
	}
	u.facts.Equal = len(comparison.Differences) == 0 && !u.secretChanged
	u.facts.Immutable, u.facts.AsSent = len(comparison.Immutable) > 0, comparison.AsSent
	u.digest = comparison.Digest
	u.noteFruitless(comparison.Digest)
	if stop := u.findStep(ctx); stop != nil {
		return stop
	}
	u.noteRotation(ctx)
	u.noteDrift()
	m := u.mem
	m.seenSince, m.absentAt, m.failures, m.goodAt = true, noTime, 0, u.Clock.Now()
	m.seenEver, u.facts.NeverSeen = true, false
	if u.facts.Record == lifecycle.RecordCreated && u.facts.Ours() && u.facts.Answer == lifecycle.AnswerNone {
		m.confirmed, u.facts.Confirmed = true, true
	}
	return nil
}

// compare finds what differs. A deletion must not hang on an expression: where one fails, nothing is known of the object,
// and it does not count as the one that was sent.
func (u *run) compare(ctx context.Context, observed any) (mapping.Comparison, error) {
	comparison, err := u.pass.Compare(ctx, observed)
	if err != nil && u.facts.Deleting {
		return mapping.Comparison{}, nil
	}
	return comparison, err
}

// noteDrift: a difference is drift when this generation was in sync before, and nothing was sent in this pass.
func (u *run) noteDrift() {
	if u.facts.Equal && !u.facts.Immutable || u.facts.Sent != nil || u.facts.Record != lifecycle.RecordCreated || !u.facts.Confirmed {
		return
	}
	if u.settledGeneration() && !u.secretChanged {
		u.drifted = u.differences
	}
}

func (u *run) seeAbsent() {
	u.facts.Look = lifecycle.LookAbsent
	u.mem.failures, u.mem.goodAt = 0, u.Clock.Now()
	if u.mem.absentAt.IsZero() || u.facts.Settled && u.open(u.mem.absentAt) {
		u.mem.absentAt = u.Clock.Now()
	}
}

// lookFailed keeps everything as it is; what the server said goes into the status.
func (u *run) lookFailed(req rest.Request, x rest.Exchange, verdict lifecycle.Verdict) *lifecycle.Step {
	u.fail(req, x, verdict)
	u.facts.Look = lifecycle.LookFailed
	u.mem.failures++
	return nil
}

func (u *run) unreadable(req rest.Request, resp *rest.Response, err error) *lifecycle.Step {
	message := fmt.Sprintf("%s %s answered %d: %s", req.Method, req.Route, resp.Status, err.Error())
	u.failure = &requestFailure{operation: req.Operation, status: resp.Status, verdict: lifecycle.Verdict{
		Outcome: lifecycle.Failed, Reason: v1alpha1.ReasonObservationFailed, Message: u.redact(message),
	}}
	u.facts.Look = lifecycle.LookFailed
	u.mem.failures++
	return nil
}

// checkGuard asks whether so much is deleted at once that a person has to say that it is meant.
func (u *run) checkGuard(ctx context.Context) {
	why, err := u.Deletions.Held(ctx, u.obj)
	switch {
	case err != nil:
		u.facts.Guard, u.held = lifecycle.GuardFailed, err.Error()
	case why != "":
		u.facts.Guard, u.held = lifecycle.GuardHolds, why
	default:
		u.facts.Guard = lifecycle.GuardOpen
	}
}

func (u *run) checkProbe(ctx context.Context) {
	declared, err := u.endpoint.Probe(ctx, u.Clock.Now()) // it is to speak for the look that was just made
	switch {
	case err != nil:
		u.facts.Probe = lifecycle.ProbeFailed
		u.failure = &requestFailure{operation: rest.Probe, verdict: lifecycle.Verdict{
			Outcome: lifecycle.Failed, Reason: v1alpha1.ReasonProbeFailed, Message: u.redact(err.Error()),
		}}
	case declared:
		u.facts.Probe = lifecycle.ProbeOK
	default:
		u.facts.Probe = lifecycle.ProbeNotThere
	}
}
