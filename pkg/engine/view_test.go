package engine

import (
	"testing"
)

func TestViewsTellWhatMattersMost(t *testing.T) {
	t.Parallel()
	ready := map[string]any{"type": "Ready", "status": "False", "reason": "Progressing", "message": "on the way"}
	stalled := map[string]any{"type": "Stalled", "status": "True", "reason": "Rejected", "message": "the server said no"}
	var v, w View
	v.judge(map[string]any{"status": map[string]any{"conditions": []any{ready, stalled}}})
	if !v.Stalled || v.Ready || v.Reason != "Rejected" || v.Message != "the server said no" {
		t.Errorf("a stalled one: %+v", v)
	}
	w.judge(map[string]any{"status": map[string]any{"conditions": []any{ready}}})
	if w.Stalled || w.Ready || w.Reason != "Progressing" {
		t.Errorf("one on its way: %+v", w)
	}
	var none View
	none.judge(map[string]any{})
	if none != (View{}) {
		t.Errorf("one without a status: %+v", none)
	}
}

func TestViewsOfAMapping(t *testing.T) {
	t.Parallel()
	b := newBench(t, thing("blue", "one"))
	b.apply(spec(compile(t, "")))
	b.settled("one")
	b.eventually("the pass has ended", func() bool {
		views, ok := b.engine.Views(t.Context(), "things")
		return ok && len(views) == 1 && !views[0].LastPass.IsZero()
	})
	views, _ := b.engine.Views(t.Context(), "things")
	if got := views[0]; got.Key != key("one") || got.Endpoint != "main" || got.End == "" {
		t.Errorf("got %+v", got)
	}
	if _, ok := b.engine.Views(t.Context(), "unknown"); ok {
		t.Error("an unknown mapping was found")
	}
	if b.engine.Program("things") == nil || b.engine.Program("unknown") != nil {
		t.Error("the program is that of the running mapping alone")
	}
}
