package model

import "github.com/restmapping/operator/pkg/lifecycle"

// process emits what one operator process can do next, or can meet with.
func (m *machine) process(w world, i int) {
	p := &w.procs[i]
	switch p.mode {
	case off:
		m.start(w, i)
		return
	case idle:
		m.hear(w, i)
		m.begin(w, i)
	case deciding:
		m.step(w, i)
	case waiting:
		m.receive(w, i)
	case finishing:
		n := w
		n.procs[i].finish(&n)
		m.emit("writes the status", false, n)
	}
	if p.mode == idle || m.rules.tickAfterLook {
		m.timers(w, i)
	}
	if w.left.kills > 0 {
		n := w
		n.left.kills--
		n.kill(i)
		m.emit("is killed", true, n)
	}
}

// kill ends a process. What it has sent goes on without it.
func (w *world) kill(i int) {
	for k := range w.requests {
		r := &w.requests[k]
		if r.op == noOp || r.owner != w.owner(i) {
			continue
		}
		r.owner, r.awaited = earlier, false
		if r.result != pending {
			*r = request{}
		}
	}
	for k := range w.objects {
		if w.objects[k].writer == w.owner(i) {
			w.objects[k].writer = earlier
		}
	}
	for k := range w.jobs {
		if j := &w.jobs[k]; j.request.owner == w.owner(i) {
			j.request.owner = earlier
		}
	}
	w.procs[i] = process{}
}

// start begins a process. Beside one that still runs, that one is deposed: it was frozen for longer than its lease,
// and goes on in the middle of its pass. The cache of a new process may begin with an older version, yet not with
// one from before the lease ran out.
func (m *machine) start(w world, i int) {
	fresh := process{mode: idle, view: w.cr, memory: memory{attempt: noAttempt, current: true}}
	other := &w.procs[1-i]
	n := w
	n.procs[i] = fresh
	if other.mode != off {
		if other.deposed || w.left.splits == 0 {
			return
		}
		n.left.splits--
		n.procs[1-i].deposed = true
		m.emit("a second process takes over", true, n)
		return
	}
	m.emit("a process starts", false, n)
	if w.left.stale > 0 && w.former != w.cr {
		n.left.stale--
		n.procs[i].view, n.procs[i].current = w.former, false
		m.emit("a process starts with a stale cache", false, n)
	}
}

// begin delivers a newer version, or begins a pass.
func (m *machine) begin(w world, i int) {
	p := &w.procs[i]
	if !p.current {
		n := w
		n.procs[i].view, n.procs[i].current = w.cr, true
		m.emit("hears of the newest version", false, n)
	}
	if p.deposed || p.view.gone {
		return
	}
	n := w
	n.procs[i].startPass(&n, m.class)
	if m.next(&n.procs[i]).Action == lifecycle.Observe {
		m.observe(n, i)
		return
	}
	m.settleDown(&n, i)
	m.emit("begins a pass", false, n)
}

// startPass mirrors pass.begin and resolveIdentifiers.
func (p *process) startPass(w *world, c class) {
	p.mode, p.pass = deciding, pass{}
	if p.attempt != p.view.attempt || p.noted != p.view.phase || p.notedJob != p.view.job {
		p.recent, p.seen, p.lagging = true, false, w.fuzzy()
	}
	p.noteAttempt()
	switch {
	case p.view.forged && (!c.chosen || p.view.deleting):
		p.ids = elsewhere
	case c.chosen:
		p.ids = 1
	case p.view.phase == creating || p.view.phase == created:
		p.ids = p.view.id
	}
	if p.view.answer == saysAdopt && p.ids == 0 {
		p.ids = p.view.answerID
	}
	if p.view.phase == created {
		p.confirmed = p.confirmed || p.view.mirrored && !p.view.again || !c.chosen
	}
	p.ticked = p.elapsedNow()
	p.dependents = w.referred
	if w.referred != nobodyRefers && !p.heard {
		p.dependents = unknown
	}
}

// noteAttempt mirrors pass.noteAttempt: the times of an attempt begin anew with it, and a record that somebody else wrote
// opens a consistency window.
func (p *process) noteAttempt() {
	if p.attempt != p.view.attempt {
		p.attempt, p.settled, p.answered, p.keyRefused = p.view.attempt, false, false, false
	}
	if p.resend != p.view.resend {
		p.resend, p.settled, p.answered = p.view.resend, false, false
	}
	if p.notedJob != p.view.job {
		p.overdue, p.ended = false, 0
	}
	p.noted, p.notedJob = p.view.phase, p.view.job
}

