package model

// The world is a value: states are compared and hashed as a whole, so everything in it is small and comparable.

const (
	slots    = 2 // processes at one time
	ours     = 3 // objects that the server ever made for us; where the client chooses the name only the first is used
	objects  = 4 // and one of somebody else, under a name or id of its own
	requests = 6 // requests under way
	jobs     = 3 // of what a server has accepted
	keys     = 3 // that a server knows

	earlier   = 9   // owner of what a process sent that is no longer there
	noAttempt = 255 // the attempt of a process that has not looked yet
	newest    = 254 // a fresh attempt, before the state is put into its normal form
)

type phase uint8

const (
	missing phase = iota
	none
	creating
	created
)

type answer uint8

const (
	noAnswer answer = iota
	saysAbsent
	saysAdopt
)

// resource is one version of the custom resource. The zero value is one that a user has just made.
type resource struct {
	gone, deleting, finalizer bool
	mirrored                  bool // the status names the object
	again                     bool // the status named an object when the intent was written: it proves nothing
	forged                    bool // somebody has edited the record, so that it names what is somebody else's
	phase                     phase
	attempt, id               uint8
	gen, madeGen              uint8 // madeGen is of the record: the one that the object was made with
	sentGen                   uint8 // of the record: the one that its create was rendered from, where it carries a key
	resend                    uint8 // of the record: a name for how often that create was sent again
	replacing                 bool  // of the record
	answer                    answer
	answerID                  uint8
	job                       uint8 // the job that the record names, from 1; 0 for none
	jobOp                     op
	jobFailed                 result // of a create that has failed; pending otherwise
}

func (r *resource) sameRecord(o resource) bool {
	return r.phase == o.phase && r.attempt == o.attempt && r.resend == o.resend && r.id == o.id && r.forged == o.forged && r.job == o.job && r.jobFailed == o.jobFailed &&
		r.replacing == o.replacing
}

// endJob takes the job out of the record.
func (r *resource) endJob() { r.job, r.jobOp, r.jobFailed = 0, noOp, pending }

// object is one object outside. While it is fuzzy, reads may show it as it was before its last change.
type object struct {
	live, wasLive, fuzzy bool
	alien                bool // somebody else made it
	gen, wasGen          uint8
	attempt              uint8
	writer               uint8 // who made the last change: slot+1, earlier, or 0 for somebody else
}

type op uint8

const (
	noOp op = iota
	opCreate
	opUpdate
	opDelete
)

type result uint8

const (
	pending result = iota
	success
	unidentified // success, and the response does not name what was made
	absent
	conflict
	refused
	failed
	notSent
	ambiguous
	accepted
	spurned // refused for good
)

// request is a mutating request under way. It is pending until the server has done it; a process waits for it as long
// as it is awaited.
type request struct {
	op      op
	owner   uint8 // slot+1, or earlier
	awaited bool
	result  result
	attempt uint8
	id      uint8 // the object that it is about, or has made
	gen     uint8
	job     uint8 // the job that it has begun
}

type mode uint8

const (
	off mode = iota
	idle
	deciding
	waiting
	finishing
)

type look uint8

const (
	notYet look = iota
	impossible
	lookFailed
	lookAbsent
	found
	several
)

type probe uint8

const (
	probeNotYet probe = iota
	probeOK
	probeFailed
)

// sent is the mutating request of a pass.
type sent struct {
	op                          op
	result                      result
	identified, kept, forgotten bool
	earlier, again              bool
}

// ticked are the facts that depend on time, as they were when the last look began or the last request was answered:
// what was seen is only as young as that.
type ticked struct {
	settled, window, led, closed, absentBefore bool
}

// pass is what a process knows in one pass. It is zero between passes.
type pass struct {
	ids                      uint8
	look                     look
	equal                    bool
	probe                    probe
	intended, late           bool // late: the time for the create, counted from its intent, is over
	compensating, unresolved bool
	dependents               dependents
	handle                   uint8 // the job that the server has just answered with
	progress                 progress
	failed                   result // what became of it
	told                     bool   // the answer about a job named what it has made
	replaced                 bool
	key                      keyLook
	verified, resent         bool // verified: it is written down that a create is sent again; resent: it was sent
	sent                     sent
	ticked                   ticked
}

