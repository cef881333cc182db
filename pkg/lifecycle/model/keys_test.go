package model

import "github.com/restmapping/operator/pkg/lifecycle"

// knownKey is an idempotency key that the server knows, with the request that came with it and what that has made. A server
// that tells requests apart by key and body makes a second object of another body, so that is what this one does.
type knownKey struct{ attempt, gen, id uint8 }

func (k knownKey) sortKey() []byte { return []byte{k.attempt, k.gen, k.id} }

// knows gives the object that a create of this key has made, 0 for none.
func (w *world) knows(r request) uint8 {
	for _, k := range w.known {
		if r.op == opCreate && k.id != 0 && k.attempt == r.attempt && k.gen == r.gen {
			return k.id
		}
	}
	return 0
}

func (w *world) remember(r request) {
	for i := range w.known {
		if w.known[i].id == 0 {
			w.known[i] = knownKey{r.attempt, r.gen, r.id}
			return
		}
	}
	panic("the server knows more keys than the model has room for")
}

// keys lets time pass: first a process may no longer count on the key, then the server forgets it. In between lies what a
// request may take, so that what was sent in time has come to its end.
func (m *machine) keys(w world) {
	if !m.class.keyed {
		return
	}
	if !w.keyOver && w.counted() {
		n := w
		n.keyOver = true
		m.emit("the key can no longer be counted on", false, n)
	}
	for i, k := range w.known {
		newest := k.attempt == w.cr.attempt
		under := w.underway(func(r request) bool { return r.op == opCreate && r.attempt == k.attempt })
		if k.id == 0 || newest && !w.keyOver || under {
			continue
		}
		n := w
		n.known[i] = knownKey{}
		if !m.rules.frozen {
			n.tooLate(k.attempt)
		}
		m.emit("the server forgets a key", false, n)
	}
}

// counted tells whether a process can mean to send a create of the newest attempt again.
func (w *world) counted() bool {
	if w.cr.phase == creating {
		return true
	}
	for i := range w.procs {
		if p := &w.procs[i]; p.mode != off && p.view.phase == creating && p.view.attempt == w.cr.attempt {
			return true
		}
	}
	return false
}

// normalKeys forgets keys that nobody can send again.
func (w *world) normalKeys() {
	if !w.counted() {
		w.keyOver = false
	}
	for i, k := range w.known {
		if k.id != 0 && !w.sends(k.attempt) {
			w.known[i] = knownKey{}
		}
	}
}

func (w *world) sends(attempt uint8) bool {
	of := func(r resource) bool { return r.phase == creating && r.attempt == attempt }
	if of(w.cr) || of(w.former) {
		return true
	}
	for i := range w.procs {
		if w.procs[i].mode != off && of(w.procs[i].view) {
			return true
		}
	}
	return w.underway(func(r request) bool { return r.op == opCreate && r.attempt == attempt })
}

type keyLook uint8

const (
	keyNotYet keyLook = iota
	keyHonoured
	keyIsOver
	keyOfAnother
	keyWasRefused
)

// key is the fact that the process has found out.
func (m *machine) key(p *process) lifecycle.KeyState {
	if !m.class.keyed || p.view.phase != creating {
		return lifecycle.KeyNone
	}
	return [...]lifecycle.KeyState{
		lifecycle.KeyNotYet, lifecycle.KeyHonoured, lifecycle.KeyOver, lifecycle.KeyOfAnother, lifecycle.KeyRefused,
	}[p.key]
}

// keyOf mirrors pass.keyState.
func (w *world) keyOf(p *process) keyLook {
	switch {
	case p.keyRefused:
		return keyWasRefused
	case w.keyOver:
		return keyIsOver
	case p.view.sentGen != p.view.gen:
		return keyOfAnother
	default:
		return keyHonoured
	}
}

// resend mirrors pass.resendCreate: it is written down, then the create is sent, unless the time for that is over.
func (m *machine) resend(w world, i int) {
	p := &w.procs[i]
	n := w
	q := &n.procs[i]
	switch {
	case !p.verified && !m.locked(&w, p):
		q.stop()
		m.emit("the custom resource is not as it was", false, n)
	case p.verified && w.keyOver && !m.rules.resendLate:
		q.key, q.verified = keyIsOver, false
		m.done("the key is over meanwhile", n, i)
	case !p.verified:
		next := w.cr
		if !m.rules.resendUnnoted {
			next.resend = newest
		}
		n.change(next, q)
		settled := q.settled
		q.noteAttempt()
		q.settled = q.settled || settled && m.rules.resendNoWait
		q.verified = true
		m.emit("writes that it sends the create again", false, n)
	case p.late:
		q.resent = true
		q.take(opCreate, notSent, 0)
		m.done("it comes too late to be sent again", n, i)
	default:
		q.resent, q.unresolved = true, true
		m.launch(&n, i, opCreate, 0)
		m.emit("ResendCreate", false, n)
	}
}

// spurn is a server that answers a key which it is at work on by 409, or refuses a request that was sent again.
func (m *machine) spurn(w world, k int) {
	r := w.requests[k]
	if !m.class.keyed || r.op != opCreate || !w.procs[r.owner-1].resent {
		return
	}
	for _, result := range []result{conflict, spurned} {
		n := w
		n.left.refusals--
		n.requests[k].result = result
		m.emit("the server refuses the key", true, n)
	}
}

// another tells whether there is an object, or may come to be one, that a create of this process does not stand for.
func (m *machine) another(w *world, p *process) bool {
	own := request{op: opCreate, attempt: p.view.attempt, gen: p.view.gen}
	if w.knows(own) != 0 {
		return false
	}
	return w.lives() > 0 || w.underway(func(r request) bool {
		same := m.class.keyed && r.attempt == own.attempt && r.gen == own.gen
		return r.op == opCreate && !same && w.knows(r) == 0
	})
}

// takenUp mirrors pass.takenUp: another process sends the attempt again whose create has just been answered to this one, and
// gets the same object.
func (m *machine) takenUp(w *world, p *process) bool {
	return m.class.keyed && p.sent.op == opCreate && p.sent.result == success && !w.cr.gone && w.cr.phase == creating && w.cr.attempt == p.view.attempt
}

// keptByAnother tells that another process was first to write down what this one was answered.
func (m *machine) keptByAnother(w *world, p *process) bool {
	return m.class.keyed && !w.cr.gone && w.cr.phase == created && w.cr.attempt == p.view.attempt && w.cr.id == p.ids
}
