package endpoints_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/endpoints"
	"github.com/restmapping/operator/pkg/engine/tokens"
	"github.com/restmapping/operator/pkg/httpapi"
)

// tokenMaker makes tokens that tell what they were asked for.
type tokenMaker struct {
	mu    sync.Mutex
	asked []tokens.Request
	fail  error
}

func (m *tokenMaker) Token(_ context.Context, r tokens.Request) (httpapi.Token, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.asked = append(m.asked, r)
	if m.fail != nil {
		return httpapi.Token{}, m.fail
	}
	return httpapi.Token{Value: httpapi.NewSecret(fmt.Sprintf("token-of-%s-%s-%d", r.Namespace, r.Account, len(m.asked)))}, nil
}

func (m *tokenMaker) requests() []tokens.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.asked)
}

func withAccount(name string) func(*v1alpha1.EndpointSpec) {
	return func(s *v1alpha1.EndpointSpec) {
		s.Auth = &v1alpha1.Auth{ServiceAccountToken: &v1alpha1.ServiceAccountTokenAuth{
			ServiceAccountName: name, Audiences: []string{"https://api.example"}, ExpirationSeconds: 600,
		}}
	}
}

// The namespace of the account is never chosen by who writes the endpoint.
func TestATokenIsOfTheEndpointsOwnNamespace(t *testing.T) {
	t.Parallel()
	s, w := newServer(t), newWorld(t)
	w.create(restEndpoint("team-a", "gitea", s.URL, withAccount("reader")))
	shared := &v1alpha1.ClusterRestEndpoint{ObjectMeta: metav1.ObjectMeta{Name: "shared"}}
	shared.Spec.BaseURL = s.URL
	withAccount("reader")(&shared.Spec.EndpointSpec)
	shared.Spec.AllowedNamespaces = &v1alpha1.AllowedNamespaces{Names: []string{"team-a"}}
	w.create(shared)
	for range 2 {
		mustDo(t, w.resolve(gitea), "/x")
		mustDo(t, w.resolve(endpoints.Ref{Kind: endpoints.KindClusterRestEndpoint, Namespace: "team-a", Name: "shared"}), "/x")
	}
	wish := func(namespace string) tokens.Request {
		return tokens.Request{Namespace: namespace, Account: "reader", Audiences: []string{"https://api.example"}, Seconds: 600}
	}
	if diff := cmp.Diff([]tokens.Request{wish("team-a"), wish(operatorNamespace)}, w.tokens.requests()); diff != "" {
		t.Errorf("asked for (-want +got):\n%s", diff)
	}
	if got := s.seen()[0].Header.Get("Authorization"); got != "Bearer token-of-team-a-reader-1" {
		t.Errorf("sent %q", got)
	}
}

func TestWhatAMissingTokenSays(t *testing.T) {
	t.Parallel()
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "serviceaccounts/token"}, "reader", errors.New("no"))
	cases := map[string]struct {
		fail   error
		reason string
	}{
		"no such account": {&tokens.NotFoundError{Namespace: "team-a", Name: "reader"}, v1alpha1.ReasonServiceAccountNotFound},
		"a closed one":    {&tokens.NotAllowedError{Namespace: "team-a", Name: "reader"}, v1alpha1.ReasonServiceAccountNotAllowed},
		"no right":        {&tokens.UnavailableError{Namespace: "team-a", Account: "reader", Err: forbidden}, v1alpha1.ReasonRBACMissing},
		"no answer":       {&tokens.UnavailableError{Err: http.ErrServerClosed}, v1alpha1.ReasonEndpointNotReady},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, w := newServer(t), newWorld(t)
			w.tokens.fail = tc.fail
			w.create(restEndpoint("team-a", "gitea", s.URL, withAccount("reader"), withProbe("/probe")))
			endpoint := w.resolve(gitea)
			fetched, err := endpoint.Ready(t.Context())
			if !fetched || err == nil {
				t.Fatalf("fetched %t, %v", fetched, err)
			}
			if reason, stalled := endpoints.Reason(err); reason != tc.reason || stalled {
				t.Errorf("reason %s, stalled %t", reason, stalled)
			}
			for _, want := range []string{"RestEndpoint team-a/gitea", "spec.auth.serviceAccountToken", tc.fail.Error()} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if _, err := endpoint.Probe(t.Context()); err == nil {
				t.Error("the probe succeeded")
			} else if reason, _ := endpoints.Reason(err); tc.reason != v1alpha1.ReasonEndpointNotReady && reason != tc.reason {
				t.Errorf("the probe says %s", reason)
			}
			if n := len(s.seen()); n > 0 {
				t.Errorf("%d requests were sent", n)
			}
		})
	}
}
