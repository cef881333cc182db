package model

import (
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/rest"
)

// job is what a server has accepted. A hidden one is no longer, or not yet, known where jobs are asked about; that says
// nothing about what it does.
type job struct {
	state   jobState
	hidden  bool
	request request
}

type jobState uint8

const (
	noJob jobState = iota
	jobRunning
	jobDone
	jobFailed
)

type progress uint8

const (
	notAsked progress = iota
	running
	jobIsDone
	hasFailed
	vanished
	unreadable
)

// accept is a server that does things later, a few at a time.
func (w *world) accept(r *request) {
	for k := range w.jobs {
		if w.jobs[k].state != noJob {
			continue
		}
		w.jobs[k] = job{state: jobRunning, request: request{op: r.op, owner: r.owner, attempt: r.attempt, id: r.id, gen: r.gen}}
		r.result, r.job = accepted, uint8(k)+1
		return
	}
	r.result = refused // it has its hands full
}

// work ends jobs, well or badly, and forgets them.
func (m *machine) work(w world) {
	for k, j := range w.jobs {
		if j.state == noJob {
			continue
		}
		if !j.hidden && w.left.forgets > 0 {
			n := w
			n.left.forgets--
			n.jobs[k].hidden = true
			m.emit("the server forgets a job", true, n)
		}
		if j.state != jobRunning {
			continue
		}
		n := w
		m.end(&n, k)
		m.emit("the server ends a job of "+j.request.op.String(), false, n)
		if w.left.fails == 0 {
			continue
		}
		n = w
		n.left.fails--
		n.jobs[k].state, n.jobs[k].request.result = jobFailed, failed
		m.emit("a job fails", true, n)
		n = w
		n.left.fails--
		m.end(&n, k)
		n.jobs[k].state, n.jobs[k].request.result = jobFailed, failed
		m.emit("a job fails half way", true, n)
	}
}

// end lets a job take effect.
func (m *machine) end(w *world, k int) {
	r := w.jobs[k].request
	m.do(w, &r)
	w.jobs[k].request, w.jobs[k].state = r, jobDone
	switch r.result {
	case conflict:
		w.jobs[k].state = jobFailed
	case absent: // also of a delete: what is to be deleted is not there, and that is all the server says
		w.jobs[k].state, w.jobs[k].request.result = jobFailed, failed
	default:
	}
}

// inTransit is underway, with or without what is accepted and not done.
func (w *world) inTransit(without bool, fits func(request) bool) bool {
	n := *w
	if without {
		n.jobs = [jobs]job{}
	}
	return n.underway(fits)
}

// note finds a process that waits for a job which nobody else could go on with.
func (w *world) note(p *process) {
	if p.sent.result == accepted && p.view.job != p.handle {
		w.bad = unrecorded
	}
}

// deadline is the time that a job may take, as far as this process knows. It may be over before the job is.
func (m *machine) deadline(w world, i int) {
	p := &w.procs[i]
	if p.overdue || p.view.job == 0 || w.left.overdue == 0 {
		return
	}
	n := w
	n.left.overdue--
	n.procs[i].overdue = true
	m.emit("a job is overdue", true, n)
}

// under mirrors pass.beginOperation.
func (m *machine) under(p *process) *lifecycle.Underway {
	if p.view.job == 0 {
		return nil
	}
	u := &lifecycle.Underway{
		Operation: [...]rest.Operation{"", rest.Create, rest.Update, rest.Delete}[p.view.jobOp],
		Progress: [...]lifecycle.Progress{
			lifecycle.ProgressUnknown, lifecycle.ProgressRunning, lifecycle.ProgressDone, lifecycle.ProgressFailed,
			lifecycle.ProgressForgotten, lifecycle.ProgressUnreadable,
		}[p.progress],
		Outcome: outcomeOf(p.failed), Identified: m.class.chosen || p.told, Named: p.told && !m.class.chosen, Overdue: p.overdue,
	}
	if p.view.jobFailed != pending {
		u.Progress, u.Outcome, u.Kept = lifecycle.ProgressFailed, outcomeOf(p.view.jobFailed), true
	}
	return u
}

func outcomeOf(r result) lifecycle.Outcome {
	if r == conflict {
		return lifecycle.Conflict
	}
	return lifecycle.Failed
}

