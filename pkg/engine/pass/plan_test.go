package pass_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/restfake"
	"github.com/restmapping/operator/pkg/engine/pass"
)

// planned asks what another mapping would do with a custom resource, and makes sure that asking changes nothing anywhere.
func (b *bench) planned(name, body string) pass.Planned {
	b.Helper()
	return b.plan(body).look(name)
}

type planning struct {
	*bench
	plan *pass.Plan
}

func (b *bench) plan(body string) planning {
	b.Helper()
	return planning{b, pass.NewPlan(b.reconciler, pass.New(b.reconciler.Config, compile(b.T, body)))}
}

func (p planning) look(name string) pass.Planned {
	p.Helper()
	before := p.obj(name).DeepCopy()
	p.journal.take()
	found := p.plan.Look(p.Context(), named(name))
	for _, line := range p.journal.take() {
		if !strings.HasPrefix(line, "GET ") {
			p.Errorf("a plan has done %s", line)
		}
	}
	if diff := cmp.Diff(before, p.obj(name)); diff != "" {
		p.Errorf("a plan changed the custom resource (-was +is):\n%s", diff)
	}
	if told := p.events.take(); len(told) > 0 {
		p.Errorf("a plan told %v", told)
	}
	return found
}

func wantPlanned(t *testing.T, what string, got, want pass.Planned) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: planned is %+v, want %+v", what, got, want)
	}
}

func change(body string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(body) }

// In each class of create safety, whatever the other mapping would do: only reads are sent, nothing is written, and nothing
// of it is remembered.
func TestAPlanLooksAndDoesNothingElse(t *testing.T) {
	t.Parallel()
	const size, bigger = "{from: spec.size, to: size}", "{value: self.spec.size + 1, to: size}"
	policy := func(text string) []string { return []string{"\n  fields:", "\n  policy: {" + text + "}\n  fields:"} }
	cases := map[string]struct {
		edits []string
		want  pass.Planned
	}{
		"the same":               {nil, pass.Planned{}},
		"another value":          {[]string{size, bigger}, pass.Planned{Does: []string{"Update"}, Fields: []string{"size"}}},
		"another path to read":   {[]string{`read: {path: "/things/{id}"}`, `read: {path: "/nothing/{id}"}`}, pass.Planned{Does: []string{"OtherObject"}}},
		"another path to delete": {[]string{`delete: {path: "/things/{id}"}`, `delete: {path: "/things/{id}/all"}`}, pass.Planned{Does: []string{"OtherObject"}}},
		"a broken value":         {[]string{size, "{value: self.spec.server, to: size}"}, pass.Planned{Does: []string{"Stop (ExpressionFailed)"}}},
		"it only observes":       {append(policy("management: ObserveOnly"), size, bigger), pass.Planned{}},
		"it reports":             {append(policy("drift: Report"), size, bigger), pass.Planned{}},
	}
	eachClass(t, func(b *bench, c class) {
		b.settled("one", "{size: 3, color: red}")
		b.advance(time.Hour)
		for name, tc := range cases {
			body := change(c.mapping, tc.edits...)
			if len(tc.edits) > 0 && body == c.mapping {
				b.Fatalf("%s: the edit changes nothing", name)
			}
			wantPlanned(b.T, name, b.planned("one", body), tc.want)
		}
		b.look("one")
		b.nothingSent()
		b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
	})
}

// What the serving program would do just as well is not the edit's doing.
func TestAPlanLeavesOutWhatWouldHappenAnyway(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.settled("one", "{size: 3, color: red}")
	if err := b.server.Change("/things/one", func(fields map[string]any) { fields["size"] = 9.0 }); err != nil {
		t.Fatal(err)
	}
	wantPlanned(t, "drift", b.planned("one", upsertMapping), pass.Planned{})
	other := change(upsertMapping, "{from: spec.color, to: color}", `{value: "'blue'", to: color}`)
	wantPlanned(t, "drift, and another field", b.planned("one", other), pass.Planned{Does: []string{"Update"}, Fields: []string{"color"}})
	b.create("two", "{size: 3}")
	wantPlanned(t, "not made yet", b.planned("two", other), pass.Planned{})
	if err := b.server.Remove("/things/one"); err != nil {
		t.Fatal(err)
	}
	wantPlanned(t, "removed outside", b.planned("one", upsertMapping), pass.Planned{})
}

