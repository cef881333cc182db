package endpoints_test

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	testingclock "k8s.io/utils/clock/testing"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/endpoints"
	"github.com/restmapping/operator/pkg/rest"
)

func probe(t *testing.T, e *endpoints.Endpoint) (declared bool, err error) {
	t.Helper()
	return e.Probe(t.Context())
}

func mustProbe(t *testing.T, e *endpoints.Endpoint) {
	t.Helper()
	if declared, err := probe(t, e); !declared || err != nil {
		t.Fatalf("probe: declared %v, %v", declared, err)
	}
}

func TestProbeVerdicts(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		status int
		header http.Header
		reason string
		remedy string
	}{
		"200 is success":                       {http.StatusOK, nil, "", ""},
		"204 is success":                       {http.StatusNoContent, nil, "", ""},
		"299 is success":                       {299, nil, "", ""},
		"300 is none":                          {http.StatusMultipleChoices, nil, v1alpha1.ReasonProbeFailed, "spec.baseURL"},
		"a redirect to a login page is none":   {http.StatusFound, http.Header{"Location": {"http://127.0.0.2:1/login"}}, v1alpha1.ReasonProbeFailed, "spec.baseURL"},
		"401 speaks of the credential":         {http.StatusUnauthorized, nil, v1alpha1.ReasonUnauthorized, "check spec.auth and the Secrets it names"},
		"403 speaks of the credential":         {http.StatusForbidden, nil, v1alpha1.ReasonUnauthorized, "check what its account may do"},
		"404 is a probe that leads nowhere":    {http.StatusNotFound, nil, v1alpha1.ReasonProbeFailed, "are spec.baseURL and spec.probe.path right?"},
		"429 says that the server is too busy": {http.StatusTooManyRequests, nil, v1alpha1.ReasonThrottled, "see spec.limits"},
		"500 is the server's fault":            {http.StatusInternalServerError, nil, v1alpha1.ReasonServerError, "look at that server"},
		"503 is the server's fault":            {http.StatusServiceUnavailable, nil, v1alpha1.ReasonServerError, "look at that server"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newServer(t), newWorld(t)
			s.answer(tc.status)
			maps.Copy(s.header, tc.header)
			w.create(restEndpoint("team-a", "gitea", s.URL+"/api", withProbe("/user"), func(spec *v1alpha1.EndpointSpec) {
				spec.Query = []v1alpha1.NamedValue{{Name: "hidden", Value: "in-query"}}
			}))
			declared, err := probe(t, w.resolve(gitea))
			if !declared {
				t.Fatal("the probe is said not to be declared")
			}
			if tc.reason == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			failed := (*endpoints.ProbeError)(nil)
			if !errors.As(err, &failed) || failed.Status() != tc.status {
				t.Fatalf("got %v", err)
			}
			if reason, stalled := endpoints.Reason(err); reason != tc.reason || stalled {
				t.Fatalf("reason %s, stalled %v", reason, stalled)
			}
			if !strings.Contains(err.Error(), tc.remedy) || !strings.Contains(err.Error(), "GET /user") || !strings.Contains(err.Error(), "RestEndpoint team-a/gitea") || strings.Contains(err.Error(), "in-query") {
				t.Fatalf("message %q", err)
			}
		})
	}
}

func TestAnAnswerThatCannotBeReadIsNoSuccess(t *testing.T) {
	t.Parallel()
	s, w := newServer(t), newWorld(t)
	s.body = `{"name": "cut o`
	w.create(restEndpoint("team-a", "gitea", s.URL, withProbe("/user")))
	_, err := w.resolve(gitea).Probe(t.Context())
	if failure := (*rest.Failure)(nil); !errors.As(err, &failure) || failure.Kind != rest.Undecodable {
		t.Fatalf("status 200 with half a document gave %v", err)
	}
	if reason, _ := endpoints.Reason(err); reason != v1alpha1.ReasonProbeFailed {
		t.Fatalf("reason %s", reason)
	}
}

