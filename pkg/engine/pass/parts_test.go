package pass_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/restfake"
)

// teamsMapping is of things with teams: the server gives each an id and keeps its name unique.
const teamsMapping = `
  identifiers: [{name: thing, value: self.metadata.name}]
  operations:
    read: {path: "/things/{thing}"}
    create: {method: PUT, path: "/things/{thing}"}
    update: {method: PUT, path: "/things/{thing}"}
    delete: {path: "/things/{thing}"}
  fields: [{from: spec.size, to: size}]
  policy: {adoption: ADOPTION, drift: DRIFT, onMissing: MISSING}
  parts:
  - name: teams
    forEach: self.spec.?teams.orValue([])
    key: part.name
    identifiers: [{name: id, assigned: response.body.id}]
    operations:
      list: {path: "/things/{thing}/teams", itemKey: item.name}
      create: {path: "/things/{thing}/teams", safety: UniqueKey}
      update: {method: PATCH, path: "/things/{thing}/teams/{id}"}
      delete: {path: "/things/{thing}/teams/{id}"}
    fields:
    - {from: part.name, to: name}
    - {from: part.role, to: role}
    prune: PRUNE
    deletion: First
`

// teams gives the mapping with some of its settings changed: pairs of a setting and its value.
func teams(settings ...string) string {
	pairs := append(settings, "ADOPTION", "Never", "DRIFT", "Correct", "MISSING", "Recreate", "PRUNE", "Owned")
	return strings.NewReplacer(pairs...).Replace(teamsMapping)
}

func teamCollections() []restfake.Collection {
	return []restfake.Collection{
		upsertThings(), {Path: "/things/{thing}/teams", Unique: [][]string{{"name"}}, DuplicateKey: "name"},
	}
}

func newTeamsBench(t *testing.T, settings ...string) *bench {
	t.Helper()
	return newBench(t, teams(settings...), teamCollections()...)
}

// wantTeams checks what is outside, each as name=role.
func (b *bench) wantTeams(want ...string) {
	b.Helper()
	var got []string
	for _, o := range b.server.Live("/things/{thing}/teams") {
		got = append(got, fmt.Sprintf("%v=%v", o.Fields["name"], o.Fields["role"]))
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		b.Errorf("teams outside (-want +got):\n%s", diff)
	}
	if twice := b.server.Duplicates(); len(twice) > 0 {
		b.Errorf("doubled outside: %v", twice)
	}
}

func (b *bench) untilReady(name string) {
	b.Helper()
	b.follow(name, b.is(name, v1alpha1.ConditionReady, "True Available"))
}

// team is an element of spec.teams.
func team(name, role string) any { return map[string]any{"name": name, "role": role} }

func TestPartsAreMadeOneAfterTheOther(t *testing.T) {
	t.Parallel()
	b := newTeamsBench(t)
	b.create("one", "{size: 3, teams: [{name: dev, role: write}, {name: ops, role: admin}]}")
	b.look("one")
	b.happened("GET /things/one", "write record=Created +finalizer", "PUT /things/one", "GET /things/one", "status Unknown Progressing")
	b.look("one")
	b.happened("GET /things/one", "GET /things/one/teams", "write record=Created", "POST /things/one/teams")
	b.look("one")
	// After the last, the pass looks at what it has made.
	b.happened("GET /things/one", "GET /things/one/teams", "write record=Created", "POST /things/one/teams",
		"GET /things/one/teams", "write record=Created", "status True Available")
	b.look("one")
	b.happened("GET /things/one", "GET /things/one/teams")
	b.wantTeams("dev=write", "ops=admin")
}

func TestAnInSyncCustomResourceCostsOneListMore(t *testing.T) {
	t.Parallel()
	b := newTeamsBench(t)
	b.create("one", "{size: 3, teams: [{name: dev, role: write}, {name: ops, role: admin}]}")
	b.untilReady("one")
	b.journal.take()
	for range 3 {
		b.restart()
		b.advance(10 * time.Minute)
		b.look("one")
		b.happened("GET /things/one", "GET /things/one/teams")
	}
}

