package model

import (
	"github.com/restmapping/operator/api/v1alpha1"
)

// class is what a REST API offers against a repeated create.
type class struct {
	name   string
	safety v1alpha1.CreateSafety
	chosen bool // the client chooses the name
	lists  bool // the object can be searched for
	later  bool // the server only accepts, and does it later
	// keyed: the server knows a create again that carries the same key and is the very same request.
	keyed bool
	// replaces: nothing can be changed outside, and the policy is to replace what was edited.
	replaces bool
}

// keyedClasses know a create again by a key, and have the mark or nothing when that is over.
func keyedClasses() []class {
	return []class{
		{name: "KeyThenNone", safety: v1alpha1.SafetyNone, keyed: true},
		{name: "KeyThenMarker", safety: v1alpha1.SafetyMarker, lists: true, keyed: true},
	}
}

// classes know nothing of a create that comes a second time.
func classes() []class {
	return []class{
		{name: "Upsert", safety: v1alpha1.SafetyUpsert, chosen: true},
		{name: "UniqueKey", safety: v1alpha1.SafetyUniqueKey, chosen: true},
		{name: "UniqueKeyAssigned", safety: v1alpha1.SafetyUniqueKey, lists: true},
		{name: "Marker", safety: v1alpha1.SafetyMarker, lists: true},
		{name: "None", safety: v1alpha1.SafetyNone},
	}
}

// unique tells that the server refuses, or merges, a second object with the same key.
func (c class) unique() bool {
	return c.safety == v1alpha1.SafetyUpsert || c.safety == v1alpha1.SafetyUniqueKey
}

// machine gives the successors of a world.
type machine struct {
	class class
	rules rules
	emit  func(label string, fault bool, w world)
}

// successors emits every world that can come next. A fault is what a goal must be reachable without.
func (m *machine) successors(w world) {
	if w.over() {
		return
	}
	m.users(w)
	m.referrers(w)
	m.network(w)
	m.server(w)
	m.work(w)
	m.keys(w)
	for i := range w.procs {
		m.process(w, i)
	}
}

// users are the people around: they delete, edit, remove things outside, and answer.
func (m *machine) users(w world) {
	if w.cr.gone {
		return
	}
	if !w.cr.deleting {
		next := w.cr
		next.deleting = true
		next.gone = !next.finalizer
		n := w
		n.change(next, nil)
		m.emit("user deletes the custom resource", true, n)
	}
	if !w.cr.deleting && w.left.edits > 0 {
		n := w
		n.left.edits--
		next := w.cr
		next.gen++
		n.change(next, nil)
		m.emit("user edits the custom resource", true, n)
	}
	m.person(w)
	m.forger(w)
	m.rival(w)
}

// rival is somebody else who makes an object with the key that ours is to have, after we have found it free, and takes it
// away again one day.
func (m *machine) rival(w world) {
	if m.class.safety != v1alpha1.SafetyUniqueKey {
		return
	}
	taken := false
	for i, o := range w.objects[:ours] {
		taken = taken || o.live
		if o.live && o.alien {
			n := w
			n.alter(i, false, 0, 0)
			m.emit("somebody removes what is theirs", false, n)
		}
	}
	if w.left.strangers > 0 && !taken && m.creating(&w) {
		n := w
		n.left.strangers--
		i := m.room(&n)
		n.alter(i, true, 99, 0)
		n.objects[i].alien, n.objects[i].attempt = true, 0
		m.emit("somebody else takes the key", true, n)
	}
}

// elsewhere is the object of somebody else that a forged record names.
const elsewhere = objects

// forger edits the record, so that it names an object of somebody else; a person may put it back at any time.
func (m *machine) forger(w world) {
	n := w
	next := w.cr
	next.forged = !w.cr.forged
	switch {
	case w.cr.forged:
		n.change(next, nil)
		m.emit("a person puts the record back", false, n)
	case w.left.forgeries > 0 && w.cr.phase != missing:
		n.left.forgeries--
		n.objects[elsewhere-1] = object{live: true, alien: true, gen: 99}
		n.change(next, nil)
		m.emit("somebody edits the record", true, n)
	}
}

