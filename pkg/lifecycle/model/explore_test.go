package model

import (
	"fmt"
	"hash/maphash"
	"strings"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
)

// report is what an exploration has found.
type report struct {
	states, transitions int
	bad                 bad
	trace               []string
	stuck               int
	stuckTrace          []string
}

type fingerprint struct{ a, b uint64 }

// explorer visits every world that can be reached, breadth first, so that a trace to a violation is a shortest one.
// Worlds are remembered by 128 bits of hash.
type explorer struct {
	machine *machine
	initial world
	limit   int

	seedA, seedB maphash.Seed
	index        map[fingerprint]uint32
	parent       []uint32
	goal         []bool
	edges        [][2]uint32 // successor, predecessor; only those that are no faults
	report       report
}

// exploreFrom begins with a world in which one process has just started.
func exploreFrom(c class, r rules, w world, limit int) report {
	e := &explorer{
		machine: &machine{class: c, rules: r}, limit: limit,
		seedA: maphash.MakeSeed(), seedB: maphash.MakeSeed(), index: map[fingerprint]uint32{},
	}
	e.initial = w
	e.initial.procs[0] = process{mode: idle, memory: memory{attempt: noAttempt, current: true}}
	e.initial.normal(c)
	e.run()
	return e.report
}

func (e *explorer) print(w world) fingerprint {
	return fingerprint{maphash.Comparable(e.seedA, w), maphash.Comparable(e.seedB, w)}
}

type entry struct {
	id uint32
	w  world
}

func (e *explorer) run() {
	frontier := []entry{{0, e.initial}}
	e.add(e.initial, 0)
	for len(frontier) > 0 && e.report.bad == fine {
		var next []entry
		for _, from := range frontier {
			e.expand(from, &next)
			if e.report.bad != fine {
				return
			}
		}
		frontier = next
		if len(e.parent) > e.limit {
			panic(fmt.Sprintf("the model has more than %d states", e.limit))
		}
	}
	e.report.states = len(e.parent)
	e.findStuck()
}

func (e *explorer) add(w world, parent uint32) (id uint32, isNew bool) {
	key := e.print(w)
	if id, ok := e.index[key]; ok {
		return id, false
	}
	id = uint32(len(e.parent))
	e.index[key] = id
	e.parent = append(e.parent, parent)
	e.goal = append(e.goal, e.machine.isGoal(&w))
	return id, true
}

func (e *explorer) expand(from entry, next *[]entry) {
	e.machine.emit = func(label string, fault bool, w world) {
		if e.report.bad != fine {
			return
		}
		e.report.transitions++
		if w.bad == fine {
			w.bad = e.machine.check(&w)
		}
		w.normal(e.machine.class)
		id, isNew := e.add(w, from.id)
		if isNew {
			*next = append(*next, entry{id, w})
		}
		if !fault && id != from.id {
			e.edges = append(e.edges, [2]uint32{id, from.id})
		}
		if w.bad != fine {
			e.report.bad, e.report.states = w.bad, len(e.parent)
			e.report.trace = append(e.trace(from.id), label)
		}
	}
	e.machine.successors(from.w)
}

// trace replays the way to a world, because only fingerprints are kept.
func (e *explorer) trace(id uint32) []string {
	var path []uint32
	for at := id; at != 0; at = e.parent[at] {
		path = append([]uint32{at}, path...)
	}
	replay := &machine{class: e.machine.class, rules: e.machine.rules}
	w, labels := e.initial, make([]string, 0, len(path))
	for _, target := range path {
		var taken world
		var label string
		replay.emit = func(l string, _ bool, n world) {
			if n.bad == fine {
				n.bad = replay.check(&n)
			}
			n.normal(replay.class)
			if label == "" && e.index[e.print(n)] == target && n != w {
				taken, label = n, l
			}
		}
		replay.successors(w)
		w, labels = taken, append(labels, label)
	}
	return append(labels, fmt.Sprintf("[%s]", strings.ReplaceAll(fmt.Sprintf("%+v", w), "false", "-")))
}

// check looks at one world.
func (m *machine) check(w *world) bad {
	if w.lives() > 1 {
		return duplicate
	}
	if !w.cr.gone {
		return fine
	}
	resurrects := func(r request) bool {
		return r.op == opCreate && w.knows(r) == 0 || r.op == opUpdate && m.class.safety == v1alpha1.SafetyUpsert
	}
	if w.lives() > 0 || w.underway(resurrects) {
		return leak
	}
	return fine
}

// isGoal tells a world in which all is well, or in which a person was asked what only a person can know.
func (m *machine) isGoal(w *world) bool {
	if w.cr.gone {
		return w.lives() == 0
	}
	if !w.cr.deleting && w.cr.phase == created && w.cr.id != 0 {
		o := w.objects[w.cr.id-1]
		return o.live && o.gen == w.cr.gen
	}
	return m.class.safety == v1alpha1.SafetyNone && m.asksPerson(w)
}

// asksPerson tells whether a pass over the newest version would ask a person about a lost answer.
func (m *machine) asksPerson(w *world) bool {
	if w.cr.phase != creating || w.cr.answer == saysAbsent {
		return false
	}
	if w.cr.answer == saysAdopt {
		return !w.objects[w.cr.answerID-1].live // what was named has gone since
	}
	p := process{view: w.cr, memory: memory{attempt: noAttempt, current: true}}
	p.startPass(w, m.class)
	if w.cr.job != 0 {
		p.hear(w)
		p.look = impossible
	}
	p.key = w.keyOf(&p)
	step := m.next(&p)
	return step.Action == lifecycle.Stall && step.Reason == v1alpha1.ReasonCreateOutcomeUnknown
}

// findStuck counts worlds from which no goal can be reached without further faults.
func (e *explorer) findStuck() {
	n := len(e.parent)
	start := make([]uint32, n+1)
	for _, edge := range e.edges {
		start[edge[0]+1]++
	}
	for i := range n {
		start[i+1] += start[i]
	}
	before := make([]uint32, len(e.edges))
	fill := append([]uint32(nil), start...)
	for _, edge := range e.edges {
		before[fill[edge[0]]] = edge[1]
		fill[edge[0]]++
	}
	reached := append([]bool(nil), e.goal...)
	var queue []uint32
	for id, ok := range reached {
		if ok {
			queue = append(queue, uint32(id))
		}
	}
	for len(queue) > 0 {
		at := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, from := range before[start[at]:start[at+1]] {
			if !reached[from] {
				reached[from] = true
				queue = append(queue, from)
			}
		}
	}
	for id, ok := range reached {
		if ok {
			continue
		}
		e.report.stuck++
		if e.report.stuckTrace == nil {
			e.report.stuckTrace = e.trace(uint32(id))
		}
	}
}
