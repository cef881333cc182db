package model

import (
	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/rest"
)

// step carries out what lifecycle.Next says, as pkg/engine/pass does.
func (m *machine) step(w world, i int) {
	step := m.next(&w.procs[i])
	label := string(step.Action)
	if step.Terminal() {
		w.note(&w.procs[i])
		w.procs[i].end()
		m.emit(label, false, w)
		return
	}
	switch step.Action {
	case lifecycle.Observe:
		m.observe(w, i)
		return
	case lifecycle.CheckProbe:
		n := w
		n.procs[i].probe = probeOK
		if w.blackout {
			n.procs[i].probe = probeFailed
		}
		m.seen(label, n, i)
	case lifecycle.WriteIntent:
		n := w
		m.intend(&n, i)
		m.done(label, n, i)
	case lifecycle.KeepOperation:
		n := w
		m.keepJob(&n, i)
		m.done(label, n, i)
	case lifecycle.PollOperation:
		m.poll(w, i)
	case lifecycle.EndOperation:
		n := w
		m.endJob(&n, i)
		m.done(label, n, i)
	case lifecycle.SendCreate:
		m.create(w, i)
	case lifecycle.CheckKey:
		n := w
		n.procs[i].key = n.keyOf(&n.procs[i])
		m.seen(label, n, i)
	case lifecycle.ResendCreate:
		m.resend(w, i)
	case lifecycle.SendUpdate:
		m.post(w, i, opUpdate)
	case lifecycle.SendDelete:
		m.post(w, i, opDelete)
	case lifecycle.KeepIdentity:
		n := w
		m.keep(&n, i)
		m.done(label, n, i)
	case lifecycle.ForgetIntent:
		n := w
		m.forget(&n, i)
		m.done(label, n, i)
	case lifecycle.BeginReplacing, lifecycle.EndReplacing:
		n := w
		m.replacing(&n, i, step.Action == lifecycle.BeginReplacing)
		m.done(label, n, i)
	case lifecycle.Release:
		n := w
		m.release(&n, i)
		m.emit(label, false, n)
	default:
		panic("a pass that should have ended: " + label)
	}
}

// done is the end of a step that has written or sent something.
func (m *machine) done(label string, w world, i int) {
	if p := &w.procs[i]; p.mode == deciding {
		p.ticked = p.elapsedNow()
	}
	m.seen(label, w, i)
}

// seen is the end of a step that has looked.
func (m *machine) seen(label string, w world, i int) {
	if !m.rules.tickAfterLook {
		m.settleDown(&w, i)
	}
	m.emit(label, false, w)
}

// next asks the code that ships.
func (m *machine) next(p *process) lifecycle.Step { return lifecycle.Next(m.rules.bend(m.facts(p))) }

// facts mirror pass.begin and pass.tick.
func (m *machine) facts(p *process) lifecycle.Facts {
	record := [...]lifecycle.RecordState{
		lifecycle.RecordMissing, lifecycle.RecordNone, lifecycle.RecordCreating, lifecycle.RecordCreated,
	}[p.view.phase]
	if p.view.forged {
		record = lifecycle.RecordForged
		if m.rules.believeForged {
			record = lifecycle.RecordCreated
		}
	}
	f := lifecycle.Facts{
		Deleting: p.view.deleting, Finalizer: p.view.finalizer, Safety: m.class.safety, AllChosen: m.class.chosen,
		Policy: v1alpha1.Policy{
			Adoption: v1alpha1.AdoptNever, Deletion: v1alpha1.DeletionDelete, OnMissing: v1alpha1.MissingRecreate,
			Drift: v1alpha1.DriftCorrect, Management: v1alpha1.ManagementFull,
		},
		CreatesLater: m.class.later, Underway: m.under(p),
		CanCreate: true, CanUpdate: !m.class.replaces, CanDelete: true,
		Edited: p.view.madeGen != p.view.gen, Replacing: p.view.replacing, Replaced: p.replaced,
		Key: m.key(p), Record: record, Confirmed: record == lifecycle.RecordCreated && p.confirmed,
		Answer: [...]lifecycle.Answer{lifecycle.AnswerNone, lifecycle.AnswerAbsent, lifecycle.AnswerAdopt}[p.view.answer],
		Look: [...]lifecycle.Look{
			lifecycle.LookNotYet, lifecycle.LookImpossible, lifecycle.LookFailed, lifecycle.LookAbsent,
			lifecycle.LookFound, lifecycle.LookSeveral,
		}[p.look],
		IdentityChanged: p.view.forged && m.class.chosen && !p.view.deleting,
		Equal:           p.equal, AsSent: p.equal, Intended: p.intended, Unresolved: p.unresolved,
		Probe:        [...]lifecycle.ProbeState{lifecycle.ProbeNotYet, lifecycle.ProbeOK, lifecycle.ProbeFailed}[p.probe],
		JustWritten:  !m.time(p).window && p.accepted == p.view.gen+1,
		AbsentBefore: m.time(p).absentBefore,
	}
	if m.class.replaces {
		f.Policy.Immutable = v1alpha1.ImmutableReplace
	}
	m.elapsed(p).Apply(&f)
	f.Dependents = p.dependents.fact()
	if p.sent.op != noOp {
		f.Sent = p.sent.fact()
	}
	return f
}

// time gives the facts that depend on it.
func (m *machine) time(p *process) ticked {
	if m.rules.tickAfterLook {
		return p.elapsedNow()
	}
	return p.ticked
}

func (p *memory) elapsedNow() ticked {
	return ticked{settled: p.settled, window: !p.recent, led: p.led, closed: !p.open, absentBefore: p.absentBefore}
}

