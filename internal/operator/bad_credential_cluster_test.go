//go:build cluster

package operator_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/restmapping/operator/internal/lab"
	"github.com/restmapping/operator/internal/vaultfake"
)

// trusted is one custom resource with an endpoint that is good at first.
type trusted struct {
	*lab.Kind
	t      *testing.T
	lab    *lab.Lab
	server *guarded
	// hidden is what nobody may see.
	hidden []string
	// spoil breaks something, mend puts it right. Both are set by what made the scene.
	spoil, mend func()
}

// badTrust is something that goes wrong between an endpoint that worked and its server.
type badTrust struct {
	make func(*trusted)
	// reason is that of the endpoint's Ready, thing that of the custom resource's Ready or Synced.
	reason, thing string
	// says must all stand in the endpoint's message, thingSays in the custom resource's.
	says, thingSays []string
	// run is all of it where things go another way.
	run func(*trusted)
}

// secret makes or changes a Secret whose values must not be seen.
func (s *trusted) secret(name, key, value string) {
	s.t.Helper()
	s.hidden = append(s.hidden, value)
	s.Secret(name, key, value)
}

// endpoint makes the endpoint with a probe, so that it tells how it does. Nothing but the fault itself holds requests back.
func (s *trusted) endpoint(baseURL, extra string) {
	s.t.Helper()
	s.Endpoint(baseURL, "  timeout: 2s\n  circuitBreaker: {disabled: true}\n  probe: {path: /things, interval: 1s}\n"+extra)
}

// badCredentials are faults of the credential itself.
func badCredentials() map[string]badTrust {
	unauthorized := func(prepare func(*trusted)) badTrust {
		return badTrust{
			make: prepare, reason: "Unauthorized", thing: "Unauthorized",
			says:      []string{"/server: probe GET /things was answered with status 401", "check spec.auth and the Secrets it names"},
			thingSays: []string{"GET /things/{id}", "401 Unauthorized (check spec.auth of the endpoint and the Secrets it names)", "I do not know"},
		}
	}
	return map[string]badTrust{
		"a wrong password": unauthorized(func(s *trusted) {
			s.secret("login", "password", "right-passw0rd")
			s.server.only(byPassword("right-passw0rd"))
			s.endpoint(s.server.URL, "  auth: {basic: {username: operator, passwordRef: {name: login, key: password}}}")
			s.spoil = func() { s.secret("login", "password", "wr0ng-password") }
			s.mend = func() { s.secret("login", "password", "right-passw0rd") }
		}),
		"an expired token": unauthorized(func(s *trusted) {
			s.secret("token", "value", "first-t0ken")
			s.server.only(byHeader("Authorization", "Bearer first-t0ken"))
			s.endpoint(s.server.URL, "  auth: {bearer: {tokenRef: {name: token, key: value}}}")
			s.spoil = func() { s.server.only(byHeader("Authorization", "Bearer second-t0ken")) }
			s.mend = func() { s.secret("token", "value", "second-t0ken") }
		}),
		"a Secret that is deleted while it is in use": {
			make: func(s *trusted) { byToken(s, func() { s.deleteSecret("token") }) }, reason: "SecretNotFound", thing: "SecretNotFound",
			says:      []string{"/server: spec.auth.bearer.tokenRef: Secret ", "/token does not exist: create it with the label restmapping.dev/allow-read=true"},
			thingSays: []string{"/token does not exist: create it"},
		},
		"a Secret that loses its key": {
			make:   func(s *trusted) { byToken(s, func() { s.deleteSecret("token"); s.Secret("token", "other", "x") }) },
			reason: "SecretNotFound", thing: "SecretNotFound",
			says:      []string{`/token has no key "value": add the key to the Secret, or correct the reference`},
			thingSays: []string{`/token has no key "value"`},
		},
		"a Secret that is closed": {
			make:   func(s *trusted) { byToken(s, func() { s.ClosedSecret("token", "value", "first-t0ken") }) },
			reason: "SecretNotAllowed", thing: "SecretNotAllowed",
			says:      []string{"kubectl label secret -n ", " token restmapping.dev/allow-read=true"},
			thingSays: []string{"kubectl label secret -n "},
		},
	}
}