func TestProbeOfAnUnreachableServer(t *testing.T) {
	t.Parallel()
	s, w := newServer(t), newWorld(t)
	s.Close()
	w.create(restEndpoint("team-a", "gitea", s.URL, withProbe("/user")))
	_, err := w.resolve(gitea).Probe(t.Context())
	failure := (*rest.Failure)(nil)
	if !errors.As(err, &failure) || failure.Kind != rest.NotSent {
		t.Fatalf("got %v", err)
	}
	if reason, _ := endpoints.Reason(err); reason != v1alpha1.ReasonEndpointUnreachable {
		t.Fatalf("reason %s", reason)
	}
}

func TestWithoutProbeNothingIsSentAndNothingProved(t *testing.T) {
	t.Parallel()
	s, w := newServer(t), newWorld(t)
	w.create(restEndpoint("team-a", "gitea", s.URL))
	if declared, err := probe(t, w.resolve(gitea)); declared || err != nil {
		t.Fatalf("declared %v, %v", declared, err)
	}
	if len(s.seen()) != 0 {
		t.Fatal("something was sent")
	}
}

func TestProbeKeepsItsPathBelowTheBase(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/user":       "/api/user",
		"/a%2Fb":      "/api/a%2Fb",
		"/a b":        "/api/a%20b",
		"//host/x":    "/api//host/x",
		"/\u00e9":     "/api/%C3%A9",
		"/vhosts/%2F": "/api/vhosts/%2F",
	} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			s, w := newServer(t), newWorld(t)
			w.create(restEndpoint("team-a", "gitea", s.URL+"/api", withProbe(path)))
			mustProbe(t, w.resolve(gitea))
			if got := s.seen()[0].RequestURI; got != want {
				t.Fatalf("sent %s instead of %s", got, want)
			}
		})
	}
}

func TestAGoodProbeIsSharedForAMoment(t *testing.T) {
	t.Parallel()
	now := testingclock.NewFakePassiveClock(time.Now())
	s, w := newServer(t), newWorld(t, endpoints.WithClock(now))
	w.create(restEndpoint("team-a", "gitea", s.URL, withProbe("/user")))
	for range 20 {
		mustProbe(t, w.resolve(gitea))
	}
	if n := len(s.seen()); n != 1 {
		t.Fatalf("%d probes instead of one", n)
	}
	now.SetTime(now.Now().Add(10 * time.Second))
	s.answer(http.StatusUnauthorized)
	if _, err := w.resolve(gitea).Probe(t.Context()); err == nil {
		t.Fatal("a lost permission was not noticed after ten seconds")
	}
}

// What was lost after the last probe and before a look makes everything look absent: that probe is no witness for the look.
func TestAProbeFromBeforeALookProvesNothingAboutIt(t *testing.T) {
	t.Parallel()
	now := testingclock.NewFakePassiveClock(time.Now())
	s, w := newServer(t), newWorld(t, endpoints.WithClock(now))
	w.create(restEndpoint("team-a", "gitea", s.URL, withProbe("/user")))
	mustProbe(t, w.resolve(gitea))
	now.SetTime(now.Now().Add(time.Second))
	looked := now.Now()
	s.answer(http.StatusNotFound)
	if _, err := w.resolve(gitea).ProbeSince(t.Context(), looked); err == nil {
		t.Fatal("a probe from before the look was taken for an answer about it")
	}
	s.answer(http.StatusOK)
	now.SetTime(now.Now().Add(2 * time.Second))
	for range 5 {
		if declared, err := w.resolve(gitea).ProbeSince(t.Context(), looked); !declared || err != nil {
			t.Fatalf("declared %v, %v", declared, err)
		}
	}
	if n := len(s.seen()); n != 3 {
		t.Fatalf("%d probes: one that is younger than the look counts for all who looked before it", n)
	}
}