// person answers truthfully, long after the create was sent.
func (m *machine) person(w world) {
	open := w.underway(func(r request) bool { return r.op == opCreate })
	if open || w.cr.forged || m.answered(&w) || !m.asked(&w) {
		return
	}
	next := w.cr
	next.answer, next.answerID = saysAbsent, 0
	for i, o := range w.objects[:ours] {
		if o.live && !o.alien {
			next.answer, next.answerID = saysAdopt, uint8(i)+1
		}
	}
	n := w
	n.tooLate(w.cr.attempt)
	n.change(next, nil)
	m.emit("a person answers", m.class.safety == v1alpha1.SafetyNone, n)
}

// answered tells whether a person has spoken. Who named what has gone since may say so.
func (m *machine) answered(w *world) bool {
	gone := m.class.unique() && w.cr.answer == saysAdopt && !w.objects[w.cr.answerID-1].live
	return w.cr.answer != noAnswer && !gone
}

// creating tells whether a create is to be sent, or under way, and none is known to have made anything: whoever deletes or
// changes by a name what he once saw under it cannot see that another has the name since.
func (m *machine) creating(w *world) bool {
	if w.cr.mirrored && !w.cr.again && !m.rules.mirrorProves {
		return false
	}
	for _, r := range w.requests {
		if r.op == opCreate && r.result == success {
			return false
		}
	}
	for i := range w.procs {
		p := &w.procs[i]
		if p.confirmed {
			return false
		}
		if p.intended && p.mode == deciding {
			return true
		}
	}
	return w.underway(func(r request) bool { return r.op == opCreate })
}

// asked tells whether a person is asked what became of a create: where nothing can be searched by, and where something
// else than what was sent has the key.
func (m *machine) asked(w *world) bool {
	if m.class.safety == v1alpha1.SafetyNone {
		return w.cr.phase == creating
	}
	if m.class.safety != v1alpha1.SafetyUniqueKey || m.class.chosen && w.cr.mirrored && !w.cr.again {
		return false
	}
	for i := range w.procs {
		if m.class.chosen && w.procs[i].intended {
			return false // the barrier comes first
		}
	}
	open := w.cr.phase == creating || w.cr.phase == created && m.class.chosen
	if open && w.cr.answer == saysAdopt {
		return true
	}
	for _, o := range w.objects[:ours] {
		if open && o.live && o.gen != w.cr.gen {
			return true
		}
	}
	return false
}

// tooLate ends the time that a create of this attempt may still be sent in.
func (w *world) tooLate(attempt uint8) {
	for i := range w.procs {
		if p := &w.procs[i]; (p.intended || p.verified) && p.view.attempt == attempt {
			p.late = true
		}
	}
}

// server changes by itself: somebody removes an object, the credential loses its scope for a while.
func (m *machine) server(w world) {
	for i, o := range w.objects[:ours] {
		if o.live && !o.alien && w.left.removals > 0 {
			n := w
			n.left.removals--
			n.alter(i, false, 0, 0)
			m.emit("somebody removes the object", true, n)
		}
	}
	if (w.blackout || w.left.blackouts > 0) && !w.searching() {
		n := w
		n.blackout = !w.blackout
		if n.blackout {
			n.left.blackouts--
		}
		m.emit("the credential loses or regains its scope", n.blackout, n)
	}
}

// searching tells whether a process is between a look and a probe. A scope that comes back just then would let a
// probe speak for a look that it says nothing about; that is beyond what a client can find out.
func (w *world) searching() bool {
	for i := range w.procs {
		if w.procs[i].mode == deciding && w.procs[i].look == lookAbsent {
			return true
		}
	}
	return false
}

// over tells that nothing can happen any more.
func (w *world) over() bool {
	if !w.cr.gone || w.lives() > 0 {
		return false
	}
	for i := range w.procs {
		if w.procs[i].mode != idle && w.procs[i].mode != off {
			return false
		}
	}
	return !w.underway(func(request) bool { return true })
}