// byToken has a bearer token of a Secret, which is mended by making it anew.
func byToken(s *trusted, spoil func()) {
	s.secret("token", "value", "first-t0ken")
	s.server.only(byHeader("Authorization", "Bearer first-t0ken"))
	s.endpoint(s.server.URL, "  auth: {bearer: {tokenRef: {name: token, key: value}}}")
	s.spoil = spoil
	s.mend = func() { s.secret("token", "value", "first-t0ken") }
}

func (s *trusted) deleteSecret(name string) {
	s.t.Helper()
	if err := s.lab.Client.Resource(lab.SecretGVR).Namespace(s.Namespace).Delete(s.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// badLogins are faults of those who hand credentials out.
func badLogins() map[string]badTrust {
	login := func(spoil func(*trusted, *authority), mend func(*trusted, *authority), says ...string) badTrust {
		says = append([]string{"the OAuth2 token endpoint at 127.0.0.1:"}, says...)
		return badTrust{
			make: func(s *trusted) {
				a := newAuthority(s.t)
				s.secret("client", "secret", "cl1ent-secret")
				s.hidden = append(s.hidden, "issued-t0ken")
				s.server.only(a.knows)
				s.endpoint(s.server.URL, "  auth: {oauth2: {tokenURL: \"http://"+a.address+"/token?tenant=hidden-tenant\", clientID: operator, clientSecretRef: {name: client, key: secret}}}")
				s.spoil = func() { spoil(s, a); a.revoke() }
				s.mend = func() { mend(s, a) }
			},
			reason: "EndpointUnreachable", thing: "EndpointUnreachable", says: slices.Concat(says, []string{"/server: "}), thingSays: slices.Concat(says, []string{"not sent: "}),
		}
	}
	usual := func(_ *trusted, a *authority) { a.instead(nil) }
	refusing := login(func(_ *trusted, a *authority) {
		a.instead(func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusUnauthorized)
			_, _ = fmt.Fprintf(w, `{"error": "invalid_client", "error_description": %q}`, "unknown "+r.Header.Get("Authorization")+" cl1ent-secret")
			return true
		})
	}, usual, "answered 401 (invalid_client: unknown", "check the client ID and the secret of auth.oauth2")
	refusing.reason = "Unauthorized"
	return map[string]badTrust{
		"a token endpoint that is down": login(func(_ *trusted, a *authority) { a.down() }, func(s *trusted, a *authority) { a.up(s.t) },
			"connection refused: is auth.oauth2.tokenURL right and the server up?"),
		"a token endpoint that is slow": login(func(_ *trusted, a *authority) {
			a.instead(func(_ http.ResponseWriter, r *http.Request) bool {
				_, _ = io.Copy(io.Discard, r.Body) // only then does net/http tell that the client went
				<-r.Context().Done()
				return true
			})
		}, usual, "no answer within 1s: is it up, reachable and quick enough?"),
		"a token endpoint that refuses the client": refusing,
		"a sealed Vault, which has the credential": {
			make: func(s *trusted) {
				vault := vaultfake.New()
				s.t.Cleanup(vault.Close)
				vault.Put("apis/things", map[string]any{"token": "first-t0ken"})
				vault.Allow("vault-t0ken", true)
				s.hidden = append(s.hidden, "first-t0ken", "second-t0ken")
				s.secret("vault", "token", "vault-t0ken")
				s.server.only(byHeader("Authorization", "Bearer first-t0ken"))
				s.endpoint(s.server.URL, "  vault: {address: "+vault.URL+", tokenRef: {name: vault, key: token}, refreshInterval: 10s}\n"+
					"  auth: {bearer: {tokenRef: {vault: {path: apis/things, key: token}}}}")
				// The server takes a new token that Vault has, and Vault is sealed: the old one is shown, and refused.
				s.spoil = func() {
					vault.Put("apis/things", map[string]any{"token": "second-t0ken"})
					vault.Seal(true)
					s.server.only(byHeader("Authorization", "Bearer second-t0ken"))
				}
				s.mend = func() { vault.Seal(false) }
			},
			reason: "VaultUnavailable", thing: "Unauthorized",
			says:      []string{"Vault http://127.0.0.1:", "read secret/apis/things was answered 503 (Vault is sealed)"},
			thingSays: []string{"GET /things/{id}", "401 Unauthorized"},
		},
	}
}

