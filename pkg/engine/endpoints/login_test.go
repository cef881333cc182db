package endpoints_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/endpoints"
	"github.com/restmapping/operator/pkg/rest"
)

const planted = "canary-value"

// accounts is a server with a token endpoint and a login, for one password at a time, and an API behind them.
type accounts struct {
	*httptest.Server
	password atomic.Value
	logins   atomic.Int32
}

func newAccounts(t *testing.T, password string) *accounts {
	t.Helper()
	a := &accounts{}
	a.password.Store(password)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, r *http.Request) {
		a.logins.Add(1)
		w.Header().Set("Content-Type", "application/json")
		given := r.FormValue("client_secret") + r.FormValue("password")
		if given != a.password.Load() {
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprintf(w, `{"error":"invalid_client","error_description":%q,"message":%q}`, given, given)
			return
		}
		_, _ = fmt.Fprintf(w, `{"access_token":"token-of-%s"}`, given)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer token-of-"+fmt.Sprint(a.password.Load()) {
			w.WriteHeader(http.StatusUnauthorized)
		}
	})
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	return a
}

func secretKey(name, key string) v1alpha1.SecretKeyReference {
	return v1alpha1.SecretKeyReference{Name: name, Key: key}
}

// byLogin are the credentials that log in, each with the Secret "account" and its key "password".
func byLogin(url string) map[string]*v1alpha1.Auth {
	ref := secretKey("account", "password")
	return map[string]*v1alpha1.Auth{
		"oauth2": {OAuth2: &v1alpha1.OAuth2Auth{
			TokenURL: url + "/login", ClientID: "me", ClientSecretRef: ref, AuthStyle: v1alpha1.OAuth2StyleInParams,
		}},
		"session": {Session: &v1alpha1.SessionAuth{
			Login: v1alpha1.SessionLogin{
				Path: "/login", Encoding: v1alpha1.SessionForm, Fields: []v1alpha1.SessionField{{Name: "password", ValueRef: &ref}},
			},
			Token: v1alpha1.SessionToken{
				From:   v1alpha1.SessionSource{Body: "access_token"},
				Header: &v1alpha1.SessionHeader{Name: "Authorization", Prefix: "Bearer "},
			},
		}},
	}
}

func TestARotatedPasswordFailsNoPassAfterwards(t *testing.T) {
	t.Parallel()
	for name := range byLogin("") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, w := newAccounts(t, "one"), newWorld(t)
			w.vault.put("team-a", "account", "password", "one")
			w.create(restEndpoint("team-a", "gitea", server.URL, func(s *v1alpha1.EndpointSpec) { s.Auth = byLogin(server.URL)[name] }))
			for password := range 5 {
				server.password.Store(fmt.Sprint(password))
				w.vault.put("team-a", "account", "password", fmt.Sprint(password))
				var passes sync.WaitGroup
				for range 20 {
					passes.Go(func() {
						endpoint, err := w.registry.Resolve(t.Context(), gitea)
						if err != nil {
							t.Error(err)
							return
						}
						exchange := endpoint.Do(t.Context(), rest.Request{Operation: rest.Create, Method: http.MethodPost, Route: "/x", Path: "/x"})
						if exchange.Failure != nil || exchange.Response.Status != http.StatusOK {
							t.Errorf("password %d: %+v", password, exchange)
						}
					})
				}
				passes.Wait()
			}
			if n := server.logins.Load(); n != 5 {
				t.Errorf("%d logins for 5 passwords", n)
			}
		})
	}
}

