package endpoint

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/endpoints"
	"github.com/restmapping/operator/pkg/engine/secrets"
)

func spec(url string, change ...func(*v1alpha1.EndpointSpec)) v1alpha1.EndpointSpec {
	s := v1alpha1.EndpointSpec{
		BaseURL: url,
		Auth: &v1alpha1.Auth{Bearer: &v1alpha1.BearerAuth{
			TokenRef: v1alpha1.SecretKeyReference{Name: "token", Key: "token"},
		}},
		Query: []v1alpha1.NamedValue{{Name: "key", Value: "in-query"}},
		Probe: &v1alpha1.Probe{Path: "/user"},
	}
	for _, f := range change {
		f(&s)
	}
	return s
}

func TestConditions(t *testing.T) {
	t.Parallel()
	withoutProbe := func(s *v1alpha1.EndpointSpec) { s.Probe = nil }
	cases := map[string]struct {
		secret  error
		answer  int
		change  func(*v1alpha1.EndpointSpec)
		want    string
		stalled bool
		says    string
		again   bool
	}{
		"a probe that succeeds":         {nil, http.StatusOK, nil, "True ProbeSucceeded", false, "success", true},
		"no probe":                      {nil, http.StatusOK, withoutProbe, "True Configured", false, "no spec.probe", false},
		"a credential that is refused":  {nil, http.StatusUnauthorized, nil, "False Unauthorized", false, "status 401", true},
		"a missing right":               {nil, http.StatusForbidden, nil, "False Unauthorized", false, "status 403", true},
		"a server in trouble":           {nil, http.StatusBadGateway, nil, "False ServerError", false, "status 502", true},
		"a server that is too busy":     {nil, http.StatusTooManyRequests, nil, "False Throttled", false, "status 429", true},
		"a probe that leads nowhere":    {nil, http.StatusNotFound, nil, "False ProbeFailed", false, "status 404", true},
		"a Secret that is missing":      {&secrets.NotFoundError{Namespace: "team-a", Name: "token"}, http.StatusOK, nil, "False SecretNotFound", false, "create it", true},
		"a Secret that is closed":       {&secrets.NotAllowedError{Namespace: "team-a", Name: "token"}, http.StatusOK, nil, "False SecretNotAllowed", true, "kubectl label secret", true},
		"an API server that is away":    {&secrets.UnavailableError{Doing: "get Secret", Err: errors.New("no answer")}, http.StatusOK, nil, "False EndpointNotReady", false, "no answer", true},
		"a server that cannot be there": {nil, http.StatusOK, func(s *v1alpha1.EndpointSpec) { s.BaseURL = "http://127.0.0.1:1" }, "False EndpointUnreachable", false, "refused", true},
		"a field that cannot work":      {nil, http.StatusOK, func(s *v1alpha1.EndpointSpec) { s.TLS = &v1alpha1.TLS{CABundle: "x"} }, "False InvalidEndpoint", true, "spec.tls.caBundle", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, b := newRemote(t), newBench(t)
			r.status.Store(int32(tc.answer))
			b.vault.set("1", tc.secret)
			change := tc.change
			if change == nil {
				change = func(*v1alpha1.EndpointSpec) {}
			}
			b.create(spec(r.URL, change))
			e, result := b.reconcile()
			if got := readyReason(e.Status); got != tc.want {
				t.Errorf("Ready is %s, want %s", got, tc.want)
			}
			if got := meta.IsStatusConditionTrue(e.Status.Conditions, v1alpha1.ConditionStalled); got != tc.stalled {
				t.Errorf("Stalled is %v", got)
			}
			ready := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionReady)
			if !strings.Contains(ready.Message, tc.says) {
				t.Errorf("%q does not say %q", ready.Message, tc.says)
			}
			if again := result.RequeueAfter > 0; again != tc.again {
				t.Errorf("looks again after %s", result.RequeueAfter)
			}
		})
	}
}

