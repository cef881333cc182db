package parts

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/rest"
)

// The model drives Next through every interleaving, for one key, of: kills at any step, answers that are lost, requests that
// take effect late, lists that lag behind or fail, a stranger who makes and removes an object with our key, an element that
// is taken out of the custom resource, and its deletion. The server keeps keys unique and assigns identifiers.

// object is what the server has under the key; the zero value is nothing.
type object struct {
	id   int
	ours bool
}

// entry is what the record says.
type entry struct {
	state State
	id    int
}

// memory is what the process knows; a kill resets it.
type memory struct {
	// settled: the settle time has passed since it first saw the record's attempt; here: nothing that was
	// sent before the intent it wrote can still take effect.
	settled, here, answered, refused bool
	answerID                         int
	before                           entry
	absent, neverSeen, gone          bool
	quiet                            bool
}

// place is where the process is within a pass.
type place struct {
	listed   bool
	seen     object
	intended bool
	sent     rest.Operation
	outcome  lifecycle.Outcome
	restored bool
	spent    bool
}

type world struct {
	server, former object // former is what a list that lags may still show
	lagging        bool
	record         entry
	mem            memory
	at             place
	late           int // creates under way whose sender no longer waits
	lateDelete     int // the identifier that a late delete is for
	ids            int
	wanted         bool
	deleting       bool
	gone           bool
	// budgets of what others and fate may do
	kills, losses, strangers, removals int
	// murky: an answer was lost, or a process killed, since the record said Creating: what is under the key may be ours.
	murky bool
	// touched: a stranger's object was taken over, changed or deleted though nothing was murky.
	touched bool
}

// rules switches off what the model must need.
type rules struct{ settle, restore, twice, failedIsEmpty, quiet, intent, ownership bool }

const none = 0

func (w world) facts(r rules) Facts {
	k := Key{
		Name: "k", Wanted: w.wanted, State: w.record.state, Equal: true, Refused: w.mem.refused && !r.restore, Identified: w.mem.answerID != none,
		NeverSeen: w.mem.neverSeen, Quiet: w.mem.quiet || r.quiet, Settled: w.mem.settled || w.mem.here && w.mem.answered || r.settle,
		AbsentBefore: w.mem.absent || r.twice, Gone: w.mem.gone,
	}
	if seen := w.at.seen; seen.id != none {
		if w.record.state == Made && seen.id == w.record.id {
			k.Own = true
		} else {
			k.Others = 1
		}
	}
	f := Facts{
		Look: lifecycle.LookNotYet, Deleting: w.deleting, Prune: v1alpha1.PruneOwned,
		CanCreate: true, CanUpdate: true, CanDelete: true, Keys: []Key{k}, Spent: w.at.spent,
	}
	if r.ownership {
		f.Policy.Adoption = v1alpha1.AdoptByIdentity
	}
	if w.at.listed {
		f.Look = lifecycle.LookFound
	}
	if w.at.intended {
		f.Intended = "k"
	}
	if w.at.sent != "" {
		f.Sent = &Sent{Key: "k", Operation: w.at.sent, Outcome: w.at.outcome, Restored: w.at.restored || r.restore, Last: true}
	}
	return f
}

// steps gives every world that may follow.
func (w world) steps(r rules) []world {
	if w.gone {
		return w.fate()
	}
	return append(w.fate(), w.act(r)...)
}

// act is the process's own next step, with all that the server may answer.
func (w world) act(r rules) []world {
	s := Next(w.facts(r))
	switch s.Action {
	case List:
		if w.at.sent != "" {
			w.at = place{spent: true}
		}
		return w.list(r)
	case Write:
		return []world{w.write(s, r)}
	case Create:
		return w.create()
	case Delete:
		return w.remove()
	case End:
		if w.deleting && s.Complete() && w.record.state == None {
			w.gone = true
		}
		w.at = place{}
		return []world{w}
	default:
		panic("the model has nothing to update")
	}
}

