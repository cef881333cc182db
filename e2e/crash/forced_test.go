//go:build crash

package crash_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/restmapping/operator/internal/restfake"
)

// gate holds each create back at the server until it is let through.
type gate struct{ arrived, open chan struct{} }

func newGate() *gate { return &gate{arrived: make(chan struct{}), open: make(chan struct{})} }

// hold is the fault of a gate: none, but not before it is opened.
func (g *gate) hold(r *restfake.Request) restfake.Fault {
	if !isCreate(r) {
		return restfake.Fault{}
	}
	for _, step := range []func(){func() { g.arrived <- struct{}{} }, func() { <-g.open }} {
		done := make(chan struct{})
		go func() { defer close(done); step() }()
		select {
		case <-done:
		case <-time.After(longTimeout):
		}
	}
	return restfake.Fault{}
}

// longTimeout is the endpoint's while creates are held back.
const longTimeout = 20 * time.Second

// forceDeleteInFlight makes a custom resource and takes it away, with its finalizer, while its create is at the server.
func (s *scene) forceDeleteInFlight(g *gate, c class, name string) {
	s.t.Helper()
	s.create(c, name, 1)
	select {
	case <-g.arrived:
	case <-time.After(patience):
		s.t.Fatalf("the create of %s %s does not arrive", c.kind, name)
	}
	s.forceDelete(c, name)
	g.open <- struct{}{}
}

// TestForceDeletedWhileCreating takes finalizer and custom resource away while the create is at the server: what it
// makes must be taken back, because nothing will ever remember it.
func TestForceDeletedWhileCreating(t *testing.T) {
	s, g := newScene(t), newGate()
	s.timeout(longTimeout.String())
	s.server.set(g.hold)
	s.start()
	made := 0
	for round := range 3 {
		for _, c := range classes() {
			s.forceDeleteInFlight(g, c, fmt.Sprintf("object-%d", round))
			made++
		}
	}
	s.eventually("every create takes effect", patience, func() string {
		if n := s.server.count(restfake.Created); n < made {
			return fmt.Sprintf("%d of %d", n, made)
		}
		return ""
	})
	s.rest("everything is taken back")
	s.report("force-deleted while creating")
}

// TestKilledBeforeTakingBack takes finalizer and custom resource away while the create is at the server, and then the
// operator, just before it takes back what was made. Nothing remembers the object then, neither in the cluster nor in
// any process: it stays, and this is the one way in which something can stay. It must not become more than that.
func TestKilledBeforeTakingBack(t *testing.T) {
	s, g := newScene(t), newGate()
	s.timeout(longTimeout.String())
	s.server.set(g.hold)
	s.start("RESTMAPPING_CRASH_AT="+fmt.Sprintf("before-compensate:%d", len(classes())), "RESTMAPPING_CRASH_HOLD=true")
	for _, c := range classes() {
		s.forceDeleteInFlight(g, c, "object")
	}
	if !s.killed(arrival) {
		t.Fatal("not every class came to take back what it made")
	}
	s.server.set(nil)
	s.start()
	time.Sleep(3 * time.Second)
	var left []string
	for _, o := range s.server.ours() {
		left = append(left, o.Path)
	}
	if len(left) != len(classes()) {
		t.Errorf("outside there are %d objects instead of one of each class", len(left))
	}
	t.Logf("kills %d, duplicates %d; left outside, as nothing can remember them: %s", s.totals.kills, len(s.server.Duplicates()), strings.Join(left, ", "))
}