// memory is what a process knows beyond one pass; it mirrors pkg/engine/pass.
type memory struct {
	attempt, resend          uint8
	noted                    phase // of the record
	settled, answered        bool
	confirmed, first, led    bool
	recent, seen, open       bool  // recent: the consistency window of the last write is not over
	lagging                  uint8 // bits of the objects that reads show as they are once the window is over
	accepted                 uint8 // generation+1 of the last accepted update
	absentOnce, absentBefore bool
	deposed, current         bool  // current: view is the newest version
	heard                    bool  // of the custom resources that refer to this one
	keyRefused               bool  // of the attempt
	notedJob, ended          uint8 // ended: the job that this process knows to be over
	overdue                  bool
}

type process struct {
	mode mode
	view resource
	memory
	pass
}

// budget is what may still happen to the world.
type budget struct {
	kills, splits, stale, losses, readFaults, refusals, undone, removals, edits, blackouts, forgeries uint8
	strangers, misses                                                                                 uint8
	fails, forgets, overdue                                                                           uint8
}

type bad uint8

const (
	fine bad = iota
	duplicate
	leak
	untimely   // a create was sent although another may still take effect
	stranger   // something that is not ours was deleted or changed
	orphaned   // a delete was sent while others depend on the object
	taken      // an object was taken back that the custom resource has, or will have by its key
	unrecorded // a process waits for a job that is not written down
)

// dependents is what is known of the custom resources that refer to this one, or what is true of them.
type dependents uint8

const (
	nobodyRefers dependents = iota // no mapping refers to the kind
	goneAgain                      // those that did are gone
	somebody
	unknown
)

type world struct {
	cr       resource
	former   resource // the version before, which a stale cache may begin with
	objects  [objects]object
	requests [requests]request
	jobs     [jobs]job
	known    [keys]knownKey
	keyOver  bool // the time is over in which a process may count on the newest attempt's key
	procs    [slots]process
	left     budget
	referred dependents
	blackout bool // the credential has lost its scope: everything looks absent, and the probe fails
	bad      bad
}

// change is a new version of the custom resource, written by a process or, with nobody, by a user.
func (w *world) change(next resource, by *process) {
	w.former, w.cr = w.cr, next
	if next.gone {
		w.cr = resource{gone: true}
	}
	for i := range w.procs {
		w.procs[i].current = false
	}
	if by != nil {
		by.view, by.current = w.cr, true
	}
}

func (w *world) owner(i int) uint8 { return uint8(i) + 1 }

// send puts a request on its way.
func (w *world) send(r request) {
	for i := range w.requests {
		if w.requests[i].op == noOp {
			w.requests[i] = r
			return
		}
	}
	panic("more requests under way than the model has room for")
}

// answerTo gives the request that this process waits for.
func (w *world) answerTo(i int) *request {
	for k := range w.requests {
		if r := &w.requests[k]; r.awaited && r.owner == w.owner(i) {
			return r
		}
	}
	panic("a process waits for nothing")
}

// fuzzy gives the bits of the objects that reads may not show as they are.
func (w *world) fuzzy() uint8 {
	var mask uint8
	for i, o := range w.objects {
		if o.fuzzy {
			mask |= 1 << i
		}
	}
	return mask
}

// alter changes an object; reads may lag behind.
func (w *world) alter(k int, live bool, gen, writer uint8) {
	for i := range w.procs {
		w.procs[i].lagging &^= 1 << k
	}
	o := &w.objects[k]
	o.wasLive, o.wasGen = o.live, o.gen
	o.live, o.gen, o.writer, o.fuzzy = live, gen, writer, true
}

// clear ends the time in which reads may lag behind.
func (o *object) clear() { o.fuzzy, o.wasLive, o.wasGen = false, false, 0 }

func (w *world) lives() int {
	n := 0
	for i := range w.objects {
		if w.objects[i].live && !w.objects[i].alien {
			n++
		}
	}
	return n
}

// underway tells whether a pending request fits.
func (w *world) underway(fits func(request) bool) bool {
	for _, r := range w.requests {
		if r.op != noOp && r.result == pending && fits(r) {
			return true
		}
	}
	for _, j := range w.jobs {
		if j.state == jobRunning && fits(j.request) {
			return true
		}
	}
	return false
}
