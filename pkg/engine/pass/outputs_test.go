package pass_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/restfake"
	"github.com/restmapping/operator/pkg/engine/outputs"
	"github.com/restmapping/operator/pkg/lifecycle"
)

// canary is what only the create answers with.
const canary = "canary-7f3a-token"

const (
	createdOutput = `
  outputs:
  - {name: token, kind: Secret, operations: [Create], data: {token: response.body.token, id: identifiers.id}}
`
	observedOutput = `
  outputs:
  - {name: access, kind: Secret, data: {size: observed.size, name: self.metadata.name}}
`
)

// tokens answers each create as the server does, with a token beside the id.
func tokens(b *bench) {
	b.server.AddRule(restfake.Rule{Method: http.MethodPost, Fault: restfake.CommitThenReply(201, "application/json", `{"id":"1","token":"`+canary+`"}`)})
}

// writesOf are the lines of the journal without the looks at the output.
func writesOf(lines []string) []string {
	var kept []string
	for _, line := range lines {
		if !strings.HasPrefix(line, "get Secret") {
			kept = append(kept, line)
		}
	}
	return kept
}

// The value is stored after the create and before the record, and its place is made before the create is sent.
func TestWhatOnlyACreateGivesIsStoredFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t, markerMapping+createdOutput, markedThings())
	tokens(b)
	b.create("one", "{size: 3}")
	b.look("one")
	want := []string{
		"GET /things", "make Secret one-token", "write record=Creating +finalizer", "POST /things", "fill Secret one-token",
		"swap record=Created", "GET /things/1", "status True Available",
	}
	if diff := cmp.Diff(want, writesOf(b.journal.take())); diff != "" {
		t.Errorf("writes and requests (-want +got):\n%s", diff)
	}
	if got := b.outputs.peek(secretNamed("one-token")); got == nil || got.Data["token"] != canary || got.Data["id"] != "1" || got.Controller != "uid-one" {
		t.Errorf("the Secret is %v", got)
	}
	b.noCanary("one")
}

// noCanary looks for the value where it must not be.
func (b *bench) noCanary(name string) {
	b.Helper()
	text := conditionText(b.obj(name), "Ready") + strings.Join(b.events.take(), "\n")
	for _, part := range []any{b.obj(name).Object, b.observed} {
		text += cmp.Diff(nil, part)
	}
	if strings.Contains(text, canary) {
		b.Errorf("the value is in: %s", text)
	}
}

// A process that ended after the value was stored knows what it made, even where the API offers nothing to find it by.
func TestAStoredOutputTellsWhatWasMade(t *testing.T) {
	t.Parallel()
	for name, mapping := range map[string]string{"a marker": markerMapping, "nothing to find by": noneMapping, "a unique key": keyedMapping} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, mapping+createdOutput, plainThings())
			tokens(b)
			b.create("one", "{size: 3}")
			b.store.before = func(line string) error {
				if strings.HasPrefix(line, "swap") {
					return apierrors.NewForbidden(things, "one", nil) // the process ends here
				}
				return nil
			}
			ctx, stop := contextThatEnds(t)
			b.outputs.before = func(line string) error {
				if strings.HasPrefix(line, "fill") {
					defer stop()
				}
				return nil
			}
			b.reconciler.Handle(ctx, named("one"))
			if got := string(b.record("one").Phase); got != "Creating" {
				t.Fatalf("the record says %s", got)
			}
			b.store.before, b.outputs.before = func(string) error { return nil }, func(string) error { return nil }
			b.journal.take()
			b.restart()
			b.look("one")
			if diff := cmp.Diff([]string{"swap record=Created", "GET /things/1", "status True Available"}, writesOf(b.journal.take())); diff != "" {
				t.Errorf("writes and requests (-want +got):\n%s", diff)
			}
			b.wantLive(1)
			b.delete("one")
			b.follow("one", b.gone("one"))
			b.wantLive(0)
		})
	}
}

