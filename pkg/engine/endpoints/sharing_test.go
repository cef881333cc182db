package endpoints_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/endpoints"
	"github.com/restmapping/operator/pkg/httpapi"
	"github.com/restmapping/operator/pkg/rest"
)

func forbidden() error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "", errors.New("no rule"))
}

func TestOneClientServesAllUntilSomethingChanges(t *testing.T) {
	t.Parallel()
	s, w := newServer(t), newWorld(t)
	w.vault.put("team-a", "token", "token", "one")
	w.create(restEndpoint("team-a", "gitea", s.URL, withBearer("token")))
	for range 10 {
		mustDo(t, w.resolve(gitea), "/x")
	}
	if n, _ := s.connections(); n != 1 {
		t.Errorf("%d connections for ten passes", n)
	}
	if n := w.vault.readCount(); n != 1 {
		t.Errorf("the Secret was read %d times", n)
	}
	w.vault.put("team-a", "token", "token", "two")
	mustDo(t, w.resolve(gitea), "/x")
	w.edit("team-a", "gitea", func(e *v1alpha1.RestEndpoint) {
		e.Spec.Headers = []v1alpha1.NamedValue{{Name: "X-New", Value: "yes"}}
	})
	mustDo(t, w.resolve(gitea), "/x")
	requests := s.seen()
	var tokens []string
	for _, r := range requests[9:] {
		tokens = append(tokens, r.Header.Get("Authorization")+r.Header.Get("X-New"))
	}
	if diff := cmp.Diff([]string{"Bearer one", "Bearer two", "Bearer twoyes"}, tokens); diff != "" {
		t.Errorf("credentials (-want +got):\n%s", diff)
	}
	if n, _ := s.connections(); n != 3 {
		t.Errorf("%d connections for three clients", n)
	}
}

func TestLabelsAreFreshWithoutANewClient(t *testing.T) {
	t.Parallel()
	s, w := newServer(t), newWorld(t)
	w.create(restEndpoint("team-a", "gitea", s.URL))
	mustDo(t, w.resolve(gitea), "/x")
	w.edit("team-a", "gitea", func(e *v1alpha1.RestEndpoint) {
		e.Generation-- // the API server counts changes of the spec only
		e.Labels = map[string]string{"site": "west"}
	})
	got := w.resolve(gitea)
	mustDo(t, got, "/x")
	if n, _ := s.connections(); got.Facts().Labels["site"] != "west" || n != 1 {
		t.Fatalf("labels %v, %d connections", got.Facts().Labels, n)
	}
}

func TestConcurrentPassesBuildOneClient(t *testing.T) {
	t.Parallel()
	s, w := newServer(t), newWorld(t)
	w.vault.put("team-a", "token", "token", "one")
	w.create(restEndpoint("team-a", "gitea", s.URL, withBearer("token")))
	var passes sync.WaitGroup
	for range 30 {
		passes.Go(func() {
			if _, err := w.registry.Resolve(t.Context(), gitea); err != nil {
				t.Error(err)
			}
		})
	}
	passes.Wait()
	if n := w.vault.readCount(); n != 1 {
		t.Fatalf("the Secret was read %d times", n)
	}
}

func TestLimitsHoldForAllMappingsTogether(t *testing.T) {
	t.Parallel()
	s, w := newServer(t), newWorld(t)
	s.hold = make(chan struct{})
	w.create(restEndpoint("team-a", "gitea", s.URL, func(spec *v1alpha1.EndpointSpec) { spec.Limits.InFlight = 2 }))
	var passes sync.WaitGroup
	for range 2 {
		endpoint := w.resolve(gitea)
		passes.Go(func() { endpoint.Do(t.Context(), read("/x")) })
	}
	<-s.arrived
	<-s.arrived
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if exchange := w.resolve(gitea).Do(ended, read("/third")); exchange.Failure == nil || exchange.Failure.Kind != rest.NotSent {
		t.Errorf("the third request gave %+v", exchange)
	}
	third := make(chan rest.Exchange, 1)
	passes.Go(func() { third <- w.resolve(gitea).Do(t.Context(), read("/third")) })
	if n := len(s.seen()); n != 2 {
		t.Errorf("%d requests at the server while two may be in flight", n)
	}
	close(s.hold)
	passes.Wait()
	if exchange := <-third; exchange.Failure != nil {
		t.Error(exchange.Failure)
	}
}

func TestAReplacedClientFinishesItsRequest(t *testing.T) {
	t.Parallel()
	s, w := newServer(t), newWorld(t)
	w.vault.put("team-a", "token", "token", "one")
	w.create(restEndpoint("team-a", "gitea", s.URL, withBearer("token")))
	s.hold = make(chan struct{})
	old := w.resolve(gitea)
	done := make(chan rest.Exchange, 1)
	go func() { done <- old.Do(t.Context(), read("/slow")) }()
	<-s.arrived
	w.vault.put("team-a", "token", "token", "two")
	w.resolve(gitea)
	close(s.hold)
	if exchange := <-done; exchange.Failure != nil || exchange.Response.Status != http.StatusOK {
		t.Fatalf("the request under way gave %+v", exchange)
	}
	// A pass that still holds the old one may go on to its end, and leaves no connection behind either.
	mustDo(t, old, "/after")
	eventually(t, func() string {
		if _, open := s.connections(); open != 0 {
			return fmt.Sprintf("%d connections of the replaced client are open", open)
		}
		return ""
	})
}

