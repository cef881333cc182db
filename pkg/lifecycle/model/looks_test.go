package model

import "github.com/restmapping/operator/pkg/lifecycle"

// observe looks at the object, as pass.observe does.
func (m *machine) observe(w world, i int) {
	p := &w.procs[i]
	p.ticked = p.elapsedNow()
	if w.left.readFaults > 0 && (p.ids != 0 || m.class.lists) {
		n := w
		n.left.readFaults--
		n.procs[i].look = lookFailed
		if !m.rules.tickAfterLook {
			m.settleDown(&n, i)
		}
		m.emit("a read fails", true, n)
	}
	switch {
	case p.ids != 0:
		m.read(w, i, []int{int(p.ids) - 1})
	case m.class.lists:
		m.read(w, i, []int{0, 1, 2})
	default:
		n := w
		n.procs[i].look = impossible
		m.seen("cannot look", n, i)
	}
}

// read emits each answer that reads which may lag behind can give.
func (m *machine) read(w world, i int, candidates []int) {
	if w.blackout {
		n := w
		n.procs[i].miss()
		m.seen("sees nothing at all", n, i)
		return
	}
	if w.left.misses > 0 && w.procs[i].view.phase == creating {
		n := w
		n.left.misses--
		n.procs[i].miss()
		if !m.rules.tickAfterLook {
			m.settleDown(&n, i)
		}
		m.emit("a listing does not show what is there", true, n)
	}
	for lag := range 1 << len(candidates) {
		n := w
		seen, possible := 0, true
		var last object
		var id uint8
		for bit, k := range candidates {
			o := &n.objects[k]
			old := lag&(1<<bit) != 0
			possible = possible && (!old || o.fuzzy)
			live, gen := o.live, o.gen
			if old {
				live, gen = o.wasLive, o.wasGen
			} else if o.fuzzy && !m.rules.flapping {
				o.clear()
			}
			if live {
				seen, last, id = seen+1, object{gen: gen}, uint8(k)+1
			}
		}
		if possible {
			m.note(&n.procs[i], seen, id, last.gen)
			m.seen("looks", n, i)
		}
	}
}

func (m *machine) note(p *process, seen int, id, gen uint8) {
	switch seen {
	case 0:
		p.miss()
	case 1:
		p.look, p.ids, p.equal = found, id, gen == p.view.gen
		p.seen, p.absentOnce, p.absentBefore = true, false, false
		f := m.facts(p)
		p.confirmed = p.confirmed || f.Record == lifecycle.RecordCreated && f.Ours() && p.view.answer == noAnswer
	default:
		p.look = several
	}
}

func (p *process) miss() { p.look, p.absentOnce = lookAbsent, true }