func TestALoginThatIsRefusedIsUnauthorized(t *testing.T) {
	t.Parallel()
	for name := range byLogin("") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, w := newAccounts(t, "one"), newWorld(t)
			w.vault.put("team-a", "account", "password", planted)
			w.create(restEndpoint("team-a", "gitea", server.URL, withProbe("/me"), func(s *v1alpha1.EndpointSpec) { s.Auth = byLogin(server.URL)[name] }))
			_, err := w.resolve(gitea).Probe(t.Context())
			reason, stalled := endpoints.Reason(err)
			if reason != v1alpha1.ReasonUnauthorized || stalled {
				t.Errorf("reason %s, stalled %v: %v", reason, stalled, err)
			}
			if err == nil || strings.Contains(err.Error(), planted) || !strings.Contains(err.Error(), "[redacted]") {
				t.Errorf("error %v", err)
			}
			server.Close()
			w.vault.put("team-a", "account", "password", "two")
			_, err = w.resolve(gitea).Probe(t.Context())
			if reason, _ := endpoints.Reason(err); reason != v1alpha1.ReasonEndpointUnreachable {
				t.Errorf("reason %s of a login server that is down: %v", reason, err)
			}
		})
	}
}

func TestWhatALoginGaveIsTakenOutOfTexts(t *testing.T) {
	t.Parallel()
	for name := range byLogin("") {
		server, w := newAccounts(t, planted), newWorld(t)
		w.vault.put("team-a", "account", "password", planted)
		w.create(restEndpoint("team-a", "gitea", server.URL, func(s *v1alpha1.EndpointSpec) { s.Auth = byLogin(server.URL)[name] }))
		endpoint := w.resolve(gitea)
		mustDo(t, endpoint, "/x")
		if got := endpoint.Redact("you sent token-of-" + planted); strings.Contains(got, planted) || strings.Contains(got, "token-of") {
			t.Errorf("%s: left %s", name, got)
		}
	}
}

// certified gives a PEM pair signed by itself.
func certified(t *testing.T, name string) (certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, data []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
	}
	return block("CERTIFICATE", der), block("PRIVATE KEY", encoded)
}

func TestARenewedClientCertificateIsUsedAtOnce(t *testing.T) {
	t.Parallel()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.TLS.PeerCertificates[0].Subject.CommonName)
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MinVersion: tls.VersionTLS13}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	w := newWorld(t)
	w.create(restEndpoint("team-a", "gitea", server.URL, func(s *v1alpha1.EndpointSpec) {
		s.TLS = &v1alpha1.TLS{
			InsecureSkipVerify: true,
			ClientCertificate:  &v1alpha1.ClientCertificate{SecretRef: v1alpha1.SecretReference{Name: "mine"}},
		}
	}))
	for _, name := range []string{"first", "second"} {
		certificate, key := certified(t, name)
		w.vault.put("team-a", "mine", "tls.crt", certificate)
		w.vault.put("team-a", "mine", "tls.key", key)
		exchange := w.resolve(gitea).Do(t.Context(), read("/x"))
		if exchange.Failure != nil || exchange.Response.Body != name {
			t.Errorf("with %s: %+v", name, exchange)
		}
	}
	w.vault.put("team-a", "mine", "tls.key", planted)
	_, err := w.registry.Resolve(t.Context(), gitea)
	invalid := (*endpoints.InvalidEndpointError)(nil)
	if !errors.As(err, &invalid) || invalid.Field != "spec.tls.clientCertificate" || strings.Contains(err.Error(), planted) {
		t.Errorf("error %v", err)
	}
}

func TestAProxysPasswordComesFromItsSecret(t *testing.T) {
	t.Parallel()
	seen := make(chan string, 1)
	proxy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		user, password, _ := (&http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}).BasicAuth()
		seen <- r.Host + " " + user + " " + password
	}))
	t.Cleanup(proxy.Close)
	w := newWorld(t)
	w.vault.put("team-a", "proxy", "password", "open sesame")
	w.create(restEndpoint("team-a", "gitea", "http://far.invalid", func(s *v1alpha1.EndpointSpec) {
		s.Proxy = &v1alpha1.Proxy{URL: proxy.URL, Basic: &v1alpha1.BasicAuth{Username: "me", PasswordRef: secretKey("proxy", "password")}}
	}))
	mustDo(t, w.resolve(gitea), "/x")
	if got := <-seen; got != "far.invalid me open sesame" {
		t.Errorf("at the proxy: %s", got)
	}
}
