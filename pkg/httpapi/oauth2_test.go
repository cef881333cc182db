package httpapi

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/pkg/rest"
)

// issuer is an OAuth2 server with a token endpoint, and an API that takes its tokens.
type issuer struct {
	*httptest.Server
	mu      sync.Mutex
	issued  int
	asked   []url.Values
	revoked map[string]bool
	calls   []string
	// reply, when set, answers at the token endpoint.
	reply http.HandlerFunc
	lasts int
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	s := &issuer{revoked: map[string]bool{}, lasts: 3600}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("/api/", s.api)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func (s *issuer) token(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	reply := s.reply
	s.mu.Unlock()
	if err := r.ParseForm(); err != nil {
		http.Error(w, "bad form", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.asked = append(s.asked, r.PostForm)
	s.mu.Unlock()
	if reply != nil {
		reply(w, r)
		return
	}
	id, secret, _ := r.BasicAuth()
	if id == "" {
		id, secret = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	}
	w.Header().Set("Content-Type", "application/json")
	if id != "me" || secret != "s%C3%A4cret" && secret != "säcret" {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = fmt.Fprintf(w, `{"error":"invalid_client","error_description":"%s is not the secret of %s"}`, secret, id)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.issued++
	_, _ = fmt.Fprintf(w, `{"access_token":"token-%d","token_type":"bearer","expires_in":%d}`, s.issued, s.lasts)
}

func (s *issuer) api(w http.ResponseWriter, r *http.Request) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, r.Method+" "+token)
	if token == "" || s.revoked[token] {
		w.WriteHeader(http.StatusUnauthorized)
	}
}

func (s *issuer) revoke(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked[token] = true
}

func (s *issuer) answer(reply http.HandlerFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reply = reply
}

// seen gives what arrived since it was last asked.
func (s *issuer) seen() (asked []url.Values, calls []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked, calls = s.asked, s.calls
	s.asked, s.calls = nil, nil
	return asked, calls
}

func (s *issuer) config() Config {
	return Config{BaseURL: s.URL + "/api", Credential: Credential{OAuth2: &OAuth2{
		TokenURL: s.URL + "/token", ClientID: "me", ClientSecret: NewSecret("säcret"), Style: StyleInHeader,
	}}}
}

// movedClock is the real one with an offset, because a token's life is counted in real time.
type movedClock struct{ offset atomic.Int64 }

func (c *movedClock) now() time.Time          { return time.Now().Add(time.Duration(c.offset.Load())) }
func (c *movedClock) forward(d time.Duration) { c.offset.Add(int64(d)) }

func wantCalls(t *testing.T, s *issuer, tokens int, want ...string) {
	t.Helper()
	asked, calls := s.seen()
	if len(asked) != tokens {
		t.Errorf("%d requests for a token, want %d", len(asked), tokens)
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestATokenIsFetchedOnceAndKept(t *testing.T) {
	t.Parallel()
	s := newIssuer(t)
	config := s.config()
	config.Credential.OAuth2.Scopes = []string{"read", "write"}
	config.Credential.OAuth2.Audience = "https://api.example.com"
	config.Credential.OAuth2.Parameters = []rest.Parameter{{Name: "resource", Value: "a b"}}
	client := connect(t, config)
	for range 3 {
		wantStatus(t, client.Do(t.Context(), get("/x")), 200)
	}
	asked, calls := s.seen()
	want := []url.Values{{
		"grant_type": {"client_credentials"}, "scope": {"read write"},
		"audience": {"https://api.example.com"}, "resource": {"a b"},
	}}
	if diff := cmp.Diff(want, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"GET token-1", "GET token-1", "GET token-1"}, calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestTheStylesOfClientAuthentication(t *testing.T) {
	t.Parallel()
	for style, want := range map[AuthStyle]struct{ id, requests int }{
		StyleInHeader: {0, 1}, StyleInParams: {1, 1}, StyleAuto: {0, 1}, "": {0, 1},
	} {
		s := newIssuer(t)
		config := s.config()
		config.Credential.OAuth2.Style = style
		wantStatus(t, connect(t, config).Do(t.Context(), get("/x")), 200)
		if asked, _ := s.seen(); len(asked) != want.requests || len(asked[0]["client_id"]) != want.id {
			t.Errorf("style %q: %d requests, parameters %v", style, len(asked), asked[0])
		}
	}
	// A server that takes parameters alone is found out once.
	s := newIssuer(t)
	config, clock := s.config(), &movedClock{}
	config.Credential.OAuth2.Style = StyleAuto
	s.answer(func(w http.ResponseWriter, r *http.Request) {
		if r.PostForm.Get("client_secret") == "" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		answer(200, "application/json", `{"access_token":"t","expires_in":60}`)(w, r)
	})
	client := connect(t, config, WithClock(clock.now))
	wantStatus(t, client.Do(t.Context(), get("/x")), 200)
	wantCalls(t, s, 2, "GET t")
	clock.forward(time.Hour)
	wantStatus(t, client.Do(t.Context(), get("/x")), 200)
	wantCalls(t, s, 1, "GET t")
}

func TestATokenIsReplacedBeforeItEnds(t *testing.T) {
	t.Parallel()
	s, clock := newIssuer(t), &movedClock{}
	client := connect(t, s.config(), WithClock(clock.now))
	do := func() { wantStatus(t, client.Do(t.Context(), get("/x")), 200) }
	do()
	clock.forward(time.Hour - 2*refreshAhead)
	do()
	wantCalls(t, s, 1, "GET token-1", "GET token-1")
	clock.forward(3 * refreshAhead / 2)
	do()
	wantCalls(t, s, 1, "GET token-2")
}

func TestATokenThatIsStillGoodServesWhileTheEndpointIsAway(t *testing.T) {
	t.Parallel()
	s, clock := newIssuer(t), &movedClock{}
	client := connect(t, s.config(), WithClock(clock.now))
	wantStatus(t, client.Do(t.Context(), get("/x")), 200)
	s.answer(answer(503, "text/html", "<html>"))
	clock.forward(time.Hour - refreshAhead/2)
	wantStatus(t, client.Do(t.Context(), get("/x")), 200)
	wantStatus(t, client.Do(t.Context(), get("/x")), 200)
	wantCalls(t, s, 2, "GET token-1", "GET token-1", "GET token-1") // one try to renew it, not one a request
	clock.forward(refreshAhead)
	wantFailure(t, client.Do(t.Context(), get("/x")), rest.NotSent, "answered 503")
	s.answer(nil)
	clock.forward(failureHolds)
	wantStatus(t, client.Do(t.Context(), get("/x")), 200)
}

func TestARefusedTokenIsReplaced(t *testing.T) {
	t.Parallel()
	s, clock := newIssuer(t), &movedClock{}
	client := connect(t, s.config(), WithClock(clock.now))
	wantStatus(t, client.Do(t.Context(), get("/x")), 200)
	s.revoke("token-1")
	wantStatus(t, client.Do(t.Context(), get("/x")), 200)
	wantCalls(t, s, 2, "GET token-1", "GET token-1", "GET token-2")

	// A write is sent once: its 401 is a fact, and the next request has a new token.
	s.revoke("token-2")
	wantStatus(t, client.Do(t.Context(), write(http.MethodPost, "/x", "{}")), 401)
	wantCalls(t, s, 0, "POST token-2")
	wantStatus(t, client.Do(t.Context(), write(http.MethodPost, "/x", "{}")), 200)
	wantCalls(t, s, 1, "POST token-3")
}

func TestAServerThatRefusesEveryTokenMakesFewLogins(t *testing.T) {
	t.Parallel()
	s, clock := newIssuer(t), &movedClock{}
	for i := range 100 {
		s.revoke(fmt.Sprint("token-", i))
	}
	client := connect(t, s.config(), WithClock(clock.now))
	for range 20 {
		wantStatus(t, client.Do(t.Context(), get("/x")), 401)
	}
	if asked, calls := s.seen(); len(asked) != 1 || len(calls) != 20 {
		t.Errorf("%d logins for %d requests", len(asked), len(calls))
	}
	clock.forward(freshHolds)
	wantStatus(t, client.Do(t.Context(), get("/x")), 401)
	if asked, calls := s.seen(); len(asked) != 1 || len(calls) != 2 {
		t.Errorf("%d logins and %d requests later", len(asked), len(calls))
	}
}

func TestManyRequestsMakeOneLogin(t *testing.T) {
	t.Parallel()
	s := newIssuer(t)
	config := s.config()
	config.InFlight = 40
	client := connect(t, config)
	round := func() {
		var group sync.WaitGroup
		for range 40 {
			group.Go(func() {
				if exchange := client.Do(t.Context(), get("/x")); exchange.Failure != nil || exchange.Response.Status != 200 {
					t.Errorf("%+v", exchange)
				}
			})
		}
		group.Wait()
	}
	round()
	s.revoke("token-1")
	round()
	if asked, _ := s.seen(); len(asked) != 2 {
		t.Errorf("%d logins for two tokens", len(asked))
	}
}

func TestASlowTokenEndpointHoldsNobodyBeyondTheBound(t *testing.T) {
	t.Parallel()
	s := newIssuer(t)
	s.answer(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	config := s.config()
	config.Timeout, config.InFlight = 400*time.Millisecond, 40
	client := connect(t, config)
	var group sync.WaitGroup
	for range 40 {
		group.Go(func() {
			exchange := client.Do(t.Context(), write(http.MethodPost, "/x", "{}"))
			wantFailure(t, exchange, rest.NotSent, "POST /things: not sent: the OAuth2 token endpoint at 127.0.0.1:", "no answer within 200ms")
		})
	}
	group.Wait()
	wantCalls(t, s, 1)
}

func TestALoginThatIsGivenUpFailsNobodyElse(t *testing.T) {
	t.Parallel()
	s := newIssuer(t)
	arrived := make(chan struct{}, 1)
	s.answer(func(_ http.ResponseWriter, r *http.Request) { arrived <- struct{}{}; <-r.Context().Done() })
	client := connect(t, s.config())
	ctx, cancel := context.WithCancel(t.Context())
	first, second := make(chan rest.Exchange, 1), make(chan rest.Exchange, 1)
	go func() { first <- client.Do(ctx, get("/x")) }()
	<-arrived
	go func() { second <- client.Do(t.Context(), get("/x")) }()
	s.answer(nil)
	cancel()
	wantFailure(t, <-first, rest.NotSent)
	wantStatus(t, <-second, 200)
}

func TestWhatATokenEndpointCanDoWrong(t *testing.T) {
	t.Parallel()
	leaky := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, secret, _ := r.BasicAuth()
			plain, _ := url.QueryUnescape(secret)
			body, _ := json.Marshal(map[string]string{
				"error": "invalid_client", "error_description": "no: " + secret + " " + plain + " " + r.Header.Get("Authorization") + "\r\n",
			})
			answer(status, "application/json", string(body))(w, r)
		}
	}
	cases := map[string]struct {
		reply   http.HandlerFunc
		refused bool
		say     string
	}{
		"refuses and repeats the secret": {leaky(401), true, "answered 401 (invalid_client: no: [redacted] [redacted] Basic [redacted]): check the client ID and the secret of auth.oauth2"},
		"refuses with 200":               {leaky(200), false, "answered 200 (invalid_client: "},
		"an unknown scope":               {answer(400, "application/json", `{"error":"invalid_scope"}`), true, "answered 400 (invalid_scope): check auth.oauth2.scopes"},
		"a page for people":              {answer(200, "text/html; charset=utf-8", "<html>"+canary), false, "answered 200 with text/html: it gave no access_token"},
		"a page with an error":           {answer(400, "text/html", canary), true, "answered 400 with text/html: check the client ID"},
		"not found":                      {answer(404, "text/plain", canary), true, "answered 404 with text/plain: is auth.oauth2.tokenURL right?"},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/token2?"+canary, http.StatusTemporaryRedirect)
		}, false, "a redirect, which is not followed"},
		"an overload":               {answer(429, "", ""), false, "answered 429: it is asked too often"},
		"a defect":                  {answer(500, "application/json", canary), false, "answered 500: it is tried again"},
		"JSON that is cut":          {answer(200, "application/json", `{"access_token":"`+canary), false, "it gave no access_token"},
		"no token":                  {answer(200, "application/json", `{}`), false, "it gave no access_token"},
		"a token with a line break": {answer(200, "application/json", `{"access_token":"`+canary+`\r\nX: y"}`), false, "it gave a token with a line break"},
		"a token without end":       {answer(200, "application/json", `{"access_token":"`+strings.Repeat("x", 2<<20)), false, "it gave no access_token"},
		"a very long token":         {answer(200, "application/json", `{"access_token":"`+strings.Repeat("x", 40<<10)+`"}`), false, "more than 32 KiB"},
		"a dropped connection":      {func(w http.ResponseWriter, _ *http.Request) { drop(t, w, true) }, false, "connection"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newIssuer(t)
			s.answer(tc.reply)
			config := s.config()
			config.Credential.OAuth2.ClientSecret = NewSecret(canary + "+ä")
			config.Credential.OAuth2.TokenURL += "?hint=" + canary
			client := connect(t, config)
			exchange := client.Do(t.Context(), write(http.MethodPost, "/x", "{}"))
			failure := wantFailure(t, exchange, rest.NotSent, "POST /things: not sent: the OAuth2 token endpoint at 127.0.0.1:", tc.say)
			refusal := (*LoginError)(nil)
			if !errors.As(failure, &refusal) || refusal.Refused != tc.refused {
				t.Errorf("error %#v", failure.Err)
			}
			for _, text := range []string{failure.Message, fmt.Sprintf("%v %+v %#v", failure.Err, failure.Err, refusal), fmt.Sprintf("%+v %+v", *client, exchange)} {
				if strings.Contains(text, canary) {
					t.Errorf("a secret is shown: %s", text)
				}
			}
			if asked, calls := s.seen(); len(asked) != 1 || len(calls) != 0 {
				t.Errorf("%d token requests, calls %v", len(asked), calls)
			}
		})
	}
}

func TestTheTokenEndpointsWishToWaitIsKept(t *testing.T) {
	t.Parallel()
	s, clock := newIssuer(t), &movedClock{}
	s.answer(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "20")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	client := connect(t, s.config(), WithClock(clock.now))
	if exchange := client.Do(t.Context(), get("/x")); exchange.RetryAfter != 20*time.Second {
		t.Errorf("Retry-After %v", exchange.RetryAfter)
	}
	s.answer(nil)
	clock.forward(15 * time.Second)
	wantFailure(t, client.Do(t.Context(), get("/x")), rest.NotSent, "429")
	clock.forward(6 * time.Second)
	wantStatus(t, client.Do(t.Context(), get("/x")), 200)
	wantCalls(t, s, 2, "GET token-1")
}

func TestTokensAreTakenOutOfTexts(t *testing.T) {
	t.Parallel()
	s := newIssuer(t)
	client := connect(t, s.config())
	wantStatus(t, client.Do(t.Context(), get("/x")), 200)
	s.revoke("token-1")
	wantStatus(t, client.Do(t.Context(), get("/x")), 200)
	if got := client.Redact("token-1, token-2, säcret"); got != "[redacted], [redacted], [redacted]" {
		t.Errorf("left: %s", got)
	}
	if text := fmt.Sprintf("%+v %+v", *client, client.keeper); strings.Contains(text, "token-2") {
		t.Errorf("a token is shown: %s", text)
	}
}

func TestATokenEndpointElsewhereHasItsOwnNameInTheCertificate(t *testing.T) {
	t.Parallel()
	base, bundle := serveTLS(t, nil)
	own := newAuthority(t)
	pair, err := own.issue("issuer", time.Hour).pair()
	if err != nil {
		t.Fatal(err)
	}
	issuing := httptest.NewUnstartedServer(answer(200, "application/json", `{"access_token":"t"}`))
	issuing.TLS = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	issuing.StartTLS()
	t.Cleanup(issuing.Close)
	bundle = append(bundle, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: own.certificate.Raw})...)
	// The API's certificate is for example.com, the issuer's is for 127.0.0.1 alone.
	client := connect(t, Config{
		BaseURL: strings.Replace(base, "127.0.0.1", "localhost", 1), TLS: TLSConfig{CABundle: bundle, ServerName: "example.com"},
		Credential: Credential{OAuth2: &OAuth2{TokenURL: issuing.URL, ClientID: "me", ClientSecret: NewSecret("s")}},
	})
	wantStatus(t, client.Do(t.Context(), get("/x")), 200)

	untrusted := connect(t, Config{
		BaseURL:    base,
		Credential: Credential{OAuth2: &OAuth2{TokenURL: issuing.URL, ClientID: "me", ClientSecret: NewSecret("s")}},
	})
	wantFailure(t, untrusted.Do(t.Context(), get("/x")), rest.NotSent, "unknown authority: set tls.caBundle")
}