// Where nothing is asked for and nothing was made, there is nothing to list.
func TestNoElementCostsNoList(t *testing.T) {
	t.Parallel()
	b := newTeamsBench(t)
	b.create("one", "{size: 3}")
	b.untilReady("one")
	b.journal.take()
	b.look("one")
	b.happened("GET /things/one")
}

func TestADifferenceInAPartIsPutBackAndNamed(t *testing.T) {
	t.Parallel()
	b := newTeamsBench(t)
	b.create("one", "{size: 3, teams: [{name: dev, role: write}, {name: ops, role: admin}]}")
	b.untilReady("one")
	b.advance(time.Minute)
	if err := b.server.Change("/things/one/teams/1", func(fields map[string]any) { fields["role"] = "read" }); err != nil {
		t.Fatal(err)
	}
	b.journal.take()
	b.look("one")
	b.happened("GET /things/one", "GET /things/one/teams", "PATCH /things/one/teams/1", "GET /things/one/teams", "status True Available")
	b.wantTeams("dev=write", "ops=admin")
	if diff := cmp.Diff([]any{"parts.teams[dev].role"}, b.status("one")["drift"]); diff != "" {
		t.Error(diff)
	}
}

// The server's identifier says which object is ours, also where somebody has changed its name.
func TestARenamedPartGetsItsNameBack(t *testing.T) {
	t.Parallel()
	b := newTeamsBench(t)
	b.create("one", "{size: 3, teams: [{name: dev, role: write}]}")
	b.untilReady("one")
	b.advance(time.Minute)
	if err := b.server.Change("/things/one/teams/1", func(fields map[string]any) { fields["name"] = "old" }); err != nil {
		t.Fatal(err)
	}
	b.look("one")
	b.untilReady("one")
	b.wantTeams("dev=write")
}

func TestARemovedPartIsMadeAgain(t *testing.T) {
	t.Parallel()
	b := newTeamsBench(t)
	b.create("one", "{size: 3, teams: [{name: dev, role: write}]}")
	b.untilReady("one")
	b.advance(time.Minute)
	if err := b.server.Remove("/things/one/teams/1"); err != nil {
		t.Fatal(err)
	}
	b.journal.take()
	b.look("one")
	b.nothingSent()
	b.follow("one", func() bool { return len(b.server.Live("/things/{thing}/teams")) == 1 })
	b.untilReady("one")
	b.wantTeams("dev=write")
}

func TestARemovedPartStallsWhereThePolicySaysSo(t *testing.T) {
	t.Parallel()
	b := newTeamsBench(t, "MISSING", "Stall")
	b.create("one", "{size: 3, teams: [{name: dev, role: write}]}")
	b.untilReady("one")
	b.advance(time.Minute)
	if err := b.server.Remove("/things/one/teams/1"); err != nil {
		t.Fatal(err)
	}
	b.follow("one", b.is("one", v1alpha1.ConditionStalled, "True ExternalMissing"))
	b.wantMessage("one", v1alpha1.ConditionStalled, "parts.teams[dev]", "policy.onMissing")
	b.wantTeams()
}

func TestAnElementThatIsTakenOutIsDeleted(t *testing.T) {
	t.Parallel()
	b := newTeamsBench(t)
	b.create("one", "{size: 3, teams: [{name: dev, role: write}, {name: ops, role: admin}]}")
	b.untilReady("one")
	b.setSpec("one", "teams", []any{team("ops", "admin")})
	b.look("one")
	b.untilReady("one")
	b.wantTeams("ops=admin")
	if entries := b.record("one").Parts["teams"]; len(entries) != 1 {
		t.Errorf("the record still has %v", entries)
	}
}

