package endpoints_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/endpoints"
	"github.com/restmapping/operator/pkg/engine/secrets"
	"github.com/restmapping/operator/pkg/httpapi"
	"github.com/restmapping/operator/pkg/rest"
)

func TestResolveGivesWhatAPassNeeds(t *testing.T) {
	t.Parallel()
	s, w := newServer(t), newWorld(t)
	w.vault.put("team-a", "token", "token", "s3cret")
	e := restEndpoint("team-a", "gitea", s.URL+"/api/v1", withBearer("token"), func(spec *v1alpha1.EndpointSpec) {
		spec.Values = map[string]string{"tier": "gold"}
		spec.Headers = []v1alpha1.NamedValue{{Name: "X-Team", Value: "a"}}
		spec.Query = []v1alpha1.NamedValue{{Name: "tenant", Value: "7"}}
	})
	e.Labels = map[string]string{"site": "east"}
	w.create(e)
	got := w.resolve(gitea)
	want := endpoints.Facts{Name: "gitea", Labels: map[string]string{"site": "east"}, Values: map[string]string{"tier": "gold"}}
	if diff := cmp.Diff(want, got.Facts()); diff != "" {
		t.Errorf("facts (-want +got):\n%s", diff)
	}
	if got.Ref() != gitea || got.Identity() == "" || got.Timeout() <= 0 {
		t.Errorf("ref %v, identity %q, timeout %s", got.Ref(), got.Identity(), got.Timeout())
	}
	mustDo(t, got, "/repos")
	sent := s.seen()[0]
	if sent.URL.String() != "/api/v1/repos?tenant=7" || sent.Header.Get("Authorization") != "Bearer s3cret" || sent.Header.Get("X-Team") != "a" {
		t.Errorf("sent %s with %v", sent.URL, sent.Header)
	}
}

func TestResolveRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(restEndpoint("team-a", "gitea", "http://127.0.0.1:1"))
	w.create(restEndpoint("team-a", "secretless", "http://127.0.0.1:1", withBearer("none")))
	w.create(restEndpoint("team-a", "host", "http://"))
	w.create(restEndpoint("team-a", "userinfo", "http://user:pass@127.0.0.1:1"))
	w.create(restEndpoint("team-a", "pem", "https://127.0.0.1:1", func(s *v1alpha1.EndpointSpec) {
		s.TLS = &v1alpha1.TLS{CABundle: "no certificate"}
	}))
	w.create(restEndpoint("team-a", "limits", "http://127.0.0.1:1", func(s *v1alpha1.EndpointSpec) { s.Limits.Burst = -1 }))
	w.create(restEndpoint("team-a", "up", "http://127.0.0.1:1", withProbe("/a/../b")))
	w.create(restEndpoint("team-a", "escaped-up", "http://127.0.0.1:1", withProbe("/a/%2e%2E%2Fb")))
	w.create(restEndpoint("team-a", "backslash", "http://127.0.0.1:1", withProbe(`/a\..\b`)))
	w.create(restEndpoint("team-a", "percent", "http://127.0.0.1:1", withProbe("/a%zz")))
	w.create(restEndpoint("team-a", "slash", "http://127.0.0.1:1", withProbe("a")))
	w.vault.put("team-a", "newline", "token", "s3cret\n")
	w.create(restEndpoint("team-a", "newline", "http://127.0.0.1:1", withBearer("newline")))
	in := func(namespace, name string) endpoints.Ref {
		return endpoints.Ref{Kind: endpoints.KindRestEndpoint, Namespace: namespace, Name: name}
	}
	cases := map[string]struct {
		ref    endpoints.Ref
		reason string
		says   []string
	}{
		"one that does not exist":                        {in("team-a", "other"), v1alpha1.ReasonEndpointNotFound, []string{"RestEndpoint team-a/other does not exist", "create it"}},
		"one of another namespace":                       {in("team-b", "gitea"), v1alpha1.ReasonEndpointNotFound, []string{"RestEndpoint team-b/gitea"}},
		"a namespaced one for a cluster-scoped resource": {in("", "gitea"), v1alpha1.ReasonEndpointNotFound, []string{"ClusterRestEndpoint"}},
		"an unknown kind":                                {endpoints.Ref{Kind: "Secret", Namespace: "team-a", Name: "gitea"}, v1alpha1.ReasonEndpointNotFound, []string{"not a kind of endpoint"}},
		"a missing Secret is named with its field":       {in("team-a", "secretless"), v1alpha1.ReasonSecretNotFound, []string{"RestEndpoint team-a/secretless", "spec.auth.bearer.tokenRef", "Secret team-a/none"}},
		"a base URL without host":                        {in("team-a", "host"), v1alpha1.ReasonInvalidEndpoint, []string{"spec.baseURL"}},
		"a base URL with a password":                     {in("team-a", "userinfo"), v1alpha1.ReasonInvalidEndpoint, []string{"spec.baseURL"}},
		"a CA bundle without certificate":                {in("team-a", "pem"), v1alpha1.ReasonInvalidEndpoint, []string{"spec.tls.caBundle"}},
		"limits below zero":                              {in("team-a", "limits"), v1alpha1.ReasonInvalidEndpoint, []string{"spec.limits.burst"}},
		"a probe that steps up":                          {in("team-a", "up"), v1alpha1.ReasonInvalidEndpoint, []string{"spec.probe.path"}},
		"a probe that steps up in hiding":                {in("team-a", "escaped-up"), v1alpha1.ReasonInvalidEndpoint, []string{"spec.probe.path"}},
		"a probe that steps up with backslashes":         {in("team-a", "backslash"), v1alpha1.ReasonInvalidEndpoint, []string{"spec.probe.path"}},
		"a probe with a broken percent-encoding":         {in("team-a", "percent"), v1alpha1.ReasonInvalidEndpoint, []string{"spec.probe.path"}},
		"a probe without a slash":                        {in("team-a", "slash"), v1alpha1.ReasonInvalidEndpoint, []string{"spec.probe.path"}},
		"a token with a line break":                      {in("team-a", "newline"), v1alpha1.ReasonInvalidEndpoint, []string{"spec.auth.bearer", "line break"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := w.registry.Resolve(t.Context(), tc.ref)
			if err == nil {
				t.Fatal("resolved")
			}
			if reason, _ := endpoints.Reason(err); reason != tc.reason {
				t.Errorf("reason %s for %v", reason, err)
			}
			for _, want := range tc.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			for _, secret := range []string{"s3cret", "user:pass", "pass@"} {
				if strings.Contains(err.Error(), secret) {
					t.Errorf("%q shows a secret", err)
				}
			}
		})
	}
}

