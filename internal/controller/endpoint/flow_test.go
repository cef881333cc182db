package endpoint

import (
	"net/http"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/endpoints"
	"github.com/restmapping/operator/pkg/rest"
)

// ask sends n reads to the endpoint as custom resources do.
func (b *bench) ask(n int) {
	b.t.Helper()
	e, err := b.registry.Resolve(b.t.Context(), endpoints.Ref{Kind: endpoints.KindRestEndpoint, Namespace: name.Namespace, Name: name.Name})
	if err != nil {
		b.t.Fatal(err)
	}
	for range n {
		e.Do(b.t.Context(), rest.Request{Operation: rest.Read, Method: http.MethodGet, Route: "/x", Path: "/x"})
	}
}

func (b *bench) condition(kind string) string {
	b.t.Helper()
	c := meta.FindStatusCondition(b.get().Status.Conditions, kind)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason
}

func TestAnOpenCircuitIsShownWithAndWithoutAProbe(t *testing.T) {
	t.Parallel()
	for title, change := range map[string]func(*v1alpha1.EndpointSpec){
		"with": func(*v1alpha1.EndpointSpec) {}, "without": func(s *v1alpha1.EndpointSpec) { s.Probe = nil },
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			r, b := newRemote(t), newBench(t)
			b.create(spec(r.URL, change))
			b.reconcile()
			told := 0
			b.registry.SubscribeFlow(func(endpoints.Ref) { told++ })
			r.status.Store(http.StatusInternalServerError)
			b.ask(20)
			sent := r.requests.Load()
			b.later()
			_, result := b.reconcile()
			if got := b.condition(v1alpha1.ConditionReady); got != "False CircuitOpen" || told != 1 {
				t.Errorf("Ready is %s, told %d times", got, told)
			}
			if r.requests.Load() != sent || sent > 11 {
				t.Errorf("%d requests, %d of them by the look", r.requests.Load(), r.requests.Load()-sent)
			}
			if result.RequeueAfter <= 0 || result.RequeueAfter > 2*time.Minute {
				t.Errorf("looks again after %s", result.RequeueAfter)
			}
		})
	}
}

func TestAServerThatAsksForLessIsShownAndStaysReady(t *testing.T) {
	t.Parallel()
	r, b := newRemote(t), newBench(t)
	b.create(spec(r.URL))
	b.reconcile()
	wish := "600"
	r.retry.Store(&wish)
	r.status.Store(http.StatusTooManyRequests)
	b.ask(5)
	b.later()
	_, result := b.reconcile()
	if got := b.condition(v1alpha1.ConditionThrottled); got != "True Throttled" {
		t.Errorf("Throttled is %q", got)
	}
	if got := b.condition(v1alpha1.ConditionReady); got != "True ProbeSucceeded" {
		t.Errorf("Ready is %s though nothing new is known", got)
	}
	if n := r.requests.Load(); n != 2 {
		t.Errorf("%d requests, want the probe and one that was refused", n)
	}
	if result.RequeueAfter < 8*time.Minute || result.RequeueAfter > 11*time.Minute {
		t.Errorf("looks again after %s", result.RequeueAfter)
	}
	r.status.Store(http.StatusOK)
	b.clock.SetTime(b.clock.Now().Add(15 * time.Minute))
	for range 40 {
		b.ask(1)
		b.clock.SetTime(b.clock.Now().Add(2 * time.Second))
	}
	b.reconcile()
	if got := b.condition(v1alpha1.ConditionThrottled); got != "" {
		t.Errorf("Throttled is %q after the server took all again", got)
	}
}
