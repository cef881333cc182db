package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/restmapping/operator/pkg/httpapi"
	"github.com/restmapping/operator/pkg/rest"
)

// issuer numbers the tokens that it gives.
type issuer struct {
	made atomic.Int32
	life time.Duration
	fail atomic.Pointer[error]
}

func (i *issuer) source() *httpapi.TokenSource {
	return &httpapi.TokenSource{Name: "the token of robot", Fetch: func(ctx context.Context) (httpapi.Token, error) {
		if err := i.fail.Load(); err != nil {
			return httpapi.Token{}, *err
		}
		if i.life < 0 {
			<-ctx.Done()
			return httpapi.Token{}, ctx.Err()
		}
		token := httpapi.Token{Value: httpapi.NewSecret(fmt.Sprintf("token-%d", i.made.Add(1)))}
		if i.life > 0 {
			token.Expires = time.Now().Add(i.life)
		}
		return token, nil
	}}
}

// takes is a transport that answers 200 to one token and 401 to all others.
type takes struct {
	good atomic.Value
	sent atomic.Int32
}

func (s *takes) RoundTrip(r *http.Request) (*http.Response, error) {
	s.sent.Add(1)
	answer := httptest.NewRecorder()
	if r.Header.Get("Authorization") != "Bearer "+fmt.Sprint(s.good.Load()) {
		answer.WriteHeader(http.StatusUnauthorized)
	}
	return answer.Result(), nil
}

func sourceClient(t *testing.T, i *issuer) (*httpapi.Client, *takes) {
	t.Helper()
	server := &takes{}
	server.good.Store("token-1")
	client, err := httpapi.NewClient(httpapi.Config{BaseURL: "http://api.example", Credential: httpapi.Credential{Token: i.source()}},
		httpapi.WithTransportWrapper(func(http.RoundTripper) http.RoundTripper { return server }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client, server
}

func sendTo(t *testing.T, client *httpapi.Client, method string, operation rest.Operation) rest.Exchange {
	t.Helper()
	return client.Do(t.Context(), rest.Request{Operation: operation, Method: method, Route: "/x", Path: "/x"})
}

func wantStatus(t *testing.T, exchange rest.Exchange, status int) {
	t.Helper()
	if exchange.Failure != nil || exchange.Response.Status != status {
		t.Errorf("got %+v, want status %d", exchange, status)
	}
}

func TestATokenOfASourceIsKeptAndRenewedBeforeItsEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{life: 10 * time.Minute}
		client, server := sourceClient(t, i)
		for range 5 {
			wantStatus(t, sendTo(t, client, http.MethodGet, rest.Read), http.StatusOK)
		}
		if n := i.made.Load(); n != 1 {
			t.Errorf("%d tokens were made for 5 requests", n)
		}
		time.Sleep(10*time.Minute - 20*time.Second)
		server.good.Store("token-2")
		wantStatus(t, sendTo(t, client, http.MethodPost, rest.Create), http.StatusOK)
		if n := i.made.Load(); n != 2 {
			t.Errorf("%d tokens were made", n)
		}
	})
}

func TestARefusedTokenOfASourceIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := &issuer{}
		client, server := sourceClient(t, i)
		wantStatus(t, sendTo(t, client, http.MethodGet, rest.Read), http.StatusOK)
		server.good.Store("token-2")
		wantStatus(t, sendTo(t, client, http.MethodGet, rest.Read), http.StatusOK)
		server.good.Store("token-3")
		before := server.sent.Load()
		wantStatus(t, sendTo(t, client, http.MethodPost, rest.Create), http.StatusUnauthorized)
		if n := server.sent.Load() - before; n != 1 {
			t.Errorf("one write was sent %d times", n)
		}
		wantStatus(t, sendTo(t, client, http.MethodPost, rest.Create), http.StatusOK)
	})
}

func TestWithoutATokenOfTheSourceNothingIsSent(t *testing.T) {
	t.Parallel()
	refused := errors.New("no account of that name")
	cases := map[string]struct {
		life  time.Duration
		fail  error
		says  string
		cause error
	}{
		"refused": {0, refused, "no account of that name", refused},
		"slow":    {-1, nil, "the token of robot: no answer within 15s", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				i := &issuer{life: tc.life}
				if tc.fail != nil {
					i.fail.Store(&tc.fail)
				}
				client, server := sourceClient(t, i)
				if err := client.Ready(t.Context()); err == nil {
					t.Error("it is ready")
				}
				exchange := sendTo(t, client, http.MethodPost, rest.Create)
				if exchange.Failure == nil || exchange.Failure.Kind != rest.NotSent || server.sent.Load() != 0 {
					t.Fatalf("got %+v after %d requests", exchange, server.sent.Load())
				}
				if !strings.Contains(exchange.Failure.Message, tc.says) {
					t.Errorf("%q does not say %q", exchange.Failure.Message, tc.says)
				}
				if tc.cause != nil && !errors.Is(exchange.Failure, tc.cause) {
					t.Errorf("the cause is lost: %v", exchange.Failure.Err)
				}
			})
		})
	}
}