func TestAllowedNamespaces(t *testing.T) {
	t.Parallel()
	team := func(value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"team": value}}
	}
	cases := map[string]struct {
		allowed   *v1alpha1.AllowedNamespaces
		namespace string
		refused   bool
		invalid   bool
	}{
		"nothing said allows no namespace":                  {nil, "team-a", true, false},
		"an empty list allows no namespace":                 {&v1alpha1.AllowedNamespaces{}, "team-a", true, false},
		"a named namespace may":                             {&v1alpha1.AllowedNamespaces{Names: []string{"x", "team-a"}}, "team-a", false, false},
		"a namespace that is not named may not":             {&v1alpha1.AllowedNamespaces{Names: []string{"team-b"}}, "team-a", true, false},
		"a namespace with the label may":                    {&v1alpha1.AllowedNamespaces{Selector: team("a")}, "team-a", false, false},
		"a namespace with another label may not":            {&v1alpha1.AllowedNamespaces{Selector: team("b")}, "team-a", true, false},
		"a namespace may by name or by label":               {&v1alpha1.AllowedNamespaces{Names: []string{"x"}, Selector: team("a")}, "team-a", false, false},
		"an empty selector takes all":                       {&v1alpha1.AllowedNamespaces{Selector: &metav1.LabelSelector{}}, "team-a", false, false},
		"an empty selector does not take what is not there": {&v1alpha1.AllowedNamespaces{Selector: &metav1.LabelSelector{}}, "ghost", true, false},
		"a cluster-scoped resource always may":              {nil, "", false, false},
		"a selector that cannot be read refuses": {&v1alpha1.AllowedNamespaces{Selector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: "Like"}},
		}}, "team-a", true, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team-a", Labels: map[string]string{"team": "a"}}})
			w.create(&v1alpha1.ClusterRestEndpoint{
				ObjectMeta: metav1.ObjectMeta{Name: "shared"},
				Spec: v1alpha1.ClusterEndpointSpec{
					EndpointSpec: v1alpha1.EndpointSpec{BaseURL: "http://127.0.0.1:1"}, AllowedNamespaces: tc.allowed,
				},
			})
			ref := endpoints.Ref{Kind: endpoints.KindClusterRestEndpoint, Namespace: tc.namespace, Name: "shared"}
			_, err := w.registry.Resolve(t.Context(), ref)
			denied, invalid := (*endpoints.NamespaceNotAllowedError)(nil), (*endpoints.InvalidEndpointError)(nil)
			switch {
			case !tc.refused && err != nil:
				t.Fatalf("refused: %v", err)
			case tc.invalid && !errors.As(err, &invalid):
				t.Fatalf("got %v", err)
			case tc.refused && !tc.invalid && !errors.As(err, &denied):
				t.Fatalf("got %v", err)
			case denied != nil && !strings.Contains(err.Error(), "spec.allowedNamespaces"):
				t.Fatalf("%q does not say what to do", err)
			}
			if _, err := w.registry.Refresh(t.Context(), ref.Own()); err != nil {
				t.Fatalf("its own controller was refused: %v", err)
			}
		})
	}
}