// settleDown ends the pass as soon as nothing is left to do: a last step that only says how it went reaches nobody.
func (m *machine) settleDown(w *world, i int) {
	p := &w.procs[i]
	if p.mode != deciding {
		return
	}
	if m.next(p).Terminal() {
		w.note(p)
		p.end()
	}
}

// end closes a pass; the status is written where it would say something else than before.
func (p *process) end() {
	p.pass = pass{}
	p.mode = idle
	mirror := p.view.phase == created && p.confirmed
	if !p.view.gone && (mirror != p.view.mirrored || mirror && p.view.again) && (!p.view.deleting || p.view.finalizer) {
		p.mode = finishing
	}
}

// stop closes a pass that could not write the custom resource.
func (p *process) stop() { p.pass, p.mode = pass{}, idle }

// finish writes the status with an optimistic lock.
func (p *process) finish(w *world) {
	p.mode = idle
	if !p.current || w.cr.gone {
		return
	}
	next := w.cr
	next.mirrored = p.view.phase == created && p.confirmed
	next.again = next.again && !next.mirrored
	w.change(next, p)
}

// timers let waiting times run out, where somebody waits for them.
func (m *machine) timers(w world, i int) {
	p := &w.procs[i]
	if p.recent {
		n := w
		for k := range n.objects {
			if p.lagging&(1<<k) != 0 {
				n.objects[k].clear()
			}
		}
		n.procs[i].recent = false
		m.emit("the consistency window is over", false, n)
	}
	if p.absentOnce && !p.absentBefore {
		n := w
		n.procs[i].absentBefore = true
		m.emit("a short time passes", false, n)
	}
	m.deadline(w, i)
	m.settle(w, i)
	m.close(w, i)
	m.lead(w, i)
}

// settle is the time after which no create of the recorded attempt can take effect, nor one of those before it: none
// is under way, and a process that still means to send one finds its time over.
func (m *machine) settle(w world, i int) {
	p := &w.procs[i]
	waits := p.view.phase == creating || p.view.phase == created && !p.confirmed && !p.answered
	if p.settled || p.attempt == noAttempt || !waits {
		return
	}
	newer := func(attempt uint8) bool { return attempt == w.cr.attempt && attempt != p.attempt }
	if w.inTransit(m.rules.noDeadline, func(r request) bool { return r.op == opCreate && !newer(r.attempt) }) {
		return
	}
	n := w
	n.procs[i].settled = true
	if p.view.phase == creating && !m.rules.openLooks {
		n.procs[i].absentOnce, n.procs[i].absentBefore = false, false // what was not there then may have come since
	}
	if !m.rules.frozen {
		n.tooLate(p.attempt)
	}
	for k := range n.objects {
		if o := &n.objects[k]; o.fuzzy && o.live && !newer(o.attempt) {
			o.wasLive, o.wasGen = true, o.gen
		}
	}
	m.emit("the attempt is settled", false, n)
}

// close is the time after which no request of this process whose answer was lost can take effect.
func (m *machine) close(w world, i int) {
	lost := func(r request) bool { return r.owner == w.owner(i) && !r.awaited }
	if !w.procs[i].open || w.underway(lost) {
		return
	}
	n := w
	n.procs[i].open = false
	for k := range n.objects {
		if n.objects[k].writer == w.owner(i) {
			n.objects[k].clear()
		}
	}
	m.emit("lost requests can no longer take effect", false, n)
}

// lead is the time after which no earlier process can do anything: what it sent is done, and one that was frozen has
// noticed that its lease is over.
func (m *machine) lead(w world, i int) {
	p := &w.procs[i]
	if p.led || p.deposed || !m.class.chosen {
		return
	}
	if w.underway(func(r request) bool { return r.owner != w.owner(i) }) {
		return
	}
	n := w
	n.procs[i].led = true
	if n.procs[1-i].deposed && !m.rules.frozen {
		n.kill(1 - i)
	}
	for k := range n.objects {
		if n.objects[k].writer == earlier {
			n.objects[k].clear()
		}
	}
	m.emit("earlier processes can no longer do anything", false, n)
}