func TestWhatIsThereBeforeIsNeitherChangedNorDeleted(t *testing.T) {
	t.Parallel()
	b := newTeamsBench(t)
	for _, name := range []string{"dev", "guests"} {
		if _, err := b.server.Insert("/things/one/teams", map[string]any{"name": name, "role": "theirs"}); err != nil {
			t.Fatal(err)
		}
	}
	b.create("one", "{size: 3, teams: [{name: dev, role: write}, {name: ops, role: admin}]}")
	b.follow("one", b.is("one", v1alpha1.ConditionStalled, "True NotAdoptable"))
	b.wantMessage("one", v1alpha1.ConditionReady, "parts.teams[dev]", "policy.adoption")
	b.wantTeams("dev=theirs", "guests=theirs", "ops=admin") // one that fails does not hold up the others
	b.delete("one")
	b.follow("one", b.gone("one"))
	b.wantTeams("dev=theirs", "guests=theirs")
}

func TestWhatIsThereBeforeIsTakenOverWhereThePolicySaysSo(t *testing.T) {
	t.Parallel()
	b := newTeamsBench(t, "ADOPTION", "ByIdentity")
	if _, err := b.server.Insert("/things/one/teams", map[string]any{"name": "dev", "role": "theirs"}); err != nil {
		t.Fatal(err)
	}
	b.create("one", "{size: 3, teams: [{name: dev, role: write}]}")
	b.untilReady("one")
	b.wantTeams("dev=write")
}

func TestPruneAllDeletesWhatNoElementAsksFor(t *testing.T) {
	t.Parallel()
	b := newTeamsBench(t, "PRUNE", "All")
	if _, err := b.server.Insert("/things/one/teams", map[string]any{"name": "guests", "role": "theirs"}); err != nil {
		t.Fatal(err)
	}
	b.create("one", "{size: 3, teams: [{name: dev, role: write}]}")
	b.untilReady("one")
	b.wantTeams("dev=write")
}

func TestPruneNoneLeavesWhatIsTakenOut(t *testing.T) {
	t.Parallel()
	b := newTeamsBench(t, "PRUNE", "None")
	b.create("one", "{size: 3, teams: [{name: dev, role: write}]}")
	b.untilReady("one")
	b.setSpec("one", "teams", []any{})
	b.look("one")
	b.untilReady("one")
	b.wantTeams("dev=write")
	if entries := b.record("one").Parts["teams"]; len(entries) != 0 {
		t.Errorf("the record still has %v", entries)
	}
}

func TestDriftOfPartsIsReportedWhereThePolicySaysSo(t *testing.T) {
	t.Parallel()
	b := newTeamsBench(t, "DRIFT", "Report")
	b.create("one", "{size: 3, teams: [{name: dev, role: write}]}")
	b.untilReady("one")
	if err := b.server.Change("/things/one/teams/1", func(fields map[string]any) { fields["role"] = "read" }); err != nil {
		t.Fatal(err)
	}
	b.journal.take()
	b.look("one")
	b.nothingSent()
	b.wantCondition("one", v1alpha1.ConditionSynced, "False DriftReported")
	b.wantMessage("one", v1alpha1.ConditionSynced, "parts.teams[dev].role")
}

// Two elements with one key are refused before anything is sent.
func TestTwoElementsWithOneKeyAreRefused(t *testing.T) {
	t.Parallel()
	b := newTeamsBench(t)
	b.create("one", "{size: 3, teams: [{name: dev, role: write}, {name: ops}, {name: dev, role: read}]}")
	b.look("one")
	b.happened("status False RuleViolated")
	b.wantMessage("one", v1alpha1.ConditionStalled, "parts.teams", "the key dev")
}

