package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/pass"
)

type change = func(*unstructured.Unstructured)

func annotated(pairs map[string]string) change {
	return func(obj *unstructured.Unstructured) { obj.SetAnnotations(pairs) }
}

func labelled(pairs map[string]string) change {
	return func(obj *unstructured.Unstructured) { obj.SetLabels(pairs) }
}

func finalized(finalizers ...string) change {
	return func(obj *unstructured.Unstructured) { obj.SetFinalizers(finalizers) }
}

func deleting(obj *unstructured.Unstructured) {
	now := metav1.NewTime(time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC))
	obj.SetDeletionTimestamp(&now)
}

func withStatus(status map[string]any) change {
	return func(obj *unstructured.Unstructured) { obj.Object["status"] = status }
}

// Our own writes must not bring a custom resource back: it would never come to rest.
func TestMatters(t *testing.T) {
	t.Parallel()
	record := map[string]string{v1alpha1.RecordAnnotation: "a"}
	cases := map[string]struct {
		before, after []change
		want          bool
	}{
		"nothing":                     {nil, nil, false},
		"the status":                  {nil, []change{withStatus(map[string]any{"size": int64(1)})}, false},
		"our first write":             {nil, []change{annotated(record), finalized(v1alpha1.Finalizer)}, false},
		"our record":                  {[]change{annotated(record)}, []change{annotated(map[string]string{v1alpha1.RecordAnnotation: "b"})}, false},
		"another's finalizer":         {nil, []change{finalized("example.com/other")}, false},
		"the resourceVersion":         {nil, []change{func(obj *unstructured.Unstructured) { obj.SetResourceVersion("2") }}, false},
		"the spec":                    {nil, []change{func(obj *unstructured.Unstructured) { obj.SetGeneration(2) }}, true},
		"the deletion":                {[]change{finalized("f")}, []change{finalized("f"), deleting}, true},
		"a label":                     {nil, []change{labelled(map[string]string{"a": "b"})}, true},
		"an annotation":               {nil, []change{annotated(map[string]string{v1alpha1.SuspendAnnotation: "true"})}, true},
		"an annotation that goes":     {[]change{annotated(map[string]string{"x": "y"})}, nil, true},
		"an answer beside our record": {[]change{annotated(record)}, []change{annotated(map[string]string{v1alpha1.RecordAnnotation: "a", v1alpha1.ResolveAnnotation: "absent@1"})}, true},
		"our record, stripped":        {[]change{annotated(record)}, nil, true},
		"our finalizer, stripped":     {[]change{finalized(v1alpha1.Finalizer, "f")}, []change{finalized("f")}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := compact(t, thing("team", "one", tc.before...)), compact(t, thing("team", "one", tc.after...))
			if got := matters(before, after); got != tc.want {
				t.Errorf("gave %t", got)
			}
		})
	}
}

// A restart is no burst, and nothing that may need work waits.
func TestFirstLook(t *testing.T) {
	t.Parallel()
	condition := func(kind, status string) any { return map[string]any{"type": kind, "status": status} }
	inSync := withStatus(map[string]any{"observedGeneration": int64(1), "conditions": []any{condition("Ready", "True"), condition("Synced", "True")}})
	unready := withStatus(map[string]any{"observedGeneration": int64(1), "conditions": []any{condition("Ready", "False"), condition("Synced", "True")}})
	ours := finalized(v1alpha1.Finalizer)
	cases := map[string]struct {
		settled bool
		object  []change
		want    time.Duration
	}{
		"in sync, and served before":   {true, []change{inSync, ours}, 30 * time.Minute},
		"in sync, with a new mapping":  {false, []change{inSync, ours}, 0},
		"not ready":                    {true, []change{unready, ours}, 0},
		"never looked at":              {true, []change{ours}, 0},
		"being deleted":                {true, []change{inSync, ours, deleting}, 0},
		"without our finalizer":        {true, []change{inSync}, 0},
		"changed since it was in sync": {true, []change{inSync, ours, func(obj *unstructured.Unstructured) { obj.SetGeneration(2) }}, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := spec(compile(t, ""))
			s.Settled = tc.settled
			b := newBench(t)
			r := newRunner(b.engine, s)
			defer func() {
				if err := r.stop(); err != nil {
					t.Error(err)
				}
			}()
			if got := r.firstLook(compact(t, thing("team", "one", tc.object...))); got != tc.want {
				t.Errorf("gave %v, want %v", got, tc.want)
			}
		})
	}
}

func TestCounts(t *testing.T) {
	t.Parallel()
	one, two := types.NamespacedName{Namespace: "team", Name: "one"}, types.NamespacedName{Namespace: "team", Name: "two"}
	steps := []struct {
		summary        pass.Summary
		changed        bool
		ready, stalled int
	}{
		{pass.Summary{Key: one}, true, 0, 0}, // the first look at it
		{pass.Summary{Key: one}, false, 0, 0},
		{pass.Summary{Key: one, Ready: true}, true, 1, 0},
		{pass.Summary{Key: one, Ready: true}, false, 1, 0},
		{pass.Summary{Key: two, Stalled: true}, true, 1, 1},
		{pass.Summary{Key: one, Stalled: true}, true, 0, 2},
		{pass.Summary{Key: one, Gone: true}, true, 0, 1},
		{pass.Summary{Key: one, Gone: true}, false, 0, 1},
		{pass.Summary{Key: two, Ready: true}, true, 1, 0},
		{pass.Summary{Key: two, Gone: true, Ready: true}, true, 0, 0},
	}
	c := newCounts()
	for i, step := range steps {
		changed := c.note(step.summary)
		ready, stalled := c.totals()
		if diff := cmp.Diff([]any{step.changed, step.ready, step.stalled}, []any{changed, ready, stalled}); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i, diff)
		}
	}
}