// poll mirrors pass.pollOperation.
func (m *machine) poll(w world, i int) {
	if w.left.readFaults > 0 {
		n := w
		n.left.readFaults--
		n.procs[i].progress = unreadable
		m.done("a question about a job fails", n, i)
	}
	n := w
	n.procs[i].hear(&n)
	m.noteEnd(&n, i)
	m.done("asks about a job", n, i)
}

// hear takes the answer about the job that the record names.
func (p *process) hear(w *world) {
	j := w.jobs[p.view.job-1]
	switch {
	case p.view.jobFailed != pending:
		p.progress = hasFailed
	case j.hidden:
		p.progress = vanished
	case j.state == jobRunning:
		p.progress = running
	case j.state == jobFailed:
		p.progress, p.failed = hasFailed, j.request.result
	default:
		p.progress = jobIsDone
		if j.request.op == opCreate {
			p.ids, p.told = j.request.id, true
		}
	}
}

// noteEnd mirrors pass.noteEnd.
func (m *machine) noteEnd(w *world, i int) {
	p := &w.procs[i]
	over := p.progress == jobIsDone || p.progress == hasFailed || p.progress == vanished
	if !over || p.ended == p.view.job {
		return
	}
	p.ended = p.view.job
	if p.view.jobOp == opDelete || m.rules.noEndWindow {
		return
	}
	p.recent, p.seen, p.absentOnce, p.absentBefore = true, false, false, false
	p.lagging = w.fuzzy()
	if p.progress == jobIsDone && p.view.jobOp == opUpdate {
		p.accepted = p.view.gen + 1
	}
}

// keepJob mirrors pass.keepOperation.
func (m *machine) keepJob(w *world, i int) {
	p := &w.procs[i]
	if w.cr.gone || !w.cr.sameRecord(p.view) {
		p.stop()
		return
	}
	next := w.cr
	next.job, next.jobOp = p.handle, p.sent.op
	w.change(next, p)
	p.noteAttempt()
	p.sent.kept = true
}

// endJob mirrors pass.endOperation.
func (m *machine) endJob(w *world, i int) {
	p := &w.procs[i]
	if w.cr.gone || !w.cr.sameRecord(p.view) {
		p.stop()
		return
	}
	next := w.cr
	if next.jobOp == opCreate {
		next.jobFailed = p.failed
	} else {
		next.endJob()
	}
	f := m.facts(p)
	lifecycle.Conclude(&f, lifecycle.EndOperation)
	w.change(next, p)
	p.noteAttempt()
	p.take2(f)
}

// conclude mirrors the calls of Facts.Conclude. It is called once the record is written.
func (m *machine) conclude(p *process, a lifecycle.Action) {
	if p.progress == notAsked && p.sent.op == noOp {
		return
	}
	switch {
	case p.sent.op != noOp:
	case a == lifecycle.KeepIdentity && p.progress == jobIsDone:
		p.sent = sent{op: opCreate, result: success, identified: true, kept: true, earlier: true}
	case a == lifecycle.ForgetIntent && p.progress == hasFailed:
		p.sent = sent{op: opCreate, result: p.failed, forgotten: true, earlier: true}
	}
	p.progress, p.failed, p.told = notAsked, pending, false
}

// take2 takes over what Facts.Conclude says of an update or a delete.
func (p *process) take2(f lifecycle.Facts) {
	if f.Sent == nil || !f.Sent.Earlier {
		return
	}
	results := map[lifecycle.Outcome]result{
		lifecycle.Success: success, lifecycle.Ambiguous: ambiguous, lifecycle.Failed: failed, lifecycle.Conflict: conflict,
	}
	operations := map[rest.Operation]op{rest.Update: opUpdate, rest.Delete: opDelete}
	p.sent = sent{op: operations[f.Sent.Operation], result: results[f.Sent.Outcome], earlier: true}
	p.look, p.equal, p.progress, p.failed, p.told = notYet, false, notAsked, pending, false
}

// normalJobs forgets jobs that are over and that nobody can ask about.
func (w *world) normalJobs() {
	for k := range w.jobs {
		if w.jobs[k].state != jobRunning && !w.mentionsJob(uint8(k)+1) {
			w.jobs[k] = job{}
		}
	}
}

func (w *world) mentionsJob(number uint8) bool {
	if w.cr.job == number || w.former.job == number {
		return true
	}
	for _, r := range w.requests {
		if r.op != noOp && r.job == number {
			return true
		}
	}
	for _, p := range w.procs {
		if p.view.job == number || p.handle == number || p.notedJob == number || p.ended == number {
			return true
		}
	}
	return false
}