func TestAPartThatTheServerRefusesDoesNotHoldUpTheOthers(t *testing.T) {
	t.Parallel()
	b := newTeamsBench(t)
	b.server.fault(http.MethodPost, restfake.Reply(422, "application/json", `{"message":"the name is reserved"}`))
	b.create("one", "{size: 3, teams: [{name: bad, role: write}, {name: ops, role: admin}]}")
	b.follow("one", b.is("one", v1alpha1.ConditionStalled, "True RequestRejected"))
	b.wantMessage("one", v1alpha1.ConditionStalled, "parts.teams[bad]", "422", "the name is reserved")
	b.wantTeams("ops=admin")
	if entries := b.record("one").Parts["teams"]; len(entries) != 1 {
		t.Errorf("the record still has what was refused: %v", entries)
	}
	b.journal.take()
	b.look("one")
	b.nothingSent() // not again before its time
	b.setSpec("one", "teams", []any{team("ops", "admin")})
	b.look("one")
	b.untilReady("one")
}

// Whatever became of the create and of the process after it, in the end there is one object, and none after the deletion.
func TestALostAnswerNeverDoublesAPart(t *testing.T) {
	t.Parallel()
	for name, fault := range lostAnswers() {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, restart %v", name, restart), func(t *testing.T) {
				t.Parallel()
				b := newTeamsBench(t)
				b.server.fault(http.MethodPost, fault)
				b.create("one", "{size: 3, teams: [{name: dev, role: write}, {name: ops, role: admin}]}")
				b.follow("one", func() bool { return len(b.record("one").Parts["teams"]) > 0 })
				if restart {
					b.restart()
				}
				b.untilReady("one")
				b.wantTeams("dev=write", "ops=admin")
				b.delete("one")
				b.follow("one", b.gone("one"))
				b.wantTeams()
				b.wantLive(0)
			})
		}
	}
}

// A create that takes effect after its element was taken out, or its custom resource deleted, leaves nothing behind.
func TestALatePartIsNotLeftBehind(t *testing.T) {
	t.Parallel()
	for _, deleted := range []bool{false, true} {
		b := newTeamsBench(t)
		b.server.fault(http.MethodPost, restfake.CommitLate(20*time.Second, restfake.Reply(504, "text/html", "")))
		b.create("one", "{size: 3, teams: [{name: dev, role: write}]}")
		b.follow("one", func() bool { return len(b.record("one").Parts["teams"]) > 0 })
		done := b.gone("one")
		if deleted {
			b.delete("one")
		} else {
			b.setSpec("one", "teams", []any{})
			done = b.is("one", v1alpha1.ConditionReady, "True Available")
		}
		b.restart()
		b.look("one")
		b.follow("one", done)
		b.advance(time.Hour)
		b.wantTeams()
	}
}

// A pass sends one mutating request, however many parts there are, and also where the object itself goes after them.
func TestAPassSendsOneRequest(t *testing.T) {
	t.Parallel()
	second := strings.NewReplacer("name: teams", "name: guests", "spec.?teams", "spec.?guests", "/teams", "/guests").
		Replace(teams()[strings.Index(teams(), "  - name: teams"):])
	b := newBench(t, teams()+second, append(teamCollections(), restfake.Collection{Path: "/things/{thing}/guests", Unique: [][]string{{"name"}}})...)
	b.create("one", "{size: 3, teams: [{name: dev, role: write}], guests: [{name: eve, role: read}]}")
	mutating := func() {
		t.Helper()
		var sent []string
		for _, line := range b.journal.take() {
			if method, _, _ := strings.Cut(line, " "); slices.Contains([]string{"POST", "PUT", "PATCH", "DELETE"}, method) {
				sent = append(sent, line)
			}
		}
		if len(sent) > 1 {
			t.Errorf("one pass has sent %q", sent)
		}
	}
	for range 6 {
		b.look("one")
		mutating()
	}
	b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
	b.advance(settleTime)
	b.delete("one")
	for range 12 {
		b.look("one")
		mutating()
		b.advance(10 * time.Second)
	}
	if b.store.peek(named("one")) != nil {
		t.Error("it is still there")
	}
}