func TestNothingIsWrittenWhenNothingChanged(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]int{"ready": http.StatusOK, "not ready": http.StatusBadGateway} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, b := newRemote(t), newBench(t)
			r.status.Store(int32(answer))
			b.create(spec(r.URL))
			first, _ := b.reconcile()
			for range 5 {
				b.later()
				b.reconcile()
			}
			if n := b.writes.Load(); n != 1 {
				t.Errorf("%d writes instead of one", n)
			}
			if n := r.requests.Load(); n != 6 {
				t.Errorf("%d probes in six looks", n)
			}
			if diff := cmp.Diff(first, b.get()); diff != "" {
				t.Errorf("the object changed:\n%s", diff)
			}
		})
	}
}

func TestRecoveryRemovesWhatIsNoLongerTrue(t *testing.T) {
	t.Parallel()
	r, b := newRemote(t), newBench(t)
	b.vault.set("1", &secrets.NotAllowedError{Namespace: "team-a", Name: "token"})
	b.create(spec(r.URL))
	b.reconcile()
	b.later()
	b.vault.set("2", nil)
	r.status.Store(http.StatusBadGateway)
	failing, _ := b.reconcile()
	b.later()
	r.status.Store(http.StatusOK)
	e, _ := b.reconcile()
	if got := readyReason(failing.Status); got != "False ServerError" {
		t.Errorf("Ready was %s", got)
	}
	if len(e.Status.Conditions) != 1 || readyReason(e.Status) != "True ProbeSucceeded" {
		t.Errorf("conditions %+v", e.Status.Conditions)
	}
	ready := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionReady)
	if since := b.clock.Now().Sub(ready.LastTransitionTime.Time); since > time.Second || since < 0 {
		t.Errorf("Ready changed %s ago by the clock", since)
	}
}

func TestANewGenerationIsStamped(t *testing.T) {
	t.Parallel()
	r, b := newRemote(t), newBench(t)
	b.create(spec(r.URL))
	b.reconcile()
	e := b.get()
	e.Generation, e.Spec.Values = 2, map[string]string{"a": "b"}
	if err := b.client.Update(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	// checkStatus, in reconcile, compares the generations.
	b.reconcile()
}

func TestWhenToLookAgain(t *testing.T) {
	t.Parallel()
	every := func(d time.Duration) *v1alpha1.Probe { return &v1alpha1.Probe{Interval: metav1.Duration{Duration: d}} }
	cases := map[string]struct {
		finding finding
		probe   *v1alpha1.Probe
		want    time.Duration
	}{
		"ready without a probe: when told":         {finding{ready: true}, nil, 0},
		"ready with a probe: at its interval":      {finding{ready: true, declared: true}, every(5 * time.Minute), 5 * time.Minute},
		"an interval left out is a minute":         {finding{ready: true, declared: true}, every(0), time.Minute},
		"a tiny interval has a floor":              {finding{ready: true, declared: true}, every(time.Millisecond), 10 * time.Second},
		"not ready without a probe: in a minute":   {finding{}, nil, time.Minute},
		"the server's wish counts when it is long": {finding{declared: true, retryAfter: 10 * time.Minute}, every(time.Minute), 10 * time.Minute},
		"and does not when it is short":            {finding{declared: true, retryAfter: time.Second}, every(time.Minute), time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for range 50 {
				got := tc.finding.after(tc.probe)
				if got < tc.want || float64(got) > float64(tc.want)*(1+jitter) {
					t.Fatalf("after %s, want %s and up to a tenth more", got, tc.want)
				}
			}
		})
	}
}

func TestTheServersWishIsBounded(t *testing.T) {
	t.Parallel()
	r, b := newRemote(t), newBench(t)
	r.status.Store(http.StatusTooManyRequests)
	wish := "8640000"
	r.retry.Store(&wish)
	b.create(spec(r.URL))
	_, result := b.reconcile()
	if float64(result.RequeueAfter) > float64(maxRetryAfter)*(1+jitter) || result.RequeueAfter < time.Minute {
		t.Fatalf("looks again after %s", result.RequeueAfter)
	}
}

func TestLongMessagesAreCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"short": "short", "of one byte each": strings.Repeat("a", 3000), "of more bytes each": strings.Repeat("é", 3000),
	} {
		got := cut(text)
		if len(got) > maxMessage || strings.ToValidUTF8(got, "") != got || (len(text) <= maxMessage) != (got == text) {
			t.Errorf("%s: %d bytes", name, len(got))
		}
	}
}

func TestStoppingWritesNothing(t *testing.T) {
	t.Parallel()
	r, b := newRemote(t), newBench(t)
	b.create(spec(r.URL))
	ctx, stop := context.WithCancel(t.Context())
	stop()
	request := reconcile.Request{NamespacedName: name}
	if _, err := b.reconciler.Reconcile(ctx, request); err == nil {
		t.Error("a pass that was stopped gave no error")
	}
	if err := b.registry.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := b.reconciler.Reconcile(t.Context(), request); !errors.Is(err, endpoints.ErrClosed) {
		t.Errorf("a pass after the registry closed gave %v", err)
	}
	if n := b.writes.Load(); n != 0 {
		t.Errorf("%d writes", n)
	}
}

func TestAnEndpointThatWentIsForgotten(t *testing.T) {
	t.Parallel()
	r, b := newRemote(t), newBench(t)
	b.create(spec(r.URL))
	b.reconcile()
	told := make(chan endpoints.Ref, 10)
	b.registry.Subscribe(func(ref endpoints.Ref) { told <- ref })
	if err := b.client.Delete(t.Context(), b.get()); err != nil {
		t.Fatal(err)
	}
	if result, err := b.reconciler.Reconcile(t.Context(), reconcile.Request{NamespacedName: name}); err != nil || result.RequeueAfter != 0 {
		t.Fatalf("%+v, %v", result, err)
	}
	want := endpoints.Ref{Kind: endpoints.KindRestEndpoint, Namespace: name.Namespace, Name: name.Name}
	if got := <-told; got != want {
		t.Fatalf("told of %v", got)
	}
}

func TestTheQueueFollowsTheRegistryForItsOwnKind(t *testing.T) {
	t.Parallel()
	r, b := newRemote(t), newBench(t)
	b.create(spec(r.URL))
	b.reconcile()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer queue.ShutDown()
	other := &reconciler[*v1alpha1.ClusterRestEndpoint]{kind: clusterScoped(), client: b.client, registry: b.registry, users: b, events: b, clock: b.clock}
	otherQueue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer otherQueue.ShutDown()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	if err := errors.Join(b.reconciler.follow(ctx, queue), other.follow(ctx, otherQueue)); err != nil {
		t.Fatal(err)
	}
	b.vault.listener("team-a", "token")
	if queue.Len() != 1 || otherQueue.Len() != 0 {
		t.Fatalf("%d in its queue, %d in the other kind's", queue.Len(), otherQueue.Len())
	}
	got, _ := queue.Get()
	if got.NamespacedName != name {
		t.Fatalf("queued %v", got)
	}
}

func TestBothKindsAreTheSameReconciler(t *testing.T) {
	t.Parallel()
	r, b := newRemote(t), newBench(t)
	e := &v1alpha1.ClusterRestEndpoint{Spec: v1alpha1.ClusterEndpointSpec{EndpointSpec: spec(r.URL)}}
	e.Name, e.UID, e.Generation = "shared", "uid", 1
	if err := b.client.Create(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	c := &reconciler[*v1alpha1.ClusterRestEndpoint]{kind: clusterScoped(), client: b.client, registry: b.registry, users: b, events: b, clock: b.clock}
	request := reconcile.Request{}
	request.Name = "shared"
	if _, err := c.Reconcile(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	if err := b.client.Get(t.Context(), request.NamespacedName, e); err != nil {
		t.Fatal(err)
	}
	checkStatus(t, e, e.Status)
	if got := readyReason(e.Status); got != "True ProbeSucceeded" {
		t.Fatalf("Ready is %s", got)
	}
}
