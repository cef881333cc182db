package vault_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/internal/vaultfake"
	"github.com/restmapping/operator/pkg/engine/vault"
	"github.com/restmapping/operator/pkg/httpapi"
)

const canary = "canary-value"

func newVault(t *testing.T) *vaultfake.Server {
	t.Helper()
	s := vaultfake.New()
	t.Cleanup(s.Close)
	return s
}

func config(t *testing.T, address string) vault.Config {
	t.Helper()
	transport, err := httpapi.NewTransport(httpapi.Config{
		BaseURL: address, Addresses: httpapi.Addresses{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return vault.Config{Address: address, Mount: "secret", Transport: transport, Token: httpapi.NewSecret(canary), Now: time.Now}
}

func client(t *testing.T, c vault.Config) *vault.Client {
	t.Helper()
	made, err := vault.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func texts(values map[string]httpapi.Secret) map[string]string {
	out := map[string]string{}
	for key, value := range values {
		out[key] = value.Reveal()
	}
	return out
}

func TestTheNewestVersionIsRead(t *testing.T) {
	t.Parallel()
	s := newVault(t)
	s.In("team")
	s.Allow(canary, true)
	s.Put("apis/gitea", map[string]any{"token": "old"})
	s.Put("apis/gitea", map[string]any{"token": "new", "port": 8080, "nested": map[string]any{"a": "b"}, "on": true})
	c := config(t, s.URL)
	c.Namespace = "team"
	got, err := client(t, c).Read(t.Context(), "apis/gitea")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"token": "new", "port": "8080"}, texts(got)); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

// What is set for other programs must not decide as whom an endpoint speaks, or where.
func TestTheEnvironmentHasNoSay(t *testing.T) {
	s := newVault(t)
	s.Allow(canary, true)
	s.Allow("of-the-environment", true)
	s.Put("x", map[string]any{"k": "v"})
	for name, value := range map[string]string{
		"VAULT_ADDR": "http://127.0.0.1:1", "VAULT_AGENT_ADDR": "http://127.0.0.1:1", "VAULT_TOKEN": "of-the-environment",
		"VAULT_NAMESPACE": "other", "VAULT_HEADERS": `{"X-Other":"1"}`,
	} {
		t.Setenv(name, value)
	}
	if _, err := client(t, config(t, s.URL)).Read(t.Context(), "x"); err != nil {
		t.Error(err)
	}
	anonymous := config(t, s.URL)
	anonymous.Token = httpapi.Secret{}
	if _, err := client(t, anonymous).Read(t.Context(), "x"); !errors.As(err, new(*vault.DeniedError)) {
		t.Errorf("without a token: %v", err)
	}
}

func TestWhatIsWrongIsSaidWithoutTheToken(t *testing.T) {
	t.Parallel()
	serve := func(status int, body string, header ...string) func(*testing.T) string {
		return func(t *testing.T) string {
			t.Helper()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if len(header) == 2 {
					w.Header().Set(header[0], header[1])
				}
				w.WriteHeader(status)
				_, _ = w.Write([]byte(strings.ReplaceAll(body, "TOKEN", r.Header.Get("X-Vault-Token"))))
			}))
			t.Cleanup(s.Close)
			return s.URL
		}
	}
	fake := func(change func(*vaultfake.Server)) func(*testing.T) string {
		return func(t *testing.T) string {
			t.Helper()
			s := newVault(t)
			s.Allow(canary, true)
			change(s)
			return s.URL
		}
	}
	elsewhere := make(chan string, 1)
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { elsewhere <- r.Header.Get("X-Vault-Token") }))
	t.Cleanup(thief.Close)
	notFound := func(err error) bool { return errors.As(err, new(*vault.NotFoundError)) }
	denied := func(err error) bool { return errors.As(err, new(*vault.DeniedError)) }
	unavailable := func(err error) bool { return errors.As(err, new(*vault.UnavailableError)) }
	cases := map[string]struct {
		address func(*testing.T) string
		is      func(error) bool
		says    string
	}{
		"no such secret":       {fake(func(*vaultfake.Server) {}), notFound, "secret/x does not exist"},
		"a deleted version":    {fake(func(s *vaultfake.Server) { s.Put("x", map[string]any{"k": "v"}); s.Put("x", nil) }), notFound, "is deleted"},
		"a token that ended":   {fake(func(s *vaultfake.Server) { s.Revoke() }), denied, "403 (permission denied): check spec.vault"},
		"sealed":               {fake(func(s *vaultfake.Server) { s.Seal(true) }), unavailable, "503 (Vault is sealed)"},
		"down":                 {func(*testing.T) string { return "http://127.0.0.1:1" }, unavailable, "connection refused"},
		"another server":       {serve(200, "<html>"), unavailable, "is spec.vault.address that of a Vault?"},
		"another one's error":  {serve(500, "<html>TOKEN"), unavailable, "an answer that is not Vault's"},
		"an error with secret": {serve(500, `{"errors":["bad TOKEN"]}`), unavailable, "bad [redacted]"},
		"a redirect":           {serve(307, "", "Location", thief.URL), unavailable, "a redirect, which is not followed"},
		"an endless answer":    {serve(200, `{"data":{"data":{"k":"`+strings.Repeat("x", 5<<20)+`"}}}`), unavailable, "no answer that could be read"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := client(t, config(t, tc.address(t))).Read(t.Context(), "x")
			if err == nil || !tc.is(err) || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("got %T %v", err, err)
			}
			if err != nil && strings.Contains(err.Error(), canary) {
				t.Errorf("it shows the token: %v", err)
			}
		})
	}
	t.Cleanup(func() {
		select {
		case token := <-elsewhere:
			t.Errorf("a redirect was followed with token %q", token)
		default:
		}
	})
}

