package endpoints_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/vaultfake"
	"github.com/restmapping/operator/pkg/engine/endpoints"
)

// withVault reads the bearer token from Vault, with the token of Vault in the Secret "vault".
func withVault(address string) func(*v1alpha1.EndpointSpec) {
	return func(s *v1alpha1.EndpointSpec) {
		ref := secretKey("vault", "token")
		s.Vault = &v1alpha1.Vault{Address: address, TokenRef: &ref, RefreshInterval: metav1.Duration{Duration: time.Minute}}
		s.Auth = &v1alpha1.Auth{Bearer: &v1alpha1.BearerAuth{TokenRef: v1alpha1.SecretKeyReference{
			Vault: &v1alpha1.VaultReference{Path: "apis/gitea", Key: "token"},
		}}}
	}
}

// vaultWorld is an endpoint team-a/gitea whose credential is in a Vault.
func vaultWorld(t *testing.T) (*world, *vaultfake.Server, *server, *testingclock.FakeClock) {
	t.Helper()
	clock := testingclock.NewFakeClock(time.Unix(1_000_000, 0))
	v, s, w := vaultfake.New(), newServer(t), newWorld(t, endpoints.WithClock(clock))
	t.Cleanup(v.Close)
	v.Allow("hvs.team-a", true)
	v.Put("apis/gitea", map[string]any{"token": "one"})
	w.vault.put("team-a", "vault", "token", "hvs.team-a")
	w.create(restEndpoint("team-a", "gitea", s.URL, withVault(v.URL)))
	return w, v, s, clock
}

func sentLast(t *testing.T, w *world, s *server) string {
	t.Helper()
	mustDo(t, w.resolve(gitea), "/x")
	all := s.seen()
	return all[len(all)-1].Header.Get("Authorization")
}

func wantSent(t *testing.T, w *world, s *server, want string) {
	t.Helper()
	if got := sentLast(t, w, s); got != "Bearer "+want {
		t.Errorf("sent %q, want %q", got, want)
	}
}

func TestACredentialFromVaultIsReadAgainInItsInterval(t *testing.T) {
	t.Parallel()
	w, v, s, clock := vaultWorld(t)
	wantSent(t, w, s, "one")
	v.Put("apis/gitea", map[string]any{"token": "two"})
	wantSent(t, w, s, "one")
	if _, reads := v.Counts(); reads != 1 {
		t.Errorf("%d reads within the interval", reads)
	}
	clock.Step(time.Minute)
	wantSent(t, w, s, "two")
	clock.Step(time.Minute)
	before, _ := s.connections()
	wantSent(t, w, s, "two")
	if after, _ := s.connections(); after != before {
		t.Error("the client was replaced although nothing changed")
	}
}

func TestARefusedCredentialIsReadAgainAtOnce(t *testing.T) {
	t.Parallel()
	w, v, s, clock := vaultWorld(t)
	wantSent(t, w, s, "one")
	v.Put("apis/gitea", map[string]any{"token": "two"})
	clock.Step(20 * time.Second)
	s.answer(http.StatusUnauthorized)
	mustDo(t, w.resolve(gitea), "/x")
	wantSent(t, w, s, "two")
	for range 10 {
		mustDo(t, w.resolve(gitea), "/x")
	}
	if _, reads := v.Counts(); reads != 2 {
		t.Errorf("%d reads: a server that refuses all must not make a storm of them", reads)
	}
}

func TestWhileVaultIsDownWhatWasReadServes(t *testing.T) {
	t.Parallel()
	w, v, s, clock := vaultWorld(t)
	wantSent(t, w, s, "one")
	v.Seal(true)
	clock.Step(time.Minute)
	wantSent(t, w, s, "one")
	fetched, err := w.resolve(gitea).Ready(t.Context())
	if reason, stalled := endpoints.Reason(err); !fetched || reason != v1alpha1.ReasonVaultUnavailable || stalled {
		t.Errorf("fetched %t, reason %s, stalled %t: %v", fetched, reason, stalled, err)
	}
	for _, want := range []string{"Vault is sealed", "is used on", "RestEndpoint team-a/gitea", "spec.auth.bearer.tokenRef"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	v.Seal(false)
	v.Put("apis/gitea", map[string]any{"token": "two"})
	clock.Step(10 * time.Second)
	wantSent(t, w, s, "two")
	if _, err := w.resolve(gitea).Ready(t.Context()); err != nil {
		t.Errorf("it is over: %v", err)
	}
}

func TestAVaultThatIsDownFromTheStartIsAskedSeldom(t *testing.T) {
	t.Parallel()
	w, v, s, clock := vaultWorld(t)
	v.Revoke()
	var passes sync.WaitGroup
	for range 50 {
		passes.Go(func() {
			_, err := w.registry.Resolve(t.Context(), gitea)
			if reason, _ := endpoints.Reason(err); reason != v1alpha1.ReasonVaultDenied {
				t.Errorf("reason %s: %v", reason, err)
			}
			if err != nil && strings.Contains(err.Error(), "hvs.team-a") {
				t.Errorf("it shows the token: %v", err)
			}
		})
	}
	passes.Wait()
	v.Allow("hvs.team-a", true)
	if _, err := w.registry.Resolve(t.Context(), gitea); err == nil {
		t.Error("Vault was asked again at once")
	}
	clock.Step(10 * time.Second)
	wantSent(t, w, s, "one")
	if n := len(s.seen()); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}
}