// What another attempt stored, or another custom resource's object holds, says nothing about this attempt. Neither does what
// somebody wrote there who has no key: it could name the object of somebody else, which would then be changed and deleted.
func TestAForeignNoteIsNotBelieved(t *testing.T) {
	t.Parallel()
	b := newBench(t, noneMapping+createdOutput, plainThings())
	b.create("one", "{size: 3}")
	b.server.fault(http.MethodPost, restfake.CommitThenDrop())
	b.look("one")
	attempt := b.record("one").Attempt
	ours, ref := subjectOf("one"), secretNamed("one-token")
	whole := `{"attempt":"` + attempt + `","made":true,"ids":{"id":"1"},"write":"w"`
	another := newRing(t, "z", "")
	notes := map[string]struct{ owner, note string }{
		"another attempt":         {"uid-one", b.signNote(ours, ref, `{"attempt":"other","made":true,"ids":{"id":"1"},"write":"w"`)},
		"another custom resource": {"uid-two", b.signNote(ours, ref, whole)},
		"not yet made":            {"uid-one", b.signNote(ours, ref, `{"attempt":"`+attempt+`","ids":{"id":"1"},"write":"w"`)},
		"no identifier":           {"uid-one", b.signNote(ours, ref, `{"attempt":"`+attempt+`","made":true,"write":"w"`)},
		"not ours":                {"uid-one", `{`},
		"not signed":              {"uid-one", whole + "}"},
		"signed by another":       {"uid-one", whole + `,"mac":"` + another.SignNote(ours, ref.String(), []byte(whole+"}")) + `"}`},
		"signed for another":      {"uid-one", b.signNote(subjectOf("two"), ref, whole)},
		"signed for its place":    {"uid-one", b.signNote(ours, secretNamed("two-token"), whole)},
		"edited":                  {"uid-one", strings.Replace(b.signNote(ours, ref, whole), `"id":"1"`, `"id":"2"`, 1)},
	}
	for name, n := range notes {
		b.outputs.set(ref, types.UID(n.owner), n.note, nil)
		b.restart()
		b.look("one")
		if got := string(b.record("one").Phase); got != "Creating" {
			t.Errorf("%s: the record says %s", name, got)
		}
	}
	b.wantCondition("one", v1alpha1.ConditionReady, "False CreateOutcomeUnknown")
	b.outputs.set(ref, "uid-one", b.signNote(ours, ref, whole), nil) // the test is one of the signature
	b.restart()
	b.look("one")
	if got := string(b.record("one").Phase); got != "Created" {
		t.Errorf("a genuine note: the record says %s", got)
	}
}

// signNote completes a note as the operator would have written it.
func (b *bench) signNote(subject lifecycle.Subject, ref outputs.Ref, text string) string {
	return text + `,"mac":"` + b.keys.Ring().SignNote(subject, ref.String(), []byte(text+"}")) + `"}`
}

// Nothing is sent while the place of the value is somebody else's, or may not be made.
func TestWithoutAPlaceNothingIsCreated(t *testing.T) {
	t.Parallel()
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "one-token", nil)
	cases := map[string]struct {
		prepare func(*bench)
		want    string
		says    []string
	}{
		"a foreign Secret": {
			func(b *bench) { b.outputs.set(secretNamed("one-token"), "", "", map[string]string{"token": "theirs"}) },
			"False OutputConflict",
			[]string{"Secret team/one-token", "somebody else"},
		},
		"another custom resource's": {
			func(b *bench) { b.outputs.set(secretNamed("one-token"), "uid-two", "", nil) },
			"False OutputConflict",
			[]string{"Secret team/one-token"},
		},
		"no right": {
			func(b *bench) { b.outputs.before = func(line string) error { return ifWrite(line, forbidden) } },
			"False RBACMissing",
			[]string{`resources: ["secrets"]`, "outputs.secrets"},
		},
		"no answer": {
			func(b *bench) { b.outputs.before = func(line string) error { return ifWrite(line, errAPIServer) } },
			"False OutputNotWritten",
			[]string{"does not answer"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, markerMapping+createdOutput, markedThings())
			tc.prepare(b)
			b.create("one", "{size: 3}")
			for range 4 {
				b.look("one")
			}
			b.nothingSent()
			b.wantLive(0)
			b.wantCondition("one", v1alpha1.ConditionReady, tc.want)
			b.wantMessage("one", v1alpha1.ConditionReady, tc.says...)
		})
	}
}

func ifWrite(line string, err error) error {
	if strings.HasPrefix(line, "make") || strings.HasPrefix(line, "fill") {
		return err
	}
	return nil
}

// A write of the value that fails is tried again before the record is written.
func TestTheValueIsStoredHoweverLongItTakes(t *testing.T) {
	t.Parallel()
	b := newBench(t, markerMapping+createdOutput, markedThings())
	tokens(b)
	b.create("one", "{size: 3}")
	left := 2
	b.outputs.before = func(line string) error {
		if strings.HasPrefix(line, "fill") && left > 0 {
			left--
			return errAPIServer
		}
		return nil
	}
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
	if got := b.outputs.peek(secretNamed("one-token")); got.Data["token"] != canary {
		t.Errorf("the Secret is %v", got)
	}
}

// A value that is lost cannot be asked for again. A person can put it back, and then it is well.
func TestALostValueIsSaid(t *testing.T) {
	t.Parallel()
	ref := secretNamed("one-token")
	for name, lose := range map[string]func(*bench){
		"deleted": func(b *bench) { b.outputs.remove(ref) },
		"emptied": func(b *bench) { b.outputs.person(ref, map[string]string{"id": "1"}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, markerMapping+createdOutput, markedThings())
			tokens(b)
			b.settled("one", "{size: 3}")
			lose(b)
			b.look("one")
			b.wantCondition("one", v1alpha1.ConditionReady, "False OutputLost")
			b.wantCondition("one", v1alpha1.ConditionSynced, "True InSync")
			b.wantCondition("one", v1alpha1.ConditionStalled, "True OutputLost")
			b.wantMessage("one", v1alpha1.ConditionReady, "Secret team/one-token lacks", "token", "kubectl")
			b.journal.take()
			b.look("one")
			b.happened("GET /things/1") // and no live read
			b.outputs.person(ref, map[string]string{"token": "again", "id": "1"})
			b.look("one")
			b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
			if got := b.outputs.peek(ref).Data["token"]; got != "again" {
				t.Errorf("the value of the person is now %q", got)
			}
		})
	}
}

