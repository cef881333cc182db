//go:build crash

package crash_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/restmapping/operator/internal/restfake"
)

// faulty makes a part of the requests go wrong.
type faulty struct {
	mu     sync.Mutex
	random *rand.Rand
	counts map[string]int
}

type namedFault struct {
	name string
	make func() restfake.Fault
}

// badTurns is all that goes wrong. Whatever takes effect late does so within timeout and slack, and whatever is hidden
// appears within the consistency window: that is what the mapping promises.
func badTurns() []namedFault {
	return []namedFault{
		{"500", func() restfake.Fault { return restfake.Reply(500, "text/plain", "broken") }},
		{"429 in seconds", func() restfake.Fault { return restfake.Throttle("1") }},
		{"429 with a date", func() restfake.Fault { return restfake.Throttle(restfake.RetryAt(time.Now().Add(time.Second))) }},
		{"dropped before", restfake.Drop},
		{"committed, dropped", restfake.CommitThenDrop},
		{"committed, 502", func() restfake.Fault { return restfake.CommitThenReply(502, "text/html", "<html>bad gateway</html>") }},
		{"committed, truncated", restfake.CommitThenTruncate},
		{"committed late", func() restfake.Fault { return restfake.CommitLate(1300*time.Millisecond, restfake.CommitThenHang()) }},
		{"hidden", func() restfake.Fault { return restfake.Hidden(400 * time.Millisecond) }},
	}
}

// oneInFive is a fault for a fifth of all requests.
func (f *faulty) oneInFive(*restfake.Request) restfake.Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.random.IntN(5) != 0 {
		return restfake.Fault{}
	}
	turns := badTurns()
	turn := turns[f.random.IntN(len(turns))]
	f.counts[turn.name]++
	return turn.make()
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
	f := &faulty{random: seed(t), counts: map[string]int{}}
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
	t.Logf("faults: %s; answers of a person for class None: %d", f, s.person.answered)
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
