package engine

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/pkg/engine/pass"
)

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "blue", Name: name}
}

func TestAReconcileIsALookNow(t *testing.T) {
	t.Parallel()
	b := newBench(t, thing("blue", "one"), thing("blue", "two"))
	b.apply(spec(compile(t, "")))
	b.settled("one", "two")
	before := b.outside.count("one")
	ended, ok := b.engine.Reconcile(t.Context(), "things", []types.NamespacedName{key("one")})
	if !ok || len(ended) != 1 {
		t.Fatalf("got %v, %v", ended, ok)
	}
	if got := b.outside.count("one"); got <= before {
		t.Errorf("one was looked at %d times, as before", got)
	}
	if got := ended[key("one")]; got.Key != key("one") || got.End == "" {
		t.Errorf("the summary is %+v", got)
	}
	if _, ok := b.engine.Reconcile(t.Context(), "unknown", nil); ok {
		t.Error("an unknown mapping was found")
	}
}

// Who waits gets a pass that began after the question: one that is under way may have read before the change that is asked about.
func TestAPassUnderWayAnswersNobody(t *testing.T) {
	t.Parallel()
	var r requests
	now := time.Unix(1000, 0)
	q := r.add(key("one"), now)
	r.answer(pass.Summary{Key: key("one"), Started: now.Add(-time.Second), End: "early"})
	r.answer(pass.Summary{Key: key("two"), Started: now, End: "another"})
	r.answer(pass.Summary{Key: key("one"), Started: now, End: "asked for"})
	got := r.collect(t.Context(), map[types.NamespacedName]*request{key("one"): q})
	if got[key("one")].End != "asked for" {
		t.Errorf("got %+v", got)
	}
	if len(r.waiting) != 0 {
		t.Errorf("still waiting: %v", r.waiting)
	}
}

func TestWhoNoLongerWaitsIsForgotten(t *testing.T) {
	t.Parallel()
	var r requests
	asked := map[types.NamespacedName]*request{key("one"): r.add(key("one"), time.Unix(0, 0))}
	other := r.add(key("one"), time.Unix(0, 0))
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if got := r.collect(over, asked); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	r.answer(pass.Summary{Key: key("one"), Gone: true})
	if got := r.collect(t.Context(), map[types.NamespacedName]*request{key("one"): other}); !got[key("one")].Gone {
		t.Errorf("got %v", got)
	}
	if len(r.waiting) != 0 {
		t.Errorf("still waiting: %v", r.waiting)
	}
}