// network carries requests to the server, which does them, or loses them. Requests that nobody waits for are done
// late, or never.
func (m *machine) network(w world) {
	for k, r := range w.requests {
		if r.op == noOp || r.result != pending {
			continue
		}
		n := w
		m.perform(&n, &n.requests[k])
		if !r.awaited {
			n.requests[k] = request{}
			m.emit("the server does late "+r.op.String(), false, n)
			n = w
			n.requests[k] = request{}
			m.emit("a request is lost", false, n)
			continue
		}
		m.emit("the server does "+r.op.String(), false, n)
		m.otherwise(w, k)
	}
}

// otherwise is what else a server or a client may do with a request.
func (m *machine) otherwise(w world, k int) {
	r := w.requests[k]
	if w.left.refusals > 0 {
		n := w
		n.left.refusals--
		n.requests[k].result = refused
		m.emit("the server refuses "+r.op.String(), true, n)
		m.spurn(w, k)
	}
	if r.op == opDelete && w.left.undone > 0 {
		n := w
		n.left.undone--
		n.requests[k].result = success
		n.send(request{op: opDelete, owner: r.owner, id: r.id})
		m.emit("the server accepts a delete and has not done it", true, n)
	}
	if r.op == opCreate && m.rules.clientRetries && w.left.losses > 0 {
		n := w
		n.left.losses--
		m.perform(&n, &n.requests[k])
		n.requests[k].result = pending
		m.perform(&n, &n.requests[k])
		m.emit("the client sends the create again", true, n)
	}
}

func (o op) String() string {
	return [...]string{"nothing", "a create", "an update", "a delete"}[o]
}

// perform is the server.
func (m *machine) perform(w *world, r *request) {
	switch {
	case w.blackout:
		r.result = refused
	case m.class.later:
		w.accept(r)
	default:
		m.do(w, r)
	}
}

// do lets a request take effect.
func (m *machine) do(w *world, r *request) {
	switch r.op {
	case opCreate:
		m.make(w, r)
	case opUpdate:
		m.update(w, r)
	default:
		o := &w.objects[r.id-1]
		r.result = absent
		w.touch(o)
		if o.live {
			r.result = success
			w.alter(int(r.id)-1, false, 0, r.owner)
		}
	}
}

// touch notes that something of somebody else is changed or deleted.
func (w *world) touch(o *object) {
	if o.live && o.alien {
		w.bad = stranger
	}
}

func (m *machine) make(w *world, r *request) {
	r.result = success
	if m.class.unique() {
		for i := range w.objects[:ours] {
			if !w.objects[i].live {
				continue
			}
			r.result, r.id = conflict, uint8(i)+1
			if m.class.safety == v1alpha1.SafetyUpsert {
				r.result = success
				w.alter(i, true, r.gen, r.owner)
			}
			return
		}
	}
	if id := w.knows(*r); id != 0 {
		r.id = id
		return
	}
	i := m.room(w)
	w.alter(i, true, r.gen, r.owner)
	w.objects[i].attempt, w.objects[i].alien = r.attempt, false
	r.id = uint8(i) + 1
	if m.class.keyed {
		w.remember(*r)
	}
}

// room gives the place of a new object: always the same where the client chooses the name.
func (m *machine) room(w *world) int {
	if m.class.chosen {
		return 0
	}
	for i, o := range w.objects[:ours] {
		if o == (object{}) && !w.mentions(uint8(i)+1) {
			return i
		}
	}
	panic("more objects were made than the model has room for")
}

// mentions tells whether an id is still written down or under way anywhere.
func (w *world) mentions(id uint8) bool {
	if w.cr.id == id || w.former.id == id || w.cr.answerID == id {
		return true
	}
	for _, r := range w.requests {
		if r.op != noOp && r.id == id {
			return true
		}
	}
	for _, j := range w.jobs {
		if j.state != noJob && j.request.id == id {
			return true
		}
	}
	for _, k := range w.known {
		if k.id == id {
			return true
		}
	}
	for _, p := range w.procs {
		if p.view.id == id || p.ids == id || p.view.answerID == id {
			return true
		}
	}
	return false
}

func (m *machine) update(w *world, r *request) {
	if m.class.safety == v1alpha1.SafetyUpsert {
		m.make(w, r)
		return
	}
	o := &w.objects[r.id-1]
	r.result = absent
	w.touch(o)
	if o.live {
		r.result = success
		w.alter(int(r.id)-1, true, r.gen, r.owner)
	}
}
