package pass

import (
	"context"
	"maps"
	"strings"
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/lifecycle/parts"
	"github.com/restmapping/operator/pkg/rest"
)

// write persists what was learned about keys, and the intent to create one, in one write with an optimistic lock. The request
// is made ready before: what cannot be said must not be written down as about to be sent.
func (p *partRun) write(ctx context.Context, step parts.Step) {
	var chosen map[string]string
	if step.Key != "" {
		var err error
		if chosen, err = p.prepareCreate(ctx, step.Key); err != nil {
			p.holdExpression(step.Key, rest.Create, err)
			return
		}
	}
	entries := maps.Clone(p.entries())
	if entries == nil {
		entries = lifecycle.PartEntries{}
	}
	for _, change := range step.Changes {
		p.change(entries, change, chosen)
	}
	record := p.record.WithPart(p.part.Name(), entries)
	if p.tooMany = record.Fits(); p.tooMany != nil {
		return
	}
	failpoint("before-part-record")
	before := p.entries()
	if stop := p.patchRecord(ctx, record); stop != nil {
		return
	}
	for _, change := range step.Changes {
		p.changed(before, change)
	}
}

// change makes one change in the entries that are to be written.
func (p *partRun) change(entries lifecycle.PartEntries, c parts.Change, chosen map[string]string) {
	m := p.memory(c.Key)
	switch {
	case c.Restore && m.before != nil:
		entries[c.Key] = *m.before
	case c.Restore || c.To == parts.None:
		delete(entries, c.Key)
	case c.To == parts.Creating:
		entries[c.Key] = lifecycle.PartEntry{Creating: true, Identifiers: chosen}
	case m.identifiers != nil:
		entries[c.Key] = lifecycle.PartEntry{Identifiers: m.identifiers}
	default:
		entries[c.Key] = lifecycle.PartEntry{Identifiers: p.items[c.Key][0].Identifiers}
	}
}

// changed notes what was written.
func (p *partRun) changed(before lifecycle.PartEntries, c parts.Change) {
	m := p.memory(c.Key)
	switch {
	case c.Restore:
		m.refused = false
		if p.facts.Sent != nil {
			p.facts.Sent.Restored = true
		}
	case c.To == parts.Creating:
		var was *lifecycle.PartEntry
		if entry, known := before[c.Key]; known {
			was = &entry
		}
		k := parts.Key{}
		m.facts(&k, p.now, p.timing())
		m.written(p.Clock.Now(), k.Settled, was)
		p.facts.Intended = c.Key
	case c.To == parts.Made:
		m.unseen = m.identifiers != nil && p.own(c.Key, p.entries()[c.Key]) == nil
		if _, known := before[c.Key]; !known {
			m.since, m.clean, m.answered = p.Clock.Now(), true, true // taken over; nothing of ours was under way
		}
		m.identifiers = nil
	default:
		*m = partMemory{}
	}
}

func (p *partRun) prepareCreate(ctx context.Context, key string) (map[string]string, error) {
	chosen, err := p.pass.Chosen(ctx, key)
	if err != nil {
		return nil, err
	}
	p.pass.At(key, chosen, p.elements[key])
	p.create, err = p.pass.CreateRequest(ctx)
	return chosen, err
}

// sendCreate sends the create that the intent is about. Its deadline counts from the intent.
func (p *partRun) sendCreate(ctx context.Context, key string) {
	m := p.memory(key)
	left := p.endpoint.Timeout() - p.Clock.Now().Sub(m.since)
	ctx, cancel := context.WithTimeout(ctx, max(left, 0))
	defer cancel()
	failpoint("after-part-intent-before-send")
	p.facts.Intended = ""
	x, verdict := p.mutate(ctx, key, p.create)
	failpoint("after-part-send")
	m.answered = verdict.Outcome != lifecycle.Ambiguous
	switch {
	case verdict.Outcome == lifecycle.Ambiguous:
	case verdict.Outcome != lifecycle.Success:
		m.refused = true
	default:
		p.created(ctx, key, x.Response)
	}
}

// created takes the identifiers from the answer. Where they are not in it, the outcome counts as unknown.
func (p *partRun) created(ctx context.Context, key string, resp *rest.Response) {
	m := p.memory(key)
	assigned, err := p.pass.Assigned(ctx, resp)
	if err != nil {
		m.answered = false
		return
	}
	m.identifiers, m.failures = p.entries()[key].Identifiers, 0
	if len(assigned) > 0 {
		m.identifiers = maps.Clone(m.identifiers)
		if m.identifiers == nil {
			m.identifiers = map[string]string{}
		}
		maps.Copy(m.identifiers, assigned)
	}
	if m.identifiers == nil {
		m.identifiers = map[string]string{}
	}
	p.Events.Normal(p.obj, "Created", string(rest.Create), p.place(key)+" created outside: "+p.create.Method+" "+p.create.Route)
}