// badConnections are faults on the way to the server.
func badConnections() map[string]badTrust {
	secure := func(says string, spoil func(*trusted, *ca, *atomic.Pointer[tls.Certificate]), mend func(*trusted, *ca)) badTrust {
		return badTrust{
			make: func(s *trusted) {
				authority, shown := newCA(s.t, nil, false), &atomic.Pointer[tls.Certificate]{}
				good := authority.issue("127.0.0.1", false)
				shown.Store(&good)
				s.server.certified(nil, func() tls.Certificate { return *shown.Load() })
				s.endpoint(s.server.URL, fmt.Sprintf("  tls: {caBundle: %q}", authority.bundle))
				s.spoil = func() { spoil(s, authority, shown); s.server.CloseClientConnections() }
				s.mend = func() {
					shown.Store(&good)
					if mend != nil {
						mend(s, authority)
					}
				}
			},
			reason: "EndpointUnreachable", thing: "EndpointUnreachable",
			says:      []string{"/server: probe: GET /things: not sent: no connection to 127.0.0.1:", says},
			thingSays: []string{"GET /things/{id}: not sent: no connection to 127.0.0.1:", says},
		}
	}
	proxied := func(status int, says ...string) badTrust {
		says = append([]string{"not sent: no connection to 127.0.0.1:", "the proxy 127.0.0.1:"}, says...)
		return badTrust{
			make: func(s *trusted) {
				way, authority := newTunnel(s.t), newCA(s.t, nil, false)
				pair := authority.issue("127.0.0.1", false)
				s.server.certified(nil, func() tls.Certificate { return pair })
				s.secret("proxy", "password", "pr0xy-password")
				s.endpoint(s.server.URL, fmt.Sprintf("  tls: {caBundle: %q}\n  proxy: {url: %s, basic: {username: me, passwordRef: {name: proxy, key: password}}}", authority.bundle, way.URL))
				s.spoil = func() { way.refuseWith(status); s.server.CloseClientConnections() }
				s.mend = func() { way.refuseWith(0) }
			},
			reason: "EndpointUnreachable", thing: "EndpointUnreachable", says: slices.Concat(says, []string{"/server: "}), thingSays: slices.Concat(says, []string{"GET /things/{id}"}),
		}
	}
	return map[string]badTrust{
		"a certificate for another host": secure("the server's certificate is for elsewhere.example, not 127.0.0.1: set tls.serverName or fix baseURL",
			func(_ *trusted, authority *ca, shown *atomic.Pointer[tls.Certificate]) {
				pair := authority.issue("elsewhere.example", false)
				shown.Store(&pair)
			}, nil),
		"a certificate that has expired": secure("and not now: renew it there", func(_ *trusted, authority *ca, shown *atomic.Pointer[tls.Certificate]) {
			pair := authority.issue("127.0.0.1", true)
			shown.Store(&pair)
		}, nil),
		"an authority that has expired": secure(`the certificate of the authority "lab authority" behind the server's is good from `,
			func(s *trusted, authority *ca, _ *atomic.Pointer[tls.Certificate]) {
				s.patchEndpoint(fmt.Sprintf(`{"spec":{"tls":{"caBundle":%q}}}`, newCA(s.t, authority.key, true).bundle))
			}, func(s *trusted, authority *ca) {
				s.patchEndpoint(fmt.Sprintf(`{"spec":{"tls":{"caBundle":%q}}}`, authority.bundle))
			}),
		"an authority that nobody knows": secure("the server's certificate is signed by an unknown authority: set tls.caBundle",
			func(s *trusted, _ *ca, shown *atomic.Pointer[tls.Certificate]) {
				pair := newCA(s.t, nil, false).issue("127.0.0.1", false)
				shown.Store(&pair)
			}, nil),
		"a client certificate that has expired": expiredClientCertificate(),
		"a proxy that wants another password":   proxied(http.StatusProxyAuthRequired, "answered 407: it wants to know who asks: check proxy.basic"),
		"a proxy that does not lead there":      proxied(http.StatusForbidden, "answered 403: may it lead to that host and port?"),
	}
}

