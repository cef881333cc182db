package pass_test

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/restmapping/operator/pkg/engine/pass"
)

func (b *bench) lastSummary() pass.Summary {
	b.Helper()
	if len(b.observed) == 0 {
		b.Fatal("no pass was told of")
	}
	return b.observed[len(b.observed)-1]
}

// createdAt sets when the custom resource was made.
func (b *bench) createdAt(name string, at time.Time) {
	b.Helper()
	b.edit(name, func(obj *unstructured.Unstructured) { obj.SetCreationTimestamp(metav1.NewTime(at)) })
}

func TestHowLongAChangeTookIsTold(t *testing.T) {
	t.Parallel()
	b := newBench(t, strings.Replace(upsertMapping, "  status:", "  ready: {expression: \"observed.size < 10\", message: \"too big\"}\n  status:", 1), upsertThings())
	b.create("one", "{size: 3}")
	b.createdAt("one", b.clock.Now())
	b.advance(7 * time.Second)
	want := func(what string, took time.Duration) {
		t.Helper()
		b.look("one")
		if got := b.lastSummary().ReadyAfter; got != took {
			t.Errorf("%s: ready after %s, want %s", what, got, took)
		}
	}
	want("made", 7*time.Second)
	want("nothing changed", 0)
	b.setSpec("one", "size", int64(20))
	want("an edit that is not ready", 0)
	b.advance(time.Minute)
	b.setSpec("one", "size", int64(4))
	want("another edit", time.Nanosecond)
	b.restart()
	b.advance(time.Hour)
	want("another process, which knows of no change", 0)
	b.create("old", "{size: 3}")
	b.createdAt("old", b.clock.Now().Add(-48*time.Hour))
	b.look("old")
	if got := b.lastSummary().ReadyAfter; got != time.Hour {
		t.Errorf("made before the operator began: ready after %s, want the hour that it has run", got)
	}
	b.delete("one")
	b.look("one")
	if got := b.lastSummary().ReadyAfter; got != 0 {
		t.Errorf("a deleted one became ready after %s", got)
	}
}

func TestWhatWasPutBackAndWhatExpressionsCostIsTold(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping+"  ready: {expression: \"int(observed.color) > 0\"}\n", upsertThings())
	b.create("one", "{size: 3, color: '7'}")
	b.look("one")
	if got := b.lastSummary(); got.Cost == 0 || got.ExpressionErrors != 0 || got.Corrected {
		t.Errorf("a good look: %+v", got)
	}
	if err := b.server.Change("/things/one", func(fields map[string]any) { fields["size"] = 9 }); err != nil {
		t.Fatal(err)
	}
	b.look("one")
	if got := b.lastSummary(); !got.Corrected || !got.Drifted {
		t.Errorf("a look that puts back: %+v", got)
	}
	b.setSpec("one", "color", "red")
	b.look("one")
	if got := b.lastSummary(); got.ExpressionErrors == 0 {
		t.Errorf("an expression that fails: %+v", got)
	}
}
