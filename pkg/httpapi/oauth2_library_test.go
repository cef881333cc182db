package httpapi

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-oauth2/oauth2/v4"
	"github.com/go-oauth2/oauth2/v4/manage"
	"github.com/go-oauth2/oauth2/v4/models"
	"github.com/go-oauth2/oauth2/v4/server"
	"github.com/go-oauth2/oauth2/v4/store"

	"github.com/restmapping/operator/pkg/rest"
)

// tokenServer is an authorization server made with a library that others use, so that both sides of the protocol were not
// written by us; and an API that takes its tokens for its own audience.
type tokenServer struct {
	*httptest.Server
	library *server.Server
	kept    *keptTokens
	// byHeader and byForm tell which styles of client authentication it takes.
	byHeader, byForm bool

	mu        sync.Mutex
	audiences map[string]string // by token
	asked     int
}

const libraryAudience = "https://api.example"

func newTokenServer(t *testing.T, life time.Duration) *tokenServer {
	t.Helper()
	a := &tokenServer{kept: &keptTokens{byAccess: map[string]oauth2.TokenInfo{}}, byHeader: true, byForm: true, audiences: map[string]string{}}
	clients := store.NewClientStore()
	if err := clients.Set("robot", &models.Client{ID: "robot", Secret: "s3cret"}); err != nil {
		t.Fatal(err)
	}
	manager := manage.NewDefaultManager()
	manager.MapTokenStorage(a.kept)
	manager.MapClientStorage(clients)
	manager.SetClientTokenCfg(&manage.Config{AccessTokenExp: life})
	a.library = server.NewDefaultServer(manager)
	a.library.SetAllowedGrantType(oauth2.ClientCredentials)
	a.library.SetClientInfoHandler(a.client)
	a.library.SetClientScopeHandler(func(r *oauth2.TokenGenerateRequest) (bool, error) {
		return !slices.Contains(strings.Fields(r.Scope), "forbidden"), nil
	})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /oauth2/token", a.token)
	mux.HandleFunc("/api/", a.api)
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	return a
}

func (a *tokenServer) client(r *http.Request) (id, secret string, err error) {
	if _, _, basic := r.BasicAuth(); basic && a.byHeader {
		return server.ClientBasicHandler(r)
	}
	if a.byForm {
		return server.ClientFormHandler(r)
	}
	return "", "", nil
}

func (a *tokenServer) token(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	a.asked++
	a.mu.Unlock()
	_ = a.library.HandleTokenRequest(w, r) // it has answered, whatever went wrong
	a.mu.Lock()
	defer a.mu.Unlock()
	if newest := a.kept.newest(); newest != nil {
		if _, known := a.audiences[newest.GetAccess()]; !known {
			a.audiences[newest.GetAccess()] = r.FormValue("audience")
		}
	}
}

func (a *tokenServer) api(w http.ResponseWriter, r *http.Request) {
	info, err := a.library.ValidationBearerToken(r)
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case err != nil || a.audiences[info.GetAccess()] != libraryAudience:
		w.WriteHeader(http.StatusUnauthorized)
	case !slices.Contains(strings.Fields(info.GetScope()), "things.write") && r.Method != http.MethodGet:
		w.WriteHeader(http.StatusForbidden)
	}
}

// requests counts those for a token.
func (a *tokenServer) requests() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.asked
}

// keptTokens is the library's store, in memory and without a goroutine.
type keptTokens struct {
	mu       sync.Mutex
	byAccess map[string]oauth2.TokenInfo
	last     oauth2.TokenInfo
}

func (k *keptTokens) Create(_ context.Context, info oauth2.TokenInfo) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.byAccess[info.GetAccess()], k.last = info, info
	return nil
}

func (k *keptTokens) RemoveByAccess(_ context.Context, access string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.byAccess, access)
	return nil
}

func (k *keptTokens) GetByAccess(_ context.Context, access string) (oauth2.TokenInfo, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.byAccess[access], nil
}

func (k *keptTokens) newest() oauth2.TokenInfo {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last
}

// revoke ends every token.
func (k *keptTokens) revoke() {
	k.mu.Lock()
	defer k.mu.Unlock()
	clear(k.byAccess)
}

func (*keptTokens) RemoveByCode(context.Context, string) error                  { return nil }
func (*keptTokens) RemoveByRefresh(context.Context, string) error               { return nil }
func (*keptTokens) GetByCode(context.Context, string) (oauth2.TokenInfo, error) { return nil, nil } //nolint:nilnil // not of this grant

func (*keptTokens) GetByRefresh(context.Context, string) (oauth2.TokenInfo, error) { return nil, nil } //nolint:nilnil // not of this grant

