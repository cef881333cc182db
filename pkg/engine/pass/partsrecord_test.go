package pass_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/restmapping/operator/api/v1alpha1"
)

// What does not go into the record is not made, and the custom resource says why.
func TestMorePartsThanTheRecordHolds(t *testing.T) {
	t.Parallel()
	b := newTeamsBench(t, "ADOPTION", "ByIdentity")
	var elements []string
	for i := range 300 {
		name := fmt.Sprintf("%03d-%s", i, strings.Repeat("x", 240))
		elements = append(elements, "{name: "+name+"}")
		if _, err := b.server.Insert("/things/one/teams", map[string]any{"name": name}); err != nil {
			t.Fatal(err)
		}
	}
	b.create("one", "{size: 3, teams: ["+strings.Join(elements, ",")+"]}")
	b.follow("one", b.is("one", v1alpha1.ConditionStalled, "True RuleViolated"))
	b.wantMessage("one", v1alpha1.ConditionStalled, "parts.teams: ", "too many parts", "several custom resources")
	if entries := b.record("one").Parts["teams"]; len(entries) != 0 {
		t.Errorf("%d entries were written", len(entries))
	}
}

// The record goes on saying what was made, also where the object itself was removed and is made again.
func TestPartsStayRecordedWhenTheirObjectIsMadeAgain(t *testing.T) {
	t.Parallel()
	b := newTeamsBench(t)
	b.create("one", "{size: 3, teams: [{name: dev, role: write}]}")
	b.untilReady("one")
	b.advance(settleTime)
	if err := b.server.Remove("/things/one"); err != nil {
		t.Fatal(err)
	}
	b.follow("one", func() bool { return len(b.server.Live("/things")) == 1 })
	b.untilReady("one")
	if entries := b.record("one").Parts["teams"]; len(entries) != 1 {
		t.Errorf("the record has %v", entries)
	}
	b.wantTeams("dev=write")
}

// What another custom resource has made is not taken over with its annotations.
func TestACopiedRecordGivesNoParts(t *testing.T) {
	t.Parallel()
	b := newTeamsBench(t)
	b.create("one", "{size: 3, teams: [{name: dev, role: write}]}")
	b.untilReady("one")
	text := b.obj("one").GetAnnotations()[v1alpha1.RecordAnnotation]
	b.create("two", "{size: 3}")
	b.annotate("two", v1alpha1.RecordAnnotation, text)
	b.look("two")
	if parts := b.record("two").Parts; len(parts) != 0 {
		t.Errorf("the copy's record has %v", parts)
	}
}

// Where the server removes parts with their object, none is asked about when that goes.
func TestPartsThatGoWithTheirObjectAreNotAskedAbout(t *testing.T) {
	t.Parallel()
	b := newBench(t, strings.Replace(teams(), "deletion: First", "deletion: WithParent", 1), teamCollections()...)
	b.create("one", "{size: 3, teams: [{name: dev, role: write}]}")
	b.untilReady("one")
	b.advance(settleTime)
	b.delete("one")
	b.journal.take()
	b.follow("one", b.gone("one"))
	for _, line := range b.journal.take() {
		if strings.Contains(line, "/teams") {
			t.Errorf("sent %s", line)
		}
	}
}