func expiredClientCertificate() badTrust {
	return badTrust{
		make: func(s *trusted) {
			authority := newCA(s.t, nil, false)
			pair := authority.issue("127.0.0.1", false)
			s.server.certified(func(c *tls.Config) {
				c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, authority.pool()
			}, func() tls.Certificate { return pair })
			show := func(expired bool) {
				certificate, key := pemOf(s.t, authority.issue("operator", expired))
				s.hidden = append(s.hidden, strings.Split(key, "\n")[1])
				s.lab.Apply("apiVersion: v1\nkind: Secret\nmetadata: {name: pair, namespace: %s, labels: {restmapping.dev/allow-read: \"true\"}}\ntype: kubernetes.io/tls\nstringData: {tls.crt: %q, tls.key: %q}\n",
					s.Namespace, certificate, key)
			}
			show(false)
			s.endpoint(s.server.URL, fmt.Sprintf("  tls: {caBundle: %q, clientCertificate: {secretRef: {name: pair}}}", authority.bundle))
			s.spoil, s.mend = func() { show(true) }, func() { show(false) }
		},
		reason: "EndpointUnreachable", thing: "EndpointUnreachable",
		says:      []string{"/server: probe: GET /things: not sent: ", "the server refused the client certificate: it expired at ", "renew it in the Secret of tls.clientCertificate"},
		thingSays: []string{"GET /things/{id}: not sent: ", "renew it in the Secret of tls.clientCertificate"},
	}
}

func (s *trusted) patchEndpoint(patch string) {
	s.t.Helper()
	_, err := s.lab.Client.Resource(lab.EndpointGVR).Namespace(s.Namespace).Patch(s.t.Context(), "server", "application/merge-patch+json", []byte(patch), metav1.PatchOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestWhatIsTrustedGoesBad: an endpoint that worked goes bad in each of these ways while its object is being changed. It
// says what, where and what to do, at the endpoint and at the custom resource; nothing secret is seen anywhere; nothing
// outside is lost or doubled; and it goes on by itself when the fault is mended.
func TestWhatIsTrustedGoesBad(t *testing.T) {
	l := lab.New(t)
	for _, table := range []map[string]badTrust{badCredentials(), badLogins(), badConnections(), badEndpoints()} {
		for name, bad := range table {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if bad.run == nil {
					goBad(t, l.In(t), bad)
					return
				}
				bad.run(newTrusted(t, l.In(t)))
			})
		}
	}
}

func newTrusted(t *testing.T, l *lab.Lab) *trusted {
	t.Helper()
	return &trusted{Kind: l.NewKind(""), t: t, lab: l, server: newGuarded(t, upsertThings)}
}

// start makes the endpoint, the mapping and one object.
func (s *trusted) start(prepare func(*trusted)) {
	s.t.Helper()
	prepare(s)
	s.Mapping(upsertMapping)
	s.Create("one", "{size: 3}")
	s.Ready("one")
}