func (p *partRun) sendUpdate(ctx context.Context, key string) {
	own, unlike := p.own(key, p.entries()[key]), p.unlike[key]
	p.pass.At(key, own.Identifiers, p.elements[key])
	req, err := p.pass.UpdateRequest(ctx, own.Object)
	if err != nil {
		p.holdExpression(key, rest.Update, err)
		return
	}
	failpoint("before-part-update-send")
	if _, verdict := p.mutate(ctx, key, req); verdict.Outcome != lifecycle.Success {
		return
	}
	m := p.memory(key)
	m.acceptedGeneration, m.acceptedProgram = p.obj.GetGeneration(), p.program
	p.hold(key, requestFailure{operation: rest.Update, verdict: lifecycle.Verdict{
		Outcome: lifecycle.Failed, Reason: v1alpha1.ReasonUpdating,
		Message: p.place(key) + ": " + req.Method + " " + req.Route + " was accepted, and these fields still differ: " + strings.Join(unlike, ", "),
	}})
	p.Events.Normal(p.obj, "Updated", string(rest.Update), "updated outside: "+p.place(key))
}

// sendDelete deletes the object of a key: the recorded one, or one that nobody asked for.
func (p *partRun) sendDelete(ctx context.Context, key string) {
	identifiers, observed := p.entries()[key].Identifiers, any(nil)
	if own := p.own(key, p.entries()[key]); own != nil {
		identifiers, observed = own.Identifiers, own.Object
	} else if _, recorded := p.entries()[key]; !recorded {
		identifiers, observed = p.items[key][0].Identifiers, p.items[key][0].Object
	}
	p.pass.At(key, identifiers, nil)
	req, err := p.pass.DeleteRequest(ctx, observed)
	if err != nil {
		p.holdExpression(key, rest.Delete, err)
		return
	}
	m := p.memory(key)
	before := m.lastWrite
	failpoint("before-part-delete-send")
	_, verdict := p.mutate(ctx, key, req)
	m.lastWrite = before
	if verdict.Outcome != lifecycle.Success && verdict.Outcome != lifecycle.Absent {
		return
	}
	m.gone = true
	p.hold(key, requestFailure{operation: rest.Delete, verdict: lifecycle.Verdict{
		Outcome: lifecycle.Failed, Reason: v1alpha1.ReasonDeleting,
		Message: p.place(key) + ": " + req.Method + " " + req.Route + " was answered, and the object is still there",
	}})
	p.Events.Normal(p.obj, "Deleted", string(rest.Delete), "deleted outside: "+p.place(key))
}

// mutate sends a mutating request once and notes what is known afterwards.
func (p *partRun) mutate(ctx context.Context, key string, req rest.Request) (rest.Exchange, lifecycle.Verdict) {
	x, verdict, err := p.ask(ctx, req)
	m, now := p.memory(key), p.Clock.Now()
	if verdict.Outcome.Applied() {
		m.lastWrite, m.absentAt = now, noTime
	}
	if verdict.Outcome == lifecycle.Ambiguous {
		t := p.timing()
		m.openUntil = laterOf(m.openUntil, now.Add(t.Slack+t.Window))
	}
	p.spentOnPart = true
	p.facts.Sent = &parts.Sent{Key: key, Operation: req.Operation, Outcome: verdict.Outcome, Last: p.last}
	switch {
	case err != nil:
		p.holdExpression(key, req.Operation, err)
	case verdict.Outcome != lifecycle.Success && verdict.Outcome != lifecycle.Absent:
		p.fail(req, x, verdict)
		p.failure.verdict.Message = p.place(key) + ": " + p.failure.verdict.Message
		p.hold(key, *p.failure)
	}
	return x, verdict
}

func laterOf(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// holdExpression holds a key back whose request could not be made.
func (p *partRun) holdExpression(key string, op rest.Operation, err error) {
	p.hold(key, requestFailure{operation: op, verdict: lifecycle.Verdict{
		Outcome: lifecycle.Rejected, Reason: v1alpha1.ReasonExpressionFailed, Message: p.redact(p.place(key) + ": " + err.Error()),
	}})
}

// hold keeps a key from being tried again too soon: as long as the server wishes, until nearly the next interval where a
// person must act, and otherwise longer each time.
func (p *partRun) hold(key string, f requestFailure) {
	m, now := p.memory(key), p.Clock.Now()
	m.failures++
	wait := m.backoff()
	switch f.verdict.Outcome {
	case lifecycle.Rejected, lifecycle.Conflict, lifecycle.Unauthorized:
		wait = max(wait, max(p.program.Interval(), p.MinInterval)*3/4)
	default:
		wait = max(wait, min(f.verdict.After, maxServerDelay))
	}
	m.failure, m.heldUntil, m.heldGeneration, m.heldProgram = f, now.Add(wait), p.obj.GetGeneration(), p.program
}