func (w world) list(r rules) []world {
	var out []world
	see := func(o object) {
		n := w
		n.at.listed, n.at.seen = true, o
		own := n.record.state == Made && o.id == n.record.id && o.id != none
		if own {
			n.mem.neverSeen, n.mem.absent, n.mem.gone = false, false, false
		}
		out = append(out, n)
		if !own {
			n.mem.absent = true // what the next list goes by
			n.at = place{}
			if w.mem.absent {
				return
			}
			out = append(out, n)
		}
	}
	see(w.server)
	if w.lagging {
		see(w.former)
	}
	if r.failedIsEmpty {
		see(object{})
	}
	failed := w
	failed.at = place{}
	return append(out, failed)
}

func (w world) write(s Step, r rules) world {
	for _, c := range s.Changes {
		switch {
		case c.Restore:
			w.record, w.mem.refused, w.at.restored = w.mem.before, false, true
		case c.To == Creating:
			w.mem.before, w.at.intended = w.record, true
			w.mem.here = w.record.state == None || w.mem.settled || w.mem.here && w.mem.answered
			w.mem.answered, w.mem.settled = false, false
			w.murky = w.murky && w.record.state == Creating // an earlier create may still be what is found
			if !r.intent {
				w.record = entry{state: Creating}
			}
		case c.To == Made:
			id := w.mem.answerID
			if id == none {
				id = w.at.seen.id
				w = w.taken(id)
			}
			w.record = entry{state: Made, id: id}
			w.mem.neverSeen = w.mem.answerID != none && w.at.seen.id != id
			w.mem.answerID = none
		default:
			w.record = entry{}
			w.mem.absent, w.mem.gone = false, false
		}
	}
	return w
}

// taken is for an object that is now ours because it was found. In a murky time nobody can tell it from ours.
func (w world) taken(id int) world {
	w.touched = w.touched || !w.at.seen.ours && !w.murky
	if w.server.id == id {
		w.server.ours = true
	}
	if w.former.id == id {
		w.former.ours = true
	}
	return w
}

func (w world) create() []world {
	w.at.intended, w.at.sent, w.mem.quiet = false, rest.Create, false
	var out []world
	if w.losses > 0 { // it takes effect now, later or never, and nobody hears of it
		n := w
		n.losses--
		n.at.outcome, n.murky = lifecycle.Ambiguous, true
		n.late++
		out = append(out, n)
	}
	n := w.commit()
	n.mem.answered = true
	if n.server.id == w.server.id { // refused
		n.at.outcome, n.mem.refused, n.mem.quiet = lifecycle.Conflict, true, true
		return append(out, n)
	}
	n.at.outcome, n.mem.answerID = lifecycle.Success, n.server.id
	return append(out, n)
}

// commit makes the object, where nothing has its key.
func (w world) commit() world {
	if w.server.id != none {
		return w
	}
	w.ids++
	return w.change(object{id: w.ids, ours: true})
}

// change is a write of ours: lists may lag behind it for a while.
func (w world) change(to object) world {
	w.former, w.lagging, w.server = w.server, true, to
	return w
}

func (w world) remove() []world {
	id := w.record.id
	w.at.sent = rest.Delete
	var out []world
	if w.losses > 0 && w.lateDelete == none {
		n := w
		n.losses--
		n.at.outcome, n.lateDelete = lifecycle.Ambiguous, id
		out = append(out, n)
	}
	n := w.deleted(id)
	n.at.outcome, n.mem.gone = lifecycle.Success, true
	return append(out, n)
}

func (w world) deleted(id int) world {
	if w.server.id != id {
		return w
	}
	w.touched = w.touched || !w.server.ours
	return w.change(object{})
}

// fate is all that happens by itself.
func (w world) fate() []world {
	var out []world
	if w.late > 0 {
		n := w.commit()
		n.late--
		out = append(out, n)
	}
	if w.lateDelete != none {
		n := w.deleted(w.lateDelete)
		n.lateDelete = none
		out = append(out, n)
	}
	// The settle time passes: what is under way ends, and lists catch up.
	n := w
	n.late, n.lateDelete, n.lagging, n.former = 0, none, false, object{}
	n.mem.settled, n.mem.quiet = true, true
	if w.at == (place{}) {
		out = append(out, n)
	}
	if w.kills > 0 && !w.gone {
		n := w
		n.kills--
		n.mem, n.at = memory{}, place{}
		n.murky = n.murky || n.record.state == Creating
		out = append(out, n)
	}
	if w.strangers > 0 && w.server.id == none {
		n := w
		n.strangers--
		n.ids++
		n.server = object{id: n.ids}
		out = append(out, n)
	}
	if w.removals > 0 && w.server.id != none {
		n := w
		n.removals--
		n.server = object{}
		out = append(out, n)
	}
	if w.wanted {
		n := w
		n.wanted = false
		out = append(out, n)
	}
	if !w.deleting {
		n := w
		n.deleting = true
		out = append(out, n)
	}
	return out
}