// A list that fails leads to nothing, whatever it answers.
func TestAFailedListOfPartsLeadsToNothing(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]restfake.Fault{
		"an error":               restfake.Reply(500, "application/json", `{}`),
		"not found":              restfake.Reply(404, "application/json", `{}`),
		"no credential":          restfake.Reply(403, "application/json", `{}`),
		"another kind of answer": restfake.Reply(200, "application/json", `{"teams":[]}`),
		"a broken connection":    restfake.Drop(),
		"an item without a name": restfake.Reply(200, "application/json", `[{"id":7}]`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newTeamsBench(t, "PRUNE", "All")
			b.create("one", "{size: 3, teams: [{name: dev, role: write}]}")
			b.untilReady("one")
			b.advance(time.Minute)
			b.server.AddRule(restfake.Rule{Method: http.MethodGet, Path: "/things/one/teams", Fault: fault})
			b.setSpec("one", "teams", []any{team("ops", "admin")})
			b.journal.take()
			for range 5 {
				b.look("one")
				b.advance(time.Minute)
			}
			b.nothingSent()
			b.wantMessage("one", v1alpha1.ConditionReady, "parts.teams")
			b.delete("one")
			b.look("one")
			b.nothingSent()
			b.wantTeams("dev=write")
		})
	}
}

// The parts go first, and are seen to be gone, before the object that they belong to is deleted.
func TestPartsAreDeletedFirst(t *testing.T) {
	t.Parallel()
	b := newTeamsBench(t)
	b.create("one", "{size: 3, teams: [{name: dev, role: write}, {name: ops, role: admin}]}")
	b.untilReady("one")
	b.advance(settleTime)
	b.setSpec("one", "teams", "no list any more") // a deletion does not hang on the specification
	b.delete("one")
	b.journal.take()
	b.follow("one", b.gone("one"))
	var sent []string
	for _, line := range b.journal.take() {
		if strings.HasPrefix(line, "DELETE ") {
			sent = append(sent, line)
		}
	}
	if diff := cmp.Diff([]string{"DELETE /things/one/teams/1", "DELETE /things/one/teams/2", "DELETE /things/one"}, sent); diff != "" {
		t.Error(diff)
	}
	b.wantTeams()
}

// Where the object itself is gone, its parts went with it, and the list that would show them cannot be asked.
func TestPartsAreGoneWithTheirObject(t *testing.T) {
	t.Parallel()
	b := newTeamsBench(t)
	b.create("one", "{size: 3, teams: [{name: dev, role: write}]}")
	b.untilReady("one")
	for _, path := range []string{"/things/one/teams/1", "/things/one"} {
		if err := b.server.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	b.server.AddRule(restfake.Rule{Method: http.MethodGet, Path: "/things/one/teams", Fault: restfake.Reply(404, "application/json", `{}`)})
	b.advance(settleTime)
	b.delete("one")
	b.follow("one", b.gone("one"))
}

// What was made is recorded before it is made, so a custom resource whose record cannot be written makes nothing.
func TestNothingIsMadeWithoutARecord(t *testing.T) {
	t.Parallel()
	b := newTeamsBench(t)
	b.create("one", "{size: 3, teams: [{name: dev, role: write}]}")
	b.look("one")
	b.failOnce("write record", errAPIServer)
	b.look("one")
	b.wantTeams()
	b.untilReady("one")
	b.wantTeams("dev=write")
}

// A part that the server keeps as it was is said to be updated, not to be missing, and where it differs.
func TestAPartThatAnUpdateDoesNotChangeIsNamed(t *testing.T) {
	t.Parallel()
	b := newTeamsBench(t)
	b.create("one", "{size: 3, teams: [{name: dev, role: write}]}")
	b.untilReady("one")
	b.advance(time.Minute)
	b.stubborn()
	b.setSpec("one", "teams", []any{map[string]any{"name": "dev", "role": "read"}})
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionReady, "Unknown Updating")
	b.wantMessage("one", v1alpha1.ConditionReady, "parts.teams[dev]: PATCH", "these fields still differ: role")
	b.advance(2 * time.Second)
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionReady, "Unknown Updating")
	b.wantMessage("one", v1alpha1.ConditionReady, "parts.teams[dev] was just written", "fields: role")
}