func TestALoginIsKeptAndRenewed(t *testing.T) {
	t.Parallel()
	s := newVault(t)
	s.AllowLogin(vaultfake.Login{Role: "apis", Review: func(jwt string) bool { return jwt == canary }, Lease: time.Hour})
	s.Put("x", map[string]any{"k": "v"})
	var now atomic.Int64
	c := config(t, s.URL)
	c.Token, c.Now = httpapi.Secret{}, func() time.Time { return time.Unix(now.Load(), 0) }
	c.Login = &vault.KubernetesLogin{Mount: "kubernetes", Role: "apis", JWT: func(context.Context) (httpapi.Token, error) {
		return httpapi.Token{Value: httpapi.NewSecret(canary)}, nil
	}}
	v := client(t, c)
	read := func(want int) {
		t.Helper()
		if _, err := v.Read(t.Context(), "x"); err != nil {
			t.Fatal(err)
		}
		if logins, _ := s.Counts(); logins != want {
			t.Errorf("%d logins, want %d", logins, want)
		}
	}
	read(1)
	read(1)
	now.Add(int64((59 * time.Minute).Seconds()))
	read(2)
	s.Revoke() // before its time
	read(3)
}

func TestALoginThatFails(t *testing.T) {
	t.Parallel()
	noAccount := errors.New("no such account")
	cases := map[string]struct {
		role string
		jwt  error
		is   func(error) bool
		says string
	}{
		"an unknown role":    {"other", nil, func(err error) bool { return errors.As(err, new(*vault.DeniedError)) }, "invalid role name"},
		"an unknown account": {"apis", nil, func(err error) bool { return errors.As(err, new(*vault.DeniedError)) }, "log in at auth/kubernetes/login was answered 403"},
		"no account":         {"apis", noAccount, func(err error) bool { return errors.Is(err, noAccount) }, "no such account"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newVault(t)
			s.AllowLogin(vaultfake.Login{Role: "apis", Review: func(string) bool { return false }, Lease: time.Hour})
			c := config(t, s.URL)
			c.Login = &vault.KubernetesLogin{Mount: "kubernetes", Role: tc.role, JWT: func(context.Context) (httpapi.Token, error) {
				return httpapi.Token{Value: httpapi.NewSecret(canary)}, tc.jwt
			}}
			_, err := client(t, c).Read(t.Context(), "x")
			if err == nil || !tc.is(err) || !strings.Contains(err.Error(), tc.says) || strings.Contains(err.Error(), canary) {
				t.Errorf("got %T %v", err, err)
			}
		})
	}
}
