//go:build crash

package crash_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/restmapping/operator/internal/restfake"
)

// faulty makes a part of the requests go wrong.
type faulty struct {
	server *server

	mu     sync.Mutex
	random *rand.Rand
	counts map[string]int
	last   map[string]time.Time
}

// turn is one way to go wrong.
type turn struct {
	name string
	// fits tells the requests that it can happen to, all without it; gap is the least time between two.
	fits func(*restfake.Request) bool
	gap  time.Duration
	make func(*restfake.Request) restfake.Fault
}

func always(fault restfake.Fault) func(*restfake.Request) restfake.Fault {
	return func(*restfake.Request) restfake.Fault { return fault }
}

func isDelete(r *restfake.Request) bool { return r.Method == http.MethodDelete }

// isLaterPage tells the requests for a page after the first.
func isLaterPage(r *restfake.Request) bool {
	return r.Query.Get("page") != "" && r.Query.Get("page") != "1"
}

// turns are all that goes wrong. Whatever takes effect late does so within timeout and slack, and whatever is hidden
// appears within the consistency window: that is what the mapping promises. A server that answers 429 is sent less for a
// while by all custom resources, so that comes rarely here; and two lists in a row that both miss an object, because its
// page moved, cannot be told from its absence.
func (f *faulty) turns() []turn {
	const often, rarely = 0, 5 * time.Second
	throttle := func(retry func() string) func(*restfake.Request) restfake.Fault {
		return func(*restfake.Request) restfake.Fault { return restfake.Throttle(retry()) }
	}
	return []turn{
		{"500", nil, often, always(restfake.Reply(500, "text/plain", "broken"))},
		{"429 in seconds", nil, rarely, throttle(func() string { return "1" })},
		{"429 with a date", nil, rarely, throttle(func() string { return restfake.RetryAt(time.Now().Add(time.Second)) })},
		{"dropped before", nil, often, always(restfake.Drop())},
		{"committed, dropped", nil, often, always(restfake.CommitThenDrop())},
		{"committed, 502", nil, often, always(restfake.CommitThenReply(502, "text/html", "<html>bad gateway</html>"))},
		{"committed, truncated", nil, often, always(restfake.CommitThenTruncate())},
		{"committed late", nil, often, always(restfake.CommitLate(1300*time.Millisecond, restfake.CommitThenHang()))},
		{"hidden", nil, often, always(restfake.Hidden(400 * time.Millisecond))},
		{"created, and not told what", isCreate, often, always(restfake.CommitThenReply(201, "application/json", "{}"))},
		{"delete accepted, never done", isDelete, often, always(restfake.Reply(204, "", ""))},
		{"delete accepted, done late", isDelete, often, always(restfake.CommitLate(800*time.Millisecond, restfake.Reply(204, "", "")))},
		{"pages move", isLaterPage, rarely, f.movePages},
	}
}

// movePages takes what stands first in the list away and puts it at the end, between two pages.
func (f *faulty) movePages(r *restfake.Request) restfake.Fault {
	for _, o := range f.server.Live(r.Route) {
		if !strings.HasPrefix(owner(o), foreign) {
			continue
		}
		if err := f.server.Remove(o.Path); err != nil {
			break
		}
		if _, err := f.server.Insert(r.Route, o.Fields); err != nil {
			panic(err) // what was just there can be put back
		}
		break
	}
	return restfake.Fault{}
}

// oneInFive is a fault for a fifth of all requests.
func (f *faulty) oneInFive(r *restfake.Request) restfake.Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.random.IntN(5) != 0 {
		return restfake.Fault{}
	}
	now := time.Now()
	turns := slices.DeleteFunc(f.turns(), func(t turn) bool {
		return t.fits != nil && !t.fits(r) || t.gap > 0 && now.Sub(f.last[t.name]) < t.gap
	})
	chosen := turns[f.random.IntN(len(turns))]
	f.counts[chosen.name]++
	f.last[chosen.name] = now
	return chosen.make(r)
}

func (f *faulty) total() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	sum := 0
	for _, n := range f.counts {
		sum += n
	}
	return sum
}

func (f *faulty) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var parts []string
	for name, n := range f.counts {
		parts = append(parts, fmt.Sprintf("%s: %d", name, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}

// TestFaultsOfTheServer takes 100 custom resources through create, update and delete while a fifth of all requests goes
// wrong in every way.
func TestFaultsOfTheServer(t *testing.T) {
	s := newScene(t)
	f := &faulty{server: s.server, random: seed(t), counts: map[string]int{}, last: map[string]time.Time{}}
	// Above the default: what is lost to a 429 comes back at a rate that goes by the limit.
	s.endpoint("timeout: 1s, limits: {requestsPerSecond: 500, burst: 500, inFlight: 32}")
	s.server.set(f.oneInFive)
	s.start()
	each := 20
	if long() {
		each = 200
	}
	s.every(each, func(c class, name string) { s.create(c, name, 1) })
	s.slow("created in spite of faults")
	s.every(each, func(c class, name string) { s.resize(c, name, 2) })
	s.slow("changed in spite of faults")
	for name := range s.want {
		delete(s.want, name)
	}
	s.every(each, func(c class, name string) { s.delete(c, name) })
	s.slow("deleted in spite of faults")
	s.totals.faults = f.total()
	s.report("faults of the server")
	t.Logf("faults: %s; answers of a person: %s", f, s.person.answered())
}

func (s *scene) every(each int, do func(c class, name string)) {
	for _, c := range classes() {
		for i := range each {
			do(c, fmt.Sprintf("object-%d", i))
		}
	}
}

// slow is rest with more patience: failures in a row make the operator wait longer and longer.
func (s *scene) slow(what string) {
	s.t.Helper()
	var last []string
	if !s.eventually(what, 3*patience, func() string {
		last = s.problems(true)
		return strings.Join(last[:min(len(last), 10)], "\n")
	}) {
		s.blame(last)
	}
}

// TestTheScopeOfTheCredentialIsLost lets the server answer 404 to everything for a while, as many do where a credential may
// no longer see anything. Nothing counts as gone because of that: nothing is made again, and no custom resource is let go.
func TestTheScopeOfTheCredentialIsLost(t *testing.T) {
	s := newScene(t)
	s.start()
	for _, c := range classes() {
		s.create(c, "kept", 1)
		s.create(c, "going", 1)
	}
	s.rest("before")
	made := s.server.count(restfake.Created)
	s.server.set(func(*restfake.Request) restfake.Fault {
		return restfake.Reply(http.StatusNotFound, "application/json", `{"message":"Not Found"}`)
	})
	for _, c := range classes() {
		s.resize(c, "kept", 2)
		s.delete(c, "going")
		s.create(c, "new", 1)
	}
	time.Sleep(10 * time.Second)
	for _, c := range classes() {
		if s.get(c, "going") == nil {
			t.Errorf("%s was let go although nobody could see whether its object was gone", c.kind)
		}
	}
	s.server.set(nil)
	s.rest("when it sees again")
	if n := s.server.count(restfake.Created) - made; n != len(classes()) {
		t.Errorf("%d objects were made, want one new one of each of %d classes", n, len(classes()))
	}
	s.deleteAll("deleted")
	s.report("scope of the credential lost")
}
