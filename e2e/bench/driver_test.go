package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/restmapping/operator/internal/controlplane"
)

func TestEachBoundsItsHands(t *testing.T) {
	t.Parallel()
	var now, most, done atomic.Int32
	err := each(t.Context(), 200, func(context.Context, int) error {
		most.Store(max(most.Load(), now.Add(1)))
		defer now.Add(-1)
		done.Add(1)
		return nil
	})
	if err != nil || done.Load() != 200 || most.Load() > hands {
		t.Errorf("%d done, %d at once, %v", done.Load(), most.Load(), err)
	}
}

func TestEachStopsAfterAFailure(t *testing.T) {
	t.Parallel()
	failure := errors.New("refused")
	var done atomic.Int32
	err := each(t.Context(), 10000, func(context.Context, int) error {
		done.Add(1)
		return failure
	})
	if !errors.Is(err, failure) || done.Load() > hands {
		t.Errorf("%d done, %v", done.Load(), err)
	}
}

func TestEachTellsThatItWasInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := each(ctx, 3, func(context.Context, int) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func widget(generation, observed int64, ready string, readyGeneration int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "w", "generation": generation},
		"status": map[string]any{"observedGeneration": observed, "conditions": []any{
			map[string]any{"type": "Synced", "status": "True", "observedGeneration": generation},
			map[string]any{"type": "Ready", "status": ready, "observedGeneration": readyGeneration},
		}},
	}}
}

func TestIsReady(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		object *unstructured.Unstructured
		want   bool
	}{
		"ready now":                      {widget(2, 2, "True", 2), true},
		"ready at an earlier generation": {widget(2, 1, "True", 1), false},
		"only the condition is new":      {widget(2, 1, "True", 2), false},
		"not ready":                      {widget(2, 2, "False", 2), false},
		"no status":                      {&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"generation": int64(1)}}}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := isReady(tc.object.Object); got != tc.want {
				t.Errorf("got %t", got)
			}
		})
	}
}

func TestTheViewForgetsWhatIsGone(t *testing.T) {
	t.Parallel()
	v := &view{ready: map[string]bool{}}
	v.keep(widget(1, 1, "True", 1))
	if total, ready := v.counts(); total != 1 || ready != 1 {
		t.Errorf("%d, %d", total, ready)
	}
	v.keep(widget(2, 1, "True", 1))
	if total, ready := v.counts(); total != 1 || ready != 0 {
		t.Errorf("after a change: %d, %d", total, ready)
	}
	v.drop(cache.DeletedFinalStateUnknown{Key: "w", Obj: widget(2, 1, "True", 1)})
	if total, _ := v.counts(); total != 0 {
		t.Errorf("after a delete: %d", total)
	}
}

func TestChosen(t *testing.T) {
	t.Parallel()
	got, err := chosen([]string{"restart", "drift"})
	if diff := cmp.Diff([]string{"create", "restart", "drift", "delete"}, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
	if _, err := chosen([]string{"creat"}); err == nil {
		t.Error("a scenario that does not exist must be refused")
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	o, err := parse([]string{"-n", "5, 7", "-out", "x.md"})
	if err != nil || !cmp.Equal(o.counts, []int{5, 7}) || o.out != "x.md" || len(o.scenarios) != len(scenarios()) {
		t.Errorf("%+v, %v", o, err)
	}
	for _, args := range [][]string{{"-n", "0"}, {"-n", "many"}, {"-n", "10000"}, {"-scenarios", "faults"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%v must be refused", args)
		}
	}
}

func TestAwaitSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := await(ctx, "create", func(context.Context) (string, error) { return "3 of 5 are ready", nil })
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "3 of 5 are ready") {
		t.Errorf("got %v", err)
	}
}

func TestBetweenTellsTheDriversWritesFromTheContenders(t *testing.T) {
	t.Parallel()
	call := func(verb, group, resource string) controlplane.Call {
		return controlplane.Call{Verb: verb, Group: group, Resource: resource}
	}
	begin := time.Now()
	before := reading{at: begin, calls: controlplane.Counters{call("POST", mappedGroup, resource): 3}}
	after := reading{
		at: begin.Add(2 * time.Second), cpu: time.Second, ours: 2 * time.Second, busy: 3 * time.Second,
		calls: controlplane.Counters{
			call("POST", mappedGroup, resource): 13, call("PATCH", mappedGroup, resource): 20, call("GET", mappedGroup, resource): 4,
			call("PATCH", handwrittenGroup, resource): 99, call("POST", "events.k8s.io", "events"): 6, call("PATCH", "restmapping.dev", "restmappings"): 2,
			call("GET", "restmapping.dev", "restmappings"): 50,
		},
	}
	var got result
	got.between(before, after, mappedGroup, 10)
	want := result{Reads: 4, Writes: 20, Events: 6, Mapping: 2, CPU: time.Second, Noise: 0.5}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTheRESTServersProcessTellsTheDriver(t *testing.T) {
	t.Parallel()
	s := newRestServer()
	api, control := httptest.NewServer(s.fake), httptest.NewServer(s.control())
	t.Cleanup(func() { api.Close(); control.Close(); s.fake.Close() })
	send := func(method, path, body string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, api.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	for _, name := range []string{"a", "b", "c"} {
		send(http.MethodPost, "/widgets", `{"name":"`+name+`","size":1}`)
	}
	send(http.MethodGet, "/widgets/a", "")
	send(http.MethodGet, "/widgets/a", "")
	r := &remote{control: control.URL}
	check := func(size int, want serverState) {
		t.Helper()
		got, err := r.state(t.Context(), size)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
	}
	check(1, serverState{Requests: map[string]int{"POST /widgets": 3, "GET /widgets/{id}": 2}, Live: 3, Sized: 3, Seen: 1})
	if err := r.drift(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if err := r.forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(1, serverState{Requests: map[string]int{}, Live: 3, Sized: 1})
	check(driftedSize, serverState{Requests: map[string]int{}, Live: 3, Sized: 2})
}