// A new object's value is not in the Secret of the object before it.
func TestAnEarlierObjectsValueIsNoGood(t *testing.T) {
	t.Parallel()
	b := newBench(t, uniqueMapping+createdOutput, uniqueThings())
	b.server.AddRule(restfake.Rule{Method: http.MethodPost, Times: 1, Fault: restfake.CommitThenReply(201, "application/json", `{"token":"`+canary+`"}`)})
	b.settled("one", "{size: 3}")
	if err := b.server.Remove("/things/one"); err != nil {
		t.Fatal(err)
	}
	b.server.fault(http.MethodPost, restfake.CommitThenDrop())
	b.follow("one", b.is("one", v1alpha1.ConditionReady, "False OutputLost"))
	if got := b.outputs.peek(secretNamed("one-token")).Data; len(got) != 0 {
		t.Errorf("the Secret still holds %v", got)
	}
}

// What comes from each look is written when it changes, put back when somebody changes it, and costs nothing otherwise.
func TestObservedOutputs(t *testing.T) {
	t.Parallel()
	ref := secretNamed("one-access")
	b := newBench(t, upsertMapping+observedOutput, upsertThings())
	b.create("one", "{size: 3}")
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
	want := map[string]string{"size": "3", "name": "one"}
	holds := func(what string) {
		t.Helper()
		if got := b.outputs.peek(ref); got == nil || !maps.Equal(got.Data, want) {
			t.Errorf("%s: the Secret is %v", what, got)
		}
	}
	holds("after the create")
	b.journal.take()
	b.look("one")
	b.happened("GET /things/one")
	b.outputs.behind[ref] = "1"
	b.look("one")
	b.happened("GET /things/one") // the watch lags behind our own write
	delete(b.outputs.behind, ref)
	b.setSpec("one", "size", int64(4))
	b.look("one")
	want["size"] = "4"
	holds("after a change")
	b.outputs.person(ref, map[string]string{"size": "9"})
	b.look("one")
	holds("after somebody changed it")
	b.outputs.remove(ref)
	b.look("one")
	holds("after somebody deleted it")
	b.restart()
	b.journal.take()
	b.look("one")
	b.happened("GET /things/one", "get Secret one-access")
}

func TestAnObservedOutputIsPartOfBeingReady(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping+observedOutput, upsertThings())
	b.create("one", "{size: 3}")
	b.outputs.before = func(line string) error { return ifWrite(line, errAPIServer) }
	b.look("one")
	b.wantConditions("one", "Ready False OutputNotWritten", "Synced True InSync")
	b.outputs.before = func(string) error { return nil }
	b.outputs.set(secretNamed("one-access"), "", "", map[string]string{"theirs": "x"})
	b.look("one")
	b.wantConditions("one", "Ready False OutputConflict", "Synced True InSync", "Stalled True OutputConflict")
	if got := b.outputs.peek(secretNamed("one-access")).Data; got["theirs"] != "x" || len(got) != 1 {
		t.Errorf("the foreign Secret is now %v", got)
	}
	b.outputs.remove(secretNamed("one-access"))
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
}

func TestAForbiddenOutputIsToldToTheMapping(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping+observedOutput, upsertThings())
	b.create("one", "{size: 3}")
	b.outputs.before = func(line string) error {
		return ifWrite(line, apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "one-access", nil))
	}
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionReady, "False RBACMissing")
	if last := b.observed[len(b.observed)-1]; !last.Denied || last.Stalled != true {
		t.Errorf("the summary is %+v", last)
	}
}

// A server that repeats the value in an error does not get it into a message.
func TestAnOutputsValueIsTakenOutOfMessages(t *testing.T) {
	t.Parallel()
	b := newBench(t, markerMapping+createdOutput, markedThings())
	tokens(b)
	b.server.AddRule(restfake.Rule{Method: http.MethodGet, Path: "/things/1", Fault: restfake.Reply(403, "application/json", `{"message":"token `+canary+` may not read"}`)})
	b.create("one", "{size: 3}")
	b.look("one")
	b.wantMessage("one", v1alpha1.ConditionReady, "[redacted]")
	b.noCanary("one")
}

func TestAnObserverWantsNothingOfACreate(t *testing.T) {
	t.Parallel()
	b := newBench(t, uniqueMapping+createdOutput+"  policy: {management: ObserveOnly}\n", uniqueThings())
	if _, err := b.server.Insert("/things", map[string]any{"id": "one", "size": 3}); err != nil {
		t.Fatal(err)
	}
	b.create("one", "{size: 3}")
	b.look("one")
	b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
	if b.outputs.peek(secretNamed("one-token")) != nil {
		t.Error("a Secret was made")
	}
}