func libraryConfig(a *tokenServer, change ...func(*OAuth2)) Config {
	o := &OAuth2{
		TokenURL: a.URL + "/oauth2/token", ClientID: "robot", ClientSecret: NewSecret("s3cret"),
		Scopes: []string{"things.read", "things.write"}, Audience: libraryAudience,
	}
	for _, f := range change {
		f(o)
	}
	return Config{BaseURL: a.URL + "/api", Timeout: 4 * time.Second, Credential: Credential{OAuth2: o}}
}

func TestALibrarysTokensAreTaken(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		style            AuthStyle
		byHeader, byForm bool
	}{
		"found out, header":     {StyleAuto, true, false},
		"found out, parameters": {StyleAuto, false, true},
		"header":                {StyleInHeader, true, false},
		"parameters":            {StyleInParams, false, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newTokenServer(t, time.Hour)
			a.byHeader, a.byForm = tc.byHeader, tc.byForm
			c := connect(t, libraryConfig(a, func(o *OAuth2) { o.Style = tc.style }))
			for range 3 {
				wantStatus(t, c.Do(t.Context(), get("/things/1")), http.StatusOK)
			}
			wantStatus(t, c.Do(t.Context(), write(http.MethodPost, "/things", `{}`)), http.StatusOK)
			if n := a.requests(); n > 2 {
				t.Errorf("%d requests for one token", n)
			}
		})
	}
}

func TestALibraryJudgesScopeAndAudience(t *testing.T) {
	t.Parallel()
	a := newTokenServer(t, time.Hour)
	reader := connect(t, libraryConfig(a, func(o *OAuth2) { o.Scopes = []string{"things.read"} }))
	wantStatus(t, reader.Do(t.Context(), get("/things/1")), http.StatusOK)
	wantStatus(t, reader.Do(t.Context(), write(http.MethodPost, "/things", `{}`)), http.StatusForbidden)
	stranger := connect(t, libraryConfig(a, func(o *OAuth2) { o.Audience = "https://other.example" }))
	wantStatus(t, stranger.Do(t.Context(), get("/things/1")), http.StatusUnauthorized)
}

func TestALibrarysTokenIsReplacedBeforeItsEnd(t *testing.T) {
	t.Parallel()
	a := newTokenServer(t, 2*time.Second)
	c := connect(t, libraryConfig(a))
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		// A write is never repeated, so one that meets an ended token would be seen.
		wantStatus(t, c.Do(t.Context(), write(http.MethodPost, "/things", `{}`)), http.StatusOK)
	}
	if n := a.requests(); n < 3 || n > 6 {
		t.Errorf("%d tokens in 5 seconds, each good for 2", n)
	}
}

func TestALibraryRevokesAToken(t *testing.T) {
	t.Parallel()
	a := newTokenServer(t, time.Hour)
	c := connect(t, libraryConfig(a))
	wantStatus(t, c.Do(t.Context(), get("/things/1")), http.StatusOK)
	before := a.requests()
	a.kept.revoke()
	wantStatus(t, c.Do(t.Context(), get("/things/1")), http.StatusOK)
	a.kept.revoke()
	wantStatus(t, c.Do(t.Context(), write(http.MethodPost, "/things", `{}`)), http.StatusUnauthorized)
	wantStatus(t, c.Do(t.Context(), write(http.MethodPost, "/things", `{}`)), http.StatusOK)
	if n := a.requests() - before; n != 2 {
		t.Errorf("%d requests for two new tokens", n)
	}
}

func TestWhatALibraryRefusesIsSaid(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(*OAuth2)
		says   string
	}{
		"a wrong secret":   {func(o *OAuth2) { o.ClientSecret = NewSecret("wr0ng-canary") }, "check the client ID and the secret"},
		"a scope too many": {func(o *OAuth2) { o.Scopes = []string{"forbidden"} }, "check auth.oauth2.scopes"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := connect(t, libraryConfig(newTokenServer(t, time.Hour), tc.change))
			failure := wantFailure(t, c.Do(t.Context(), write(http.MethodPost, "/things", `{}`)), rest.NotSent, tc.says)
			for _, secret := range []string{"wr0ng-canary", "s3cret"} {
				if strings.Contains(failure.Message, secret) {
					t.Errorf("it shows the secret: %s", failure.Message)
				}
			}
		})
	}
}

func TestATokenEndpointThatIsDownOrSlow(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() }) // it accepts, and never answers
	cases := map[string]struct{ url, says string }{
		"down": {"http://127.0.0.1:1/oauth2/token", "connection refused"},
		"slow": {"http://" + listener.Addr().String() + "/oauth2/token", "no answer within 1s"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := libraryConfig(newTokenServer(t, time.Hour), func(o *OAuth2) { o.TokenURL = tc.url })
			cfg.Timeout = 2 * time.Second
			began := time.Now()
			wantFailure(t, connect(t, cfg).Do(t.Context(), write(http.MethodPost, "/things", `{}`)), rest.NotSent, "the OAuth2 token endpoint at", tc.says)
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("it took %s", took)
			}
		})
	}
}
