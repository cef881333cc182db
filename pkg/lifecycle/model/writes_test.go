package model

import (
	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
)

// The writes of a process to the custom resource, as pkg/engine/pass makes them.

// locked tells whether a write with an optimistic lock goes through.
func (m *machine) locked(w *world, p *process) bool {
	return !w.cr.gone && (p.current || m.rules.noLock)
}

// intend writes finalizer and record in one write.
func (m *machine) intend(w *world, i int) {
	p := &w.procs[i]
	if !m.locked(w, p) {
		p.stop()
		return
	}
	p.unresolved = m.facts(p).MayBeOutside() && !m.rules.forgetful
	first := p.view.phase == missing && !p.view.finalizer
	next := w.cr
	next.finalizer = next.finalizer || !m.rules.lateFinalizer
	next.attempt, next.phase, next.id = newest, creating, 0
	next.answer, next.answerID, next.forged = noAnswer, 0, false
	next.again = next.mirrored && m.class.chosen && m.class.safety == v1alpha1.SafetyUniqueKey && !m.rules.mirrorProves
	next.replacing = false
	if m.class.keyed {
		next.sentGen, next.resend, w.keyOver = next.gen, 0, false
	}
	if !p.unresolved || p.view.phase != created && p.view.phase != creating {
		next.madeGen = next.gen
	}
	p.ids = 0
	if m.class.chosen {
		next.id, p.ids = 1, 1
		if m.class.unique() && !m.class.later {
			next.phase = created
		}
	}
	if m.rules.noIntent {
		next.phase, next.id, next.attempt = none, 0, 0
	}
	w.change(next, p)
	p.first = p.first || first
	p.confirmed, p.intended, p.late = false, true, false
	p.noteAttempt()
}

// keep persists which object is ours.
func (m *machine) keep(w *world, i int) {
	p := &w.procs[i]
	switch {
	case p.view.phase == created && p.view.id == p.ids && p.view.answer == noAnswer:
	case p.view.phase != creating || p.view.answer != noAnswer:
		if !m.locked(w, p) {
			p.stop()
			return
		}
		next := w.cr
		next.finalizer, next.phase, next.id, next.forged = true, created, p.ids, false
		next.answer, next.answerID, next.again = noAnswer, 0, false
		next.sentGen, next.resend = 0, 0
		next.endJob()
		w.change(next, p)
	default:
		if w.cr.gone || !w.cr.sameRecord(p.view) && !m.rules.noLock && (!m.takenUp(w, p) || m.rules.takesAnothers) {
			m.compensate(w, i)
			return
		}
		next := w.cr
		next.phase, next.id, next.forged = created, p.ids, false
		next.sentGen, next.resend = 0, 0
		next.endJob()
		w.change(next, p)
	}
	m.conclude(p, lifecycle.KeepIdentity)
	p.noteAttempt()
	p.confirmed = true
	p.sent.kept = p.sent.op != noOp
}

// compensate takes back the object that was just made.
func (m *machine) compensate(w *world, i int) {
	p := &w.procs[i]
	if p.sent.op != opCreate || m.keptByAnother(w, p) && !m.rules.takesAnothers {
		p.stop()
		return
	}
	if m.takenUp(w, p) || m.keptByAnother(w, p) {
		w.bad = taken
	}
	p.compensating = true
	m.launch(w, i, opDelete, p.ids)
}

// forget persists that nothing of ours is outside.
func (m *machine) forget(w *world, i int) {
	p := &w.procs[i]
	free := !w.cr.gone && (w.cr.sameRecord(p.view) || m.rules.noLock)
	if p.view.answer != noAnswer {
		free = m.locked(w, p)
	}
	if !free {
		p.stop()
		return
	}
	next := w.cr
	next.phase, next.attempt, next.id, next.forged = none, 0, 0, false
	next.sentGen, next.resend = 0, 0
	p.replaced, next.replacing = p.view.replacing, false
	if p.view.answer != noAnswer {
		next.answer, next.answerID = noAnswer, 0
	}
	next.endJob()
	w.change(next, p)
	m.conclude(p, lifecycle.ForgetIntent)
	p.noteAttempt()
	p.confirmed = false
	p.sent.forgotten = p.sent.op != noOp
}

// replacing persists that the object is being replaced, or that it is not after all.
func (m *machine) replacing(w *world, i int, begins bool) {
	p := &w.procs[i]
	if w.cr.gone || !w.cr.sameRecord(p.view) && !m.rules.noLock {
		p.stop()
		return
	}
	next := w.cr
	next.replacing = begins
	if begins && m.rules.replaceUnrecorded {
		next.phase, next.attempt, next.id, next.replacing = none, 0, 0, false
	}
	w.change(next, p)
	p.noteAttempt()
}

// release removes the finalizer.
func (m *machine) release(w *world, i int) {
	p := &w.procs[i]
	if !w.cr.gone && !m.locked(w, p) {
		p.stop()
		return
	}
	if !w.cr.gone {
		next := w.cr
		next.finalizer = false
		next.gone = next.deleting
		w.change(next, p)
	}
	p.stop()
}