func TestOAuth2IsChecked(t *testing.T) {
	t.Parallel()
	good := OAuth2{TokenURL: "https://h/token", ClientID: "me", ClientSecret: NewSecret(canary)}
	cases := map[string]struct {
		field  string
		change func(*OAuth2)
	}{
		"a relative URL":            {".tokenURL", func(o *OAuth2) { o.TokenURL = "/token" }},
		"a URL with a password":     {".tokenURL", func(o *OAuth2) { o.TokenURL = "https://u:" + canary + "@h/token" }},
		"a URL of another kind":     {".tokenURL", func(o *OAuth2) { o.TokenURL = "file:///etc/passwd" }},
		"no client ID":              {".clientID", func(o *OAuth2) { o.ClientID = "" }},
		"an empty secret":           {".clientSecretRef", func(o *OAuth2) { o.ClientSecret = Secret{} }},
		"an unknown style":          {".authStyle", func(o *OAuth2) { o.Style = "Body" }},
		"two scopes in one":         {".scopes[0]", func(o *OAuth2) { o.Scopes = []string{"a b"} }},
		"another grant":             {".endpointParams[0]", func(o *OAuth2) { o.Parameters = []rest.Parameter{{Name: "grant_type", Value: "password"}} }},
		"the audience for a second": {".endpointParams[0]", func(o *OAuth2) { o.Audience = "a"; o.Parameters = []rest.Parameter{{Name: "audience", Value: "b"}} }},
	}
	for name, tc := range cases {
		changed := good
		tc.change(&changed)
		_, err := NewClient(Config{BaseURL: "https://h", Credential: Credential{OAuth2: &changed}})
		wrong := (*ConfigError)(nil)
		if !errors.As(err, &wrong) || wrong.Field != "credential.oauth2"+tc.field || strings.Contains(err.Error(), canary) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := NewClient(Config{BaseURL: "https://h", Credential: Credential{OAuth2: &good}}); err != nil {
		t.Error(err)
	}
}