func goBad(t *testing.T, l *lab.Lab, bad badTrust) {
	t.Helper()
	s := newTrusted(t, l)
	s.start(bad.make)
	s.EndpointCondition("Ready", "True", "ProbeSucceeded")
	s.spoil()
	s.Patch("one", `{"spec":{"size":4}}`)
	said := s.told("one", bad.thing, bad.thingSays)
	endpoint := s.EndpointCondition("Ready", "False", bad.reason)
	for _, want := range bad.says {
		if !strings.Contains(endpoint, want) {
			t.Errorf("the endpoint's message lacks %q: %s", want, endpoint)
		}
	}
	s.nothingShown()
	if got, ok := s.server.fake.Get("/things/one"); !ok || lab.Int(got.Fields["size"]) != 3 {
		t.Errorf("outside it became %v while nobody could know", got.Fields)
	}
	s.mend()
	s.lab.Eventually("it goes on when it is mended", func() string {
		if got, _ := s.server.fake.Get("/things/one"); lab.Int(got.Fields["size"]) != 4 {
			return fmt.Sprint(got.Fields, s.Status("one"))
		}
		return ""
	})
	s.Ready("one")
	s.EndpointCondition("Ready", "True", "ProbeSucceeded")
	if live, twice := s.server.fake.Live("/things"), s.server.fake.Duplicates(); len(live) != 1 || len(twice) != 0 {
		t.Errorf("outside there are %v, doubled %v", live, twice)
	}
	s.nothingShown()
	s.gone("one")
	t.Logf("endpoint %s: %s\ncustom resource %s: %s", bad.reason, endpoint, bad.thing, said)
}

// gone deletes custom resources, after which nothing of theirs may be left outside.
func (s *trusted) gone(names ...string) {
	s.t.Helper()
	for _, name := range names {
		s.Delete(name)
	}
	s.Gone(names...)
	for _, name := range names {
		if got, ok := s.server.fake.Get("/things/" + name); ok {
			s.t.Errorf("left outside: %v", got)
		}
	}
}

// told waits until Ready or Synced says so at the newest generation.
func (s *trusted) told(name, reason string, words []string) (message string) {
	s.t.Helper()
	s.lab.Eventually(name+" says "+reason, func() string {
		obj := s.Get(name)
		list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
		for _, item := range list {
			c, _ := item.(map[string]any)
			message, _ = c["message"].(string)
			if c["type"] != "Ready" && c["type"] != "Synced" || c["reason"] != reason || c["observedGeneration"] != obj.GetGeneration() {
				continue
			}
			if lacks := lacking(message, words); lacks != "" {
				return fmt.Sprintf("the message lacks %q: %s", lacks, message)
			}
			return ""
		}
		return s.Status(name)
	})
	s.Check(name)
	return message
}

func lacking(text string, words []string) string {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return word
		}
	}
	return ""
}

// nothingShown looks for what is hidden wherever the operator tells something of this namespace.
func (s *trusted) nothingShown() {
	s.t.Helper()
	places := map[string]string{"the log": s.lab.Log()}
	for name, gvr := range map[string]schema.GroupVersionResource{
		"the custom resources": s.GVR, "the endpoints": lab.EndpointGVR, "the events": {Group: "events.k8s.io", Version: "v1", Resource: "events"},
	} {
		list, err := s.lab.Client.Resource(gvr).Namespace(s.Namespace).List(s.t.Context(), metav1.ListOptions{})
		if err != nil {
			s.t.Fatal(err)
		}
		text, err := list.MarshalJSON()
		if err != nil {
			s.t.Fatal(err)
		}
		places[name] = string(text)
	}
	// The query of a token endpoint stands in the endpoint's spec, where its author put it, and nowhere else.
	places["the endpoints"] = strings.ReplaceAll(places["the endpoints"], "/token?tenant=hidden-tenant", "")
	for place, text := range places {
		for _, secret := range append(s.hidden, "hidden-tenant") {
			if strings.Contains(text, secret) {
				s.t.Errorf("%s show %q", place, secret)
			}
		}
	}
}