func TestANewTokenForVaultIsUsedAtOnce(t *testing.T) {
	t.Parallel()
	w, v, s, _ := vaultWorld(t)
	wantSent(t, w, s, "one")
	v.Revoke()
	v.Allow("hvs.next", true)
	v.Put("apis/gitea", map[string]any{"token": "two"})
	w.vault.put("team-a", "vault", "token", "hvs.next")
	wantSent(t, w, s, "two")
}

func TestVaultByTheLoginOfTheEndpointsOwnAccount(t *testing.T) {
	t.Parallel()
	v, s, w := vaultfake.New(), newServer(t), newWorld(t)
	t.Cleanup(v.Close)
	v.AllowLogin(vaultfake.Login{
		Role: "apis", Lease: time.Hour, Review: func(jwt string) bool { return strings.HasPrefix(jwt, "token-of-team-a-reader-") },
	})
	v.Put("apis/gitea", map[string]any{"token": "one"})
	w.create(restEndpoint("team-a", "gitea", s.URL, withVault(v.URL), func(s *v1alpha1.EndpointSpec) {
		s.Vault.TokenRef = nil
		s.Vault.Kubernetes = &v1alpha1.VaultKubernetes{Role: "apis", ServiceAccountToken: v1alpha1.ServiceAccountTokenAuth{
			ServiceAccountName: "reader", Audiences: []string{"vault"},
		}}
	}))
	wantSent(t, w, s, "one")
	if asked := w.tokens.requests(); len(asked) != 1 || asked[0].Namespace != "team-a" || asked[0].Audiences[0] != "vault" {
		t.Errorf("asked for %v", asked)
	}
}

func TestAReferenceToVaultThatLeadsNowhere(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(*v1alpha1.EndpointSpec)
		reason string
		says   string
	}{
		"without a Vault": {func(s *v1alpha1.EndpointSpec) { s.Vault = nil }, v1alpha1.ReasonInvalidEndpoint, "spec.auth.bearer.tokenRef.vault: it needs spec.vault"},
		"another key":     {func(s *v1alpha1.EndpointSpec) { s.Auth.Bearer.TokenRef.Vault.Key = "x" }, v1alpha1.ReasonSecretNotFound, `no text under the key "x"`},
		"another path":    {func(s *v1alpha1.EndpointSpec) { s.Auth.Bearer.TokenRef.Vault.Path = "x" }, v1alpha1.ReasonSecretNotFound, "secret/x does not exist"},
		"metadata of a cloud": {
			func(s *v1alpha1.EndpointSpec) { s.Vault.Address = "http://169.254.169.254" }, v1alpha1.ReasonAddressNotAllowed, "spec.vault: address: ",
		},
		"a bad bundle": {func(s *v1alpha1.EndpointSpec) { s.Vault.CABundle = "x" }, v1alpha1.ReasonInvalidEndpoint, "caBundle"},
		"no Secret":    {func(s *v1alpha1.EndpointSpec) { s.Vault.TokenRef.Name = "none" }, v1alpha1.ReasonSecretNotFound, "spec.vault.tokenRef: Secret team-a/none"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, _, _, _ := vaultWorld(t)
			w.edit("team-a", "gitea", func(e *v1alpha1.RestEndpoint) { tc.change(&e.Spec) })
			_, err := w.registry.Resolve(t.Context(), gitea)
			if reason, _ := endpoints.Reason(err); reason != tc.reason || err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("reason %s: %v", reason, err)
			}
		})
	}
}