func (m *machine) elapsed(p *process) lifecycle.Elapsed {
	t := m.time(p)
	e := lifecycle.Elapsed{
		Settled: t.settled, Window: t.window, Seen: p.seen, Led: t.led, First: p.first, Answered: p.answered, Closed: t.closed,
	}
	if m.rules.answeredIsFenced {
		e.First = e.First || p.answered
	}
	if m.rules.upsertOnly && m.class.safety == v1alpha1.SafetyUniqueKey {
		e.Led = true
	}
	return e
}

func (s sent) fact() *lifecycle.Sent {
	return &lifecycle.Sent{
		Operation: [...]rest.Operation{"", rest.Create, rest.Update, rest.Delete}[s.op],
		Outcome: [...]lifecycle.Outcome{
			"", lifecycle.Success, lifecycle.Success, lifecycle.Absent, lifecycle.Conflict, lifecycle.Throttled,
			lifecycle.Failed, lifecycle.NotSent, lifecycle.Ambiguous, lifecycle.Accepted, lifecycle.Rejected,
		}[s.result],
		Identified: s.identified, Kept: s.kept, Forgotten: s.forgotten, Earlier: s.earlier, Again: s.again,
	}
}

// create sends the create that was intended, unless its time is over.
func (m *machine) create(w world, i int) {
	p := &w.procs[i]
	if p.late {
		n := w
		n.procs[i].take(opCreate, notSent, 0)
		m.done("the create comes too late to be sent", n, i)
		return
	}
	n := w
	if !m.class.unique() && m.another(&w, p) {
		n.bad = untimely
	}
	m.launch(&n, i, opCreate, 0)
	m.emit("SendCreate", false, n)
}

func (m *machine) post(w world, i int, o op) {
	n := w
	if o == opDelete && w.referred == somebody {
		n.bad = orphaned
	}
	m.launch(&n, i, o, w.procs[i].ids)
	m.emit("sends "+o.String(), false, n)
}

func (m *machine) launch(w *world, i int, o op, id uint8) {
	p := &w.procs[i]
	r := request{op: o, owner: w.owner(i), awaited: true, id: id, gen: p.view.gen}
	if o == opCreate {
		r.attempt = p.view.attempt
	}
	if o == opDelete {
		r.gen = 0
	}
	w.send(r)
	p.mode = waiting
}

// receive gives a process the answer, or lets it give up on it.
func (m *machine) receive(w world, i int) {
	r := *w.answerTo(i)
	if r.result != pending {
		n := w
		*n.answerTo(i) = request{}
		id := r.id
		if r.result == accepted {
			id = r.job
		}
		n.procs[i].answer(m, &n, r.op, r.result, id)
		m.done("is answered", n, i)
	}
	if w.left.losses == 0 || w.procs[i].deposed && r.result == pending && m.rules.frozen {
		return
	}
	m.lose(w, i, r)
}

func (m *machine) lose(w world, i int, r request) {
	n := w
	n.left.losses--
	a := n.answerTo(i)
	a.awaited = false
	if r.result != pending {
		*a = request{}
	}
	lost := ambiguous
	if m.rules.ambiguousIsFailed && r.op == opCreate {
		lost = failed
	}
	n.procs[i].answer(m, &n, r.op, lost, 0)
	m.done("gives up waiting", n, i)
	if r.op == opCreate && r.result == success && !m.class.chosen {
		n = w
		n.left.losses--
		*n.answerTo(i) = request{}
		result := unidentified
		if m.rules.ambiguousIsFailed {
			result = failed
		}
		n.procs[i].answer(m, &n, r.op, result, 0)
		m.done("is answered without the identity", n, i)
	}
}

// answer notes an outcome, and ends the pass after a compensation.
func (p *process) answer(m *machine, w *world, o op, r result, id uint8) {
	compensating := p.compensating
	p.mode = deciding
	p.take(o, r, id)
	if p.recent && o != opDelete {
		p.lagging = w.fuzzy()
	}
	if m.class.chosen && o == opCreate && r == success {
		p.confirmed = true
	}
	if compensating {
		p.stop()
	}
	if m.rules.lateFinalizer && o == opCreate && r == success && !w.cr.gone && !w.cr.finalizer {
		next := w.cr
		next.finalizer = true
		w.change(next, p)
	}
	if m.rules.noIntent && m.class.chosen && o == opCreate && r == success && !w.cr.gone {
		next := w.cr
		next.phase, next.id = created, 1
		w.change(next, p)
	}
}

// take mirrors pass.mutate and what follows each send.
func (p *process) take(o op, r result, id uint8) {
	if r == accepted {
		p.handle = id
	}
	if r == success || r == unidentified || r == ambiguous || r == accepted {
		if o != opDelete {
			p.recent = true
		}
		p.seen = o == opDelete && p.seen
		p.absentOnce, p.absentBefore = false, false
	}
	if r == ambiguous {
		p.open = true
	}
	p.sent, p.look, p.equal = sent{op: o, result: r}, notYet, false
	if o == opCreate {
		p.intended, p.late = false, false
		p.answered = r != ambiguous && r != unidentified
	}
	if o == opCreate && p.resent {
		p.answered, p.keyRefused = r == success, p.keyRefused || r == spurned
		p.sent.again, p.resent, p.verified = true, false, false
	}
	if o == opCreate && r == success {
		p.sent.identified, p.ids = true, id
	}
	if o == opUpdate && r == success {
		p.accepted = p.view.gen + 1
	}
}