// A probe that is on its way when the look ends was perhaps answered before it.
func TestAProbeOnItsWayProvesNothingAboutALookThatCameLater(t *testing.T) {
	t.Parallel()
	s, w := newServer(t), newWorld(t)
	s.hold = make(chan struct{})
	w.create(restEndpoint("team-a", "gitea", s.URL, withProbe("/user")))
	endpoint := w.resolve(gitea)
	var callers sync.WaitGroup
	callers.Go(func() { mustProbe(t, endpoint) })
	<-s.arrived
	looked := time.Now()
	for range 10 {
		callers.Go(func() {
			if _, err := endpoint.ProbeSince(t.Context(), looked); err != nil {
				t.Error(err)
			}
		})
	}
	close(s.hold)
	callers.Wait()
	if n := len(s.seen()); n != 2 {
		t.Fatalf("%d probes instead of one more for all of them", n)
	}
}

func TestABadProbeIsForgottenSooner(t *testing.T) {
	t.Parallel()
	now := testingclock.NewFakePassiveClock(time.Now())
	s, w := newServer(t), newWorld(t, endpoints.WithClock(now))
	s.answer(http.StatusServiceUnavailable)
	w.create(restEndpoint("team-a", "gitea", s.URL, withProbe("/user")))
	for range 5 {
		if _, err := w.resolve(gitea).Probe(t.Context()); err == nil {
			t.Fatal("503 was taken for success")
		}
	}
	if n := len(s.seen()); n != 1 {
		t.Fatalf("%d probes instead of one", n)
	}
	s.answer(http.StatusOK)
	now.SetTime(now.Now().Add(2 * time.Second))
	mustProbe(t, w.resolve(gitea))
}

func TestAGoodProbeDoesNotSpeakForANewCredential(t *testing.T) {
	t.Parallel()
	s, w := newServer(t), newWorld(t)
	w.vault.put("team-a", "token", "token", "good")
	w.create(restEndpoint("team-a", "gitea", s.URL, withProbe("/user"), withBearer("token")))
	mustProbe(t, w.resolve(gitea))
	s.answer(http.StatusUnauthorized)
	w.vault.put("team-a", "token", "token", "bad")
	if _, err := w.resolve(gitea).Probe(t.Context()); err == nil {
		t.Fatal("the success of the old credential was taken for the new one")
	}
}

func TestConcurrentProbesAreOneRequest(t *testing.T) {
	t.Parallel()
	s, w := newServer(t), newWorld(t)
	s.hold = make(chan struct{})
	w.create(restEndpoint("team-a", "gitea", s.URL, withProbe("/user")))
	endpoint := w.resolve(gitea)
	var callers sync.WaitGroup
	for range 20 {
		callers.Go(func() {
			if _, err := endpoint.Probe(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	<-s.arrived
	close(s.hold)
	callers.Wait()
	if n := len(s.seen()); n != 1 {
		t.Fatalf("%d requests", n)
	}
}

func TestACallerWhoLeavesProvesNothing(t *testing.T) {
	t.Parallel()
	s, w := newServer(t), newWorld(t)
	s.hold = make(chan struct{})
	w.create(restEndpoint("team-a", "gitea", s.URL, withProbe("/user")))
	endpoint := w.resolve(gitea)
	ctx, leave := context.WithCancel(t.Context())
	got := make(chan error, 1)
	go func() {
		_, err := endpoint.Probe(ctx)
		got <- err
	}()
	<-s.arrived
	leave()
	if err := <-got; !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	close(s.hold)
	mustProbe(t, w.resolve(gitea))
}

func TestCloseStopsAProbeUnderWay(t *testing.T) {
	t.Parallel()
	s, w := newServer(t), newWorld(t)
	s.hold = make(chan struct{})
	w.create(restEndpoint("team-a", "gitea", s.URL, withProbe("/user")))
	endpoint := w.resolve(gitea)
	got := make(chan error, 1)
	go func() {
		_, err := endpoint.Probe(t.Context())
		got <- err
	}()
	<-s.arrived
	if err := w.registry.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-got; err == nil {
		t.Fatal("a probe that was stopped gave success")
	}
	if _, err := endpoint.Probe(t.Context()); !errors.Is(err, endpoints.ErrClosed) {
		t.Fatalf("a probe after Close gave %v", err)
	}
}
