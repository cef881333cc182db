package model

import (
	"bytes"
	"slices"
)

// normal gives the one form that stands for all worlds which differ only in names: numbers of attempts, places of
// processes and requests, and what nobody can ask for any more.
func (w *world) normal(c class) {
	for i := range w.procs {
		if p := &w.procs[i]; p.deposed && p.mode == idle {
			w.kill(i) // it will not begin another pass
		}
	}
	if w.procs[0].mode == off && w.procs[1].mode != off {
		w.swapProcesses()
	}
	if w.left.stale == 0 || w.left.kills == 0 && w.procs[0].mode != off {
		w.former = w.cr
	}
	for i := range w.objects {
		if o := &w.objects[i]; !o.live && !o.fuzzy {
			*o = object{}
		}
	}
	for i := range w.procs {
		w.procs[i].normal(c)
	}
	w.normalJobs()
	slices.SortFunc(w.requests[:], func(a, b request) int { return bytes.Compare(a.key(), b.key()) })
	w.normalKeys()
	w.renumber()
	slices.SortFunc(w.known[:], func(a, b knownKey) int { return bytes.Compare(a.sortKey(), b.sortKey()) })
}

// normal of a process forgets what no decision can depend on.
func (p *process) normal(c class) {
	p.first = p.first && !p.led && c.chosen
	if p.mode == idle {
		if p.view.phase == missing || p.view.phase == none || p.view.phase == created && p.confirmed {
			p.settled, p.answered = false, false
		}
		if p.view.phase == missing || p.view.phase == none {
			p.recent = false
		}
	}
	if !p.recent {
		p.seen, p.accepted, p.lagging = false, 0, 0
	}
}

func (r request) key() []byte {
	awaited := byte(0)
	if r.awaited {
		awaited = 1
	}
	return []byte{byte(r.op), r.owner, awaited, byte(r.result), r.id, r.gen, r.attempt, r.job}
}

func (w *world) swapProcesses() {
	w.procs[0], w.procs[1] = w.procs[1], w.procs[0]
	swap := func(owner *uint8) {
		switch *owner {
		case 1:
			*owner = 2
		case 2:
			*owner = 1
		}
	}
	for i := range w.requests {
		swap(&w.requests[i].owner)
	}
	for i := range w.objects {
		swap(&w.objects[i].writer)
	}
	for i := range w.jobs {
		swap(&w.jobs[i].request.owner)
	}
}

// renumber names attempts in the order in which they stand in the world.
func (w *world) renumber() {
	resend := names{next: 1}
	resend.of(&w.cr.resend)
	resend.of(&w.former.resend)
	for i := range w.procs {
		resend.of(&w.procs[i].view.resend)
		resend.of(&w.procs[i].resend)
	}
	attempts := names{next: 1}
	name := attempts.of
	name(&w.cr.attempt)
	name(&w.former.attempt)
	for i := range w.procs {
		name(&w.procs[i].view.attempt)
		name(&w.procs[i].attempt)
	}
	for i := range w.requests {
		name(&w.requests[i].attempt)
	}
	for i := range w.objects {
		name(&w.objects[i].attempt)
	}
	for i := range w.jobs {
		name(&w.jobs[i].request.attempt)
	}
	for i := range w.known {
		name(&w.known[i].attempt)
	}
}

// names gives small numbers in the order in which they are asked for.
type names struct {
	given [256]uint8
	next  uint8
}

func (n *names) of(number *uint8) {
	if *number == 0 || *number == noAttempt {
		return
	}
	if n.given[*number] == 0 {
		n.given[*number] = n.next
		n.next++
	}
	*number = n.given[*number]
}