func TestSecretsOfAClusterEndpointAreInTheOperatorsNamespace(t *testing.T) {
	t.Parallel()
	s, w := newServer(t), newWorld(t)
	w.vault.put(operatorNamespace, "token", "token", "of the operator")
	w.vault.put("team-a", "token", "token", "of the team")
	w.create(&v1alpha1.ClusterRestEndpoint{
		ObjectMeta: metav1.ObjectMeta{Name: "shared"},
		Spec: v1alpha1.ClusterEndpointSpec{
			EndpointSpec:      restEndpoint("", "", s.URL, withBearer("token")).Spec,
			AllowedNamespaces: &v1alpha1.AllowedNamespaces{Names: []string{"team-a"}},
		},
	})
	mustDo(t, w.resolve(endpoints.Ref{Kind: endpoints.KindClusterRestEndpoint, Namespace: "team-a", Name: "shared"}), "/x")
	if got := s.seen()[0].Header.Get("Authorization"); got != "Bearer of the operator" {
		t.Fatalf("sent %q", got)
	}
}

func TestReasonSeesThroughWrapping(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		err     error
		reason  string
		stalled bool
	}{
		"not found":             {&endpoints.EndpointNotFoundError{}, v1alpha1.ReasonEndpointNotFound, false},
		"not allowed":           {&endpoints.NamespaceNotAllowedError{}, v1alpha1.ReasonEndpointNotAllowed, true},
		"invalid":               {&endpoints.InvalidEndpointError{}, v1alpha1.ReasonInvalidEndpoint, true},
		"no Secret":             {&secrets.NotFoundError{}, v1alpha1.ReasonSecretNotFound, false},
		"closed Secret":         {&secrets.NotAllowedError{}, v1alpha1.ReasonSecretNotAllowed, true},
		"Secret not watched":    {&secrets.NamespaceNotWatchedError{}, v1alpha1.ReasonSecretNotAllowed, true},
		"API server away":       {&secrets.UnavailableError{Err: errors.New("x")}, v1alpha1.ReasonEndpointNotReady, false},
		"rights missing":        {&secrets.UnavailableError{Err: forbidden()}, v1alpha1.ReasonRBACMissing, false},
		"whatever else":         {errors.New("x"), v1alpha1.ReasonEndpointNotReady, false},
		"the operator is going": {endpoints.ErrClosed, v1alpha1.ReasonEndpointNotReady, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for form, err := range map[string]error{
				"bare": tc.err, "joined": errors.Join(errors.New("other"), tc.err),
			} {
				if reason, stalled := endpoints.Reason(err); reason != tc.reason || stalled != tc.stalled {
					t.Errorf("%s: %s, stalled %v", form, reason, stalled)
				}
			}
		})
	}
}

func TestOnlyAnAdministratorOpensARefusedAddress(t *testing.T) {
	t.Parallel()
	s, w := newServer(t), newWorld(t)
	elsewhere := strings.Replace(s.URL, "127.0.0.1", "169.254.169.254", 1)
	w.create(restEndpoint("team-a", "gitea", elsewhere))
	_, err := w.registry.Resolve(t.Context(), gitea)
	if reason, stalled := endpoints.Reason(err); reason != v1alpha1.ReasonAddressNotAllowed || !stalled {
		t.Fatalf("%s, stalled %v: %v", reason, stalled, err)
	}
	if text := err.Error(); !strings.Contains(text, "RestEndpoint team-a/gitea") || !strings.Contains(text, "spec.baseURL") || !strings.Contains(text, "169.254.0.0/16") {
		t.Errorf("the message is %q", text)
	}
	shared := &v1alpha1.ClusterRestEndpoint{
		ObjectMeta: metav1.ObjectMeta{Name: "shared", UID: "shared", Generation: 1},
		Spec:       v1alpha1.ClusterEndpointSpec{EndpointSpec: v1alpha1.EndpointSpec{BaseURL: elsewhere}},
	}
	ref := endpoints.Ref{Kind: endpoints.KindClusterRestEndpoint, Name: "shared"}
	w.create(shared)
	if _, err := w.registry.Resolve(t.Context(), ref); err == nil {
		t.Error("a ClusterRestEndpoint needs no leave")
	}
	shared.Spec.AllowedCIDRs, shared.Generation = []v1alpha1.CIDR{"169.254.169.254/32"}, 2
	if err := w.client.Update(t.Context(), shared); err != nil {
		t.Fatal(err)
	}
	if _, err := w.registry.Resolve(t.Context(), ref); err != nil {
		t.Errorf("what it allows itself is refused: %v", err)
	}
	shared.Spec.AllowedCIDRs, shared.Generation = []v1alpha1.CIDR{"169.254.169.254"}, 3
	if err := w.client.Update(t.Context(), shared); err != nil {
		t.Fatal(err)
	}
	if _, err := w.registry.Resolve(t.Context(), ref); err == nil || !strings.Contains(err.Error(), "spec.allowedCIDRs[0]") {
		t.Errorf("a range that is none gave %v", err)
	}
}

func TestAProbeThatMayNotConnectSaysSo(t *testing.T) {
	t.Parallel()
	held := &endpoints.ProbeError{Endpoint: gitea, Exchange: rest.Exchange{Failure: &rest.Failure{
		Kind: rest.NotSent, Err: &httpapi.AddressNotAllowedError{}, Held: rest.HeldByAddress,
	}}}
	if reason, stalled := endpoints.Reason(held); reason != v1alpha1.ReasonAddressNotAllowed || stalled {
		t.Errorf("%s, stalled %v", reason, stalled)
	}
}