// An object of which nothing can be seen is unknown, and one that has nothing outside is not at stake.
func TestWhatCannotBePlannedIsUnknown(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.settled("one", "{size: 3}")
	b.create("two", "{size: 3}")
	b.server.fault(http.MethodGet, restfake.Reply(503, "text/plain", "away"))
	got := b.planned("one", upsertMapping)
	if got.Unknown == "" || len(got.Does) > 0 {
		t.Errorf("the server is away: %+v", got)
	}
	secret := change(upsertMapping, "\n  fields: [", "\n  secrets: [{name: s, refExpression: \"{'name': 'x', 'key': 'y'}\"}]\n  fields: [{to: secret, value: secrets.s, writeOnly: true}, ")
	if got = b.planned("one", secret); got.Unknown != v1alpha1.ReasonSecretNotFound {
		t.Errorf("a Secret is missing: %+v", got)
	}
	wantPlanned(t, "nothing outside", b.planned("two", secret), pass.Planned{})
}

// A custom resource that is being deleted is planned as well: its delete must not go to another object.
func TestAPlanOfADeletion(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.deletions = &guard{why: "held"}
	b.restart()
	b.settled("one", "{size: 3}")
	b.delete("one")
	b.look("one")
	b.events.take()
	wantPlanned(t, "the same", b.planned("one", upsertMapping), pass.Planned{})
	orphan := change(upsertMapping, "\n  fields:", "\n  policy: {deletion: Orphan}\n  fields:")
	wantPlanned(t, "left as it is", b.planned("one", orphan), pass.Planned{})
	leaves := newBench(t, orphan, upsertThings())
	leaves.settled("one", "{size: 3}")
	leaves.delete("one")
	wantPlanned(t, "deleted after all", leaves.planned("one", upsertMapping), pass.Planned{Does: []string{"Delete"}})
	other := change(upsertMapping, `delete: {path: "/things/{id}"}`, `delete: {path: "/things"}`)
	wantPlanned(t, "elsewhere", b.planned("one", other), pass.Planned{Does: []string{"OtherObject"}})
}

// The list is read once for all custom resources and both programs.
func TestAPlanReadsAListOnce(t *testing.T) {
	t.Parallel()
	listing := change(markerMapping, "    read: {path: \"/things/{id}\"}\n", "")
	b := newBench(t, listing, markedThings())
	for i := range 5 {
		b.settled(fmt.Sprintf("n%d", i), "{size: 3}")
	}
	b.server.Forget()
	p := b.plan(change(listing, "{from: spec.size, to: size}", "{value: self.spec.size + 1, to: size}"))
	for i := range 5 {
		wantPlanned(t, "another value", p.look(fmt.Sprintf("n%d", i)), pass.Planned{Does: []string{"Update"}, Fields: []string{"size"}})
	}
	if n := b.server.Count("", ""); n != 1 {
		t.Errorf("%d requests: %v", n, b.server.Counts())
	}
}

// A custom resource that the newer mapping does not select is let down, where it has an object.
func TestWhatIsNoLongerServedCounts(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	b.settled("one", "{size: 3}")
	config := b.reconciler.Config
	config.Objects = newStore(t, &journal{})
	plan := pass.NewPlan(b.reconciler, pass.New(config, b.program))
	wantPlanned(t, "not selected", plan.Look(t.Context(), named("one")), pass.Planned{Does: []string{"Abandon"}})
	wantPlanned(t, "gone", plan.Look(t.Context(), named("nobody")), pass.Planned{})
}

// Objects that would be deleted with an edit are most often those of a part whose list has become shorter.
func TestAPlanOfParts(t *testing.T) {
	t.Parallel()
	b := newTeamsBench(t)
	b.create("one", "{size: 3, teams: [{name: dev, role: write}, {name: ops, role: admin}]}")
	b.untilReady("one")
	b.events.take()
	b.advance(time.Hour)
	for name, tc := range map[string]struct {
		from, to string
		want     pass.Planned
	}{
		"the same":       {"", "", pass.Planned{}},
		"no elements":    {"forEach: self.spec.?teams.orValue([])", "forEach: self.spec.?guests.orValue([])", pass.Planned{Does: []string{"Delete of parts.teams"}}},
		"another value":  {"{from: part.role, to: role}", "{value: \"part.role + '!'\", to: role}", pass.Planned{Does: []string{"Update of parts.teams"}}},
		"another key":    {"key: part.name", "key: part.name + 'x'", pass.Planned{Does: []string{"Create of parts.teams"}}},
		"they are left":  {"prune: Owned", "prune: None", pass.Planned{}},
		"another list":   {`list: {path: "/things/{thing}/teams"`, `list: {path: "/things/{thing}/nothing"`, pass.Planned{Unknown: v1alpha1.ReasonObservationFailed}},
		"and the object": {"fields: [{from: spec.size, to: size}]", "fields: [{value: self.spec.size + 1, to: size}]", pass.Planned{Does: []string{"Update"}, Fields: []string{"size"}}},
	} {
		wantPlanned(t, name, b.planned("one", change(teams(), tc.from, tc.to)), tc.want)
	}
	b.wantTeams("dev=write", "ops=admin")
}
