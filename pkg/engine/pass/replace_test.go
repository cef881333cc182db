package pass_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/restfake"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/rest"
)

// coloured is a class whose colour cannot be changed, and whose objects are replaced when it is edited.
func coloured(c class) string {
	mapping := strings.Replace(c.mapping, "{from: spec.color, to: color}", "{from: spec.color, to: color, immutable: true}", 1)
	if !strings.Contains(mapping, "safety:") {
		mapping = strings.Replace(mapping, `create: {path: "/things"}`, `create: {path: "/things", safety: `+classSafety(c)+`}`, 1)
	}
	return mapping + "  policy: {immutable: Replace, onMissing: Stall}\n"
}

func classSafety(c class) string {
	switch c.mapping {
	case markerMapping:
		return "Marker"
	case noneMapping:
		return "None"
	default:
		return "UniqueKey"
	}
}

func eachColoured(t *testing.T, check func(b *bench, c class)) {
	t.Helper()
	for name, c := range classes() {
		if !strings.Contains(c.mapping, "spec.color") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(newBench(t, coloured(c), c.collection()), c)
		})
	}
}

// sent gives the mutating requests in the journal.
func (b *bench) sent() (lines []string) {
	for _, line := range b.journal.take() {
		if method, _, _ := strings.Cut(line, " "); slices.Contains([]string{"POST", "PUT", "PATCH", "DELETE"}, method) {
			lines = append(lines, method)
		}
	}
	return lines
}

func (b *bench) blue() bool {
	objects := b.server.Live("/things")
	return len(objects) == 1 && objects[0].Fields["color"] == "blue" &&
		conditionText(b.obj("one"), v1alpha1.ConditionReady) == "True Available"
}

func TestAnEditOfWhatCannotBeChangedReplacesTheObject(t *testing.T) {
	t.Parallel()
	eachColoured(t, func(b *bench, c class) {
		b.settled("one", "{size: 3, color: red}")
		before := b.record("one")
		b.advance(time.Hour)
		b.setSpec("one", "color", "blue")
		b.follow("one", b.blue)
		create := "POST"
		if c.mapping == upsertMapping {
			create = "PUT"
		}
		if got := b.sent(); !slices.Equal(got, []string{"DELETE", create}) {
			b.Errorf("sent %q", got)
		}
		after := b.record("one")
		if after.Attempt == before.Attempt || after.Replacing || after.Generation != 2 {
			b.Errorf("the record was %+v and is %+v", before, after)
		}
		if events := strings.Join(b.events.take(), "\n"); !strings.Contains(events, `Normal Replacing: the object is deleted and made anew, because it cannot be changed: color (found "red", wanted "blue")`) ||
			!strings.Contains(events, "Normal Created") {
			b.Errorf("events: %s", events)
		}
	})
}

// TestAReplacementGoesOnAfterAKill: no process makes more than two passes; what is in the middle of one is the model's.
func TestAReplacementGoesOnAfterAKill(t *testing.T) {
	t.Parallel()
	eachColoured(t, func(b *bench, _ class) {
		b.settled("one", "{size: 3, color: red}")
		b.advance(time.Hour)
		b.setSpec("one", "color", "blue")
		for range 20 {
			b.restart()
			for range 2 {
				result := b.look("one")
				if len(b.server.Live("/things")) > 1 {
					b.Fatal("two objects at once")
				}
				if b.blue() {
					return
				}
				b.advance(max(result.After, settleTime))
			}
		}
		b.Fatalf("no end: %v, %+v", b.status("one"), b.record("one"))
	})
}

func TestWhatNobodyEditedIsNotReplaced(t *testing.T) {
	t.Parallel()
	eachColoured(t, func(b *bench, c class) {
		b.settled("one", "{size: 3, color: red}")
		b.setSpec("one", "size", int64(4)) // an edit that an update answers
		b.advance(time.Hour)
		b.look("one")
		b.journal.take()
		b.advance(time.Hour)
		if err := b.server.Change(path(c), func(f map[string]any) { f["color"] = "green" }); err != nil {
			b.Fatal(err)
		}
		b.look("one")
		b.nothingSent()
		b.wantCondition("one", v1alpha1.ConditionStalled, "True ImmutableFieldChanged")
		b.wantMessage("one", v1alpha1.ConditionStalled, `color (found "green", wanted "red")`)
	})
}

// TestAServerThatNeverGivesBackWhatItWasSentLosesOneObjectAtMost: the new object differs as the old one did.
func TestAServerThatNeverGivesBackWhatItWasSentLosesOneObjectAtMost(t *testing.T) {
	t.Parallel()
	b := newBench(t, coloured(classes()["UniqueKey"]), restfake.Collection{Path: "/things", IDs: restfake.Chosen})
	b.create("one", "{size: 3, color: red}")
	shout := func() {
		_ = b.server.Change("/things/one", func(f map[string]any) { f["color"] = "SHOUTED" })
	}
	b.look("one")
	shout()
	for range 30 {
		b.advance(time.Hour)
		b.look("one")
		shout()
	}
	if got := b.sent(); !slices.Equal(got, []string{"POST"}) {
		b.Errorf("sent %q", got)
	}
	b.setSpec("one", "size", int64(4))
	for range 30 {
		b.advance(time.Hour)
		b.look("one")
		shout()
	}
	if got := b.sent(); !slices.Equal(got, []string{"DELETE", "POST"}) {
		b.Errorf("sent after an edit %q", got)
	}
}

func TestAReplacementEndsWhenTheEditIsTakenBack(t *testing.T) {
	t.Parallel()
	b := newBench(t, coloured(classes()["UniqueKey"]), uniqueThings())
	b.settled("one", "{size: 3, color: red}")
	b.advance(time.Hour)
	b.setSpec("one", "color", "blue")
	b.server.instead = func(req rest.Request) *rest.Exchange {
		if req.Operation == rest.Delete {
			return &rest.Exchange{Response: &rest.Response{Status: 409}}
		}
		return nil
	}
	b.look("one")
	if !b.record("one").Replacing {
		b.Fatal("the record does not tell")
	}
	b.setSpec("one", "color", "red")
	b.advance(time.Minute)
	b.look("one")
	if b.record("one").Replacing || b.record("one").Phase != lifecycle.PhaseCreated {
		b.Errorf("the record is %+v", b.record("one"))
	}
	b.wantCondition("one", v1alpha1.ConditionReady, "True Available")
}