// What must never be.
const (
	taken = "a stranger's object was taken over or deleted"
	left  = "an object of ours is left behind"
)

// wrong says what must never be.
func (w world) wrong() string {
	switch {
	case w.touched:
		return taken
	case w.gone && (w.server.ours || w.late > 0):
		return left
	default:
		return ""
	}
}

func beginning() world {
	return world{wanted: true, kills: 2, losses: 1, strangers: 1, removals: 1}
}

// explore visits every world; it gives the first thing that is wrong, and the worlds with what led to them.
func explore(r rules) (wrong string, seen map[world][]world) {
	seen = map[world][]world{}
	queue := []world{beginning()}
	seen[beginning()] = nil
	for len(queue) > 0 {
		w := queue[0]
		queue = queue[1:]
		for _, next := range w.steps(r) {
			if problem := next.wrong(); problem != "" {
				return problem + story(seen, w, next), seen
			}
			before, known := seen[next]
			seen[next] = append(before, w)
			if !known {
				queue = append(queue, next)
			}
		}
	}
	return "", seen
}

// story tells how it came to this.
func story(seen map[world][]world, w, last world) string {
	text := fmt.Sprintf("\n%+v", last)
	for w != beginning() {
		text = fmt.Sprintf("\n%+v", w) + text
		w = seen[w][0]
	}
	return text
}

// whole is the exploration with all rules. It is made once, since it takes seconds.
var whole = sync.OnceValues(func() (string, map[world][]world) { return explore(rules{}) })

func TestNothingIsDoubledLeakedOrTakenFromOthers(t *testing.T) {
	t.Parallel()
	wrong, seen := whole()
	if wrong != "" {
		t.Fatal(wrong)
	}
	if len(seen) < 10_000 {
		t.Errorf("only %d worlds: the model is too small to show anything", len(seen))
	}
	t.Logf("%d worlds", len(seen))
}

// Wherever it stands, the deletion can come to its end.
func TestEveryDeletionCanEnd(t *testing.T) {
	t.Parallel()
	wrong, seen := whole()
	if wrong != "" {
		t.Skip("the other test says what is wrong")
	}
	good := map[world]bool{}
	var queue []world
	for w := range seen {
		if w.gone {
			good[w] = true
			queue = append(queue, w)
		}
	}
	for len(queue) > 0 {
		w := queue[0]
		queue = queue[1:]
		for _, before := range seen[w] {
			if !good[before] {
				good[before] = true
				queue = append(queue, before)
			}
		}
	}
	for w := range seen {
		if !good[w] {
			t.Fatalf("stuck for ever: %+v", w)
		}
	}
}

// Each rule is needed: without it, the model finds what goes wrong.
func TestWithoutARuleSomethingGoesWrong(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		off  rules
		want string
	}{
		{"the key is written down before its create", rules{intent: true}, left},
		{"what was there before is somebody else's", rules{ownership: true}, taken},
		{"a lost create is waited for until it can no longer take effect", rules{settle: true}, left},
		{"a create that the server has refused is forgotten", rules{restore: true}, taken},
		{"a list that failed is not an empty list", rules{failedIsEmpty: true}, left},
		{"no list from within the consistency window is believed", rules{quiet: true, twice: true}, left},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			wrong, seen := explore(tc.off)
			if !strings.HasPrefix(wrong, tc.want) || wrong == "" {
				t.Errorf("in %d worlds without the rule the model finds %q, want %q", len(seen), wrong, tc.want)
			}
			t.Logf("| without %s | %s |", tc.name, tc.want)
		})
	}
}