func TestCloseWaitsForRequestsInFlight(t *testing.T) {
	t.Parallel()
	s, w := newServer(t), newWorld(t)
	w.create(restEndpoint("team-a", "gitea", s.URL))
	s.hold = make(chan struct{})
	endpoint := w.resolve(gitea)
	done := make(chan rest.Exchange, 1)
	go func() { done <- endpoint.Do(t.Context(), read("/slow")) }()
	<-s.arrived
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.registry.Close(ended); !errors.Is(err, context.Canceled) {
		t.Fatalf("Close with a request in flight gave %v", err)
	}
	if _, err := w.registry.Resolve(t.Context(), gitea); !errors.Is(err, endpoints.ErrClosed) {
		t.Fatalf("Resolve after Close gave %v", err)
	}
	close(s.hold)
	if exchange := <-done; exchange.Failure != nil {
		t.Fatalf("the request in flight gave %v", exchange.Failure)
	}
	if err := w.registry.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestSubscribersHearOfEveryChangeOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	heard := w.heard()
	refresh := func(ref endpoints.Ref) {
		// Errors are the matter of other tests.
		_, _ = w.registry.Refresh(t.Context(), ref)
	}
	expect := func(when string, want ...endpoints.Ref) {
		t.Helper()
		if diff := cmp.Diff(want, heard()); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", when, diff)
		}
	}
	w.create(restEndpoint("team-a", "gitea", "http://127.0.0.1:1", withBearer("token")))
	refresh(gitea)
	refresh(gitea)
	expect("the first look after a start")
	w.vault.put("team-a", "other", "token", "x")
	w.vault.put("team-b", "token", "token", "x")
	expect("Secrets of others")
	w.vault.put("team-a", "token", "token", "x")
	expect("the missing Secret appeared", gitea)
	w.edit("team-a", "gitea", func(e *v1alpha1.RestEndpoint) { e.Spec.BaseURL = "http://127.0.0.1:2" })
	refresh(gitea)
	refresh(gitea)
	expect("the spec changed", gitea)
	w.edit("team-a", "gitea", func(e *v1alpha1.RestEndpoint) { e.Generation--; e.Labels = map[string]string{"a": "b"} })
	refresh(gitea)
	expect("the labels changed", gitea)
	w.edit("team-a", "gitea", func(e *v1alpha1.RestEndpoint) { e.Generation--; e.Annotations = map[string]string{"a": "b"} })
	refresh(gitea)
	expect("an annotation changed")
	w.edit("team-a", "gitea", func(e *v1alpha1.RestEndpoint) { e.Spec.Auth = nil })
	refresh(gitea)
	expect("the Secret is not referred to any more", gitea)
	w.vault.put("team-a", "token", "token", "y")
	expect("a Secret that is not referred to any more")
	if err := w.client.Delete(t.Context(), restEndpoint("team-a", "gitea", "")); err != nil {
		t.Fatal(err)
	}
	refresh(gitea)
	refresh(gitea)
	expect("it went", gitea)
	w.create(restEndpoint("team-a", "gitea", "http://127.0.0.1:1"))
	refresh(gitea)
	expect("it came back", gitea)
}

func TestWhoAskedInVainHearsWhenItAppears(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	heard := w.heard()
	if _, err := w.registry.Resolve(t.Context(), gitea); err == nil {
		t.Fatal("resolved what is not there")
	}
	w.create(restEndpoint("team-a", "gitea", "http://127.0.0.1:1"))
	if _, err := w.registry.Refresh(t.Context(), gitea); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]endpoints.Ref{gitea}, heard()); diff != "" {
		t.Fatalf("heard (-want +got):\n%s", diff)
	}
}

func TestAnEndpointMadeAnewGetsANewClient(t *testing.T) {
	t.Parallel()
	first, second, w := newServer(t), newServer(t), newWorld(t)
	w.create(restEndpoint("team-a", "gitea", first.URL))
	mustDo(t, w.resolve(gitea), "/x")
	if err := w.client.Delete(t.Context(), restEndpoint("team-a", "gitea", "")); err != nil {
		t.Fatal(err)
	}
	again := restEndpoint("team-a", "gitea", second.URL)
	again.UID, again.Generation = "another", 1
	if err := w.client.Create(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	mustDo(t, w.resolve(gitea), "/x")
	if len(first.seen()) != 1 || len(second.seen()) != 1 {
		t.Fatalf("%d requests at the old server, %d at the new one", len(first.seen()), len(second.seen()))
	}
}

func TestAFailureOfTheAPIServerIsNotAMissingSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.vault.fail = errors.New("the API server is away")
	w.create(restEndpoint("team-a", "gitea", "http://127.0.0.1:1", withBearer("token")))
	_, err := w.registry.Resolve(t.Context(), gitea)
	if !errors.Is(err, w.vault.fail) {
		t.Fatalf("got %v", err)
	}
}

func TestTheObserverSeesEveryRequest(t *testing.T) {
	t.Parallel()
	type seen struct {
		Endpoint, Route string
		Status          int
	}
	var mu sync.Mutex
	var got []seen
	s := newServer(t)
	w := newWorld(t, endpoints.WithUserAgent("test/1"), endpoints.WithObserver(func(name string, o httpapi.Observation) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, seen{name, o.Route, o.Status})
	}))
	w.create(restEndpoint("team-a", "gitea", s.URL))
	mustDo(t, w.resolve(gitea), "/x")
	if diff := cmp.Diff([]seen{{"RestEndpoint team-a/gitea", "/x", http.StatusOK}}, got); diff != "" {
		t.Fatalf("observed (-want +got):\n%s", diff)
	}
	if agent := s.seen()[0].UserAgent(); agent != "test/1" {
		t.Fatalf("user agent %q", agent)
	}
}
