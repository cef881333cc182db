package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/pkg/rest"
)

func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := http.StatusOK
		if r.Method == http.MethodDelete {
			status = http.StatusInternalServerError
		}
		answer(status, "application/json", `{"a":"`+strings.Repeat("x", 20000)+`"}`)(w, r)
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	client := connect(t, Config{BaseURL: server.URL, InFlight: 8})
	for i := range 200 {
		method := []string{http.MethodGet, http.MethodPost, http.MethodDelete, http.MethodPut}[i%4]
		if exchange := client.Do(t.Context(), write(method, "/x", "{}")); exchange.Failure != nil {
			t.Fatal(exchange.Failure)
		}
	}
	if got := connections.Load(); got != 1 {
		t.Errorf("%d connections for 200 requests in a row", got)
	}
	for range 5 {
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() { client.Do(t.Context(), get("/x")) })
		}
		group.Wait()
	}
	// net/http may dial for a request that an idle connection serves in the end; without reuse there would be 41.
	if got := connections.Load(); got > 16 {
		t.Errorf("%d connections for 8 requests at once, again and again", got)
	}
}

// seenRequest is what a server saw of one request.
type seenRequest struct {
	Header http.Header
	Query  string
}

func TestHeadersAndQueryMergeInOrder(t *testing.T) {
	t.Parallel()
	seen := make(chan seenRequest, 1)
	client := connect(t, Config{
		BaseURL:   serve(t, func(_ http.ResponseWriter, r *http.Request) { seen <- seenRequest{r.Header, r.URL.RawQuery} }),
		UserAgent: "ua/1",
		Headers:   []rest.Parameter{{Name: "x-a", Value: "endpoint"}, {Name: "X-B", Value: "endpoint"}, {Name: "Authorization", Value: "endpoint"}},
		Query:     []rest.Parameter{{Name: "a", Value: "endpoint"}, {Name: "b", Value: "endpoint"}, {Name: "key", Value: "endpoint"}},
		Credential: Credential{
			Headers: []SecretHeader{{Name: "authorization", Prefix: "token ", Value: NewSecret("s")}, {Name: "X-Two", Value: NewSecret("t")}},
		},
	})
	req := write(http.MethodPost, "/x", "{}")
	req.Headers = []rest.Parameter{{Name: "X-B", Value: "own"}, {Name: "x-b", Value: "again"}, {Name: "AUTHORIZATION", Value: "own"}, {Name: "X-Two", Value: "own"}}
	req.Query = []rest.Parameter{{Name: "b", Value: "own"}, {Name: "b", Value: "ä&=+ /"}}
	wantStatus(t, client.Do(t.Context(), req), 200)
	got := <-seen
	want := http.Header{
		"Accept": {"application/json"}, "Accept-Encoding": {"gzip"}, "User-Agent": {"ua/1"},
		"Content-Type": {"application/json"}, "Content-Length": {"2"},
		"X-A": {"endpoint"}, "X-B": {"own", "again"}, "Authorization": {"token s"}, "X-Two": {"t"},
	}
	if diff := cmp.Diff(want, got.Header); diff != "" {
		t.Error(diff)
	}
	if want := "a=endpoint&key=endpoint&b=own&b=%C3%A4%26%3D%2B%20%2F"; got.Query != want {
		t.Errorf("query %s, want %s", got.Query, want)
	}
}

func TestEveryCredential(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		credential           Credential
		header, value, query string
	}{
		"none":           {Credential{}, "Authorization", "", "key=own"},
		"bearer":         {Credential{Bearer: &Bearer{NewSecret("t")}}, "Authorization", "Bearer t", "key=own"},
		"basic":          {Credential{Basic: &Basic{NewSecret("Aladdin"), NewSecret("open sesame")}}, "Authorization", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==", "key=own"},
		"headers":        {Credential{Headers: []SecretHeader{{Name: "X-Vault-Token", Prefix: "v ", Value: NewSecret("t")}}}, "X-Vault-Token", "v t", "key=own"},
		"key in header":  {Credential{APIKey: &APIKey{InHeader, "X-Api-Key", NewSecret("t")}}, "X-Api-Key", "t", "key=own"},
		"key in query":   {Credential{APIKey: &APIKey{InQuery, "key", NewSecret("a&b")}}, "Authorization", "", "key=a%26b"},
		"key, other one": {Credential{APIKey: &APIKey{InQuery, "other", NewSecret("t")}}, "Authorization", "", "key=own&other=t"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := connect(t, Config{Credential: tc.credential, BaseURL: serve(t, func(_ http.ResponseWriter, r *http.Request) {
				if r.Header.Get(tc.header) != tc.value || r.URL.RawQuery != tc.query {
					t.Errorf("%s: %q, query %q", tc.header, r.Header.Get(tc.header), r.URL.RawQuery)
				}
			})})
			req := get("/x")
			req.Query = []rest.Parameter{{Name: "key", Value: "own"}}
			wantStatus(t, client.Do(t.Context(), req), 200)
		})
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	secret := NewSecret(canary)
	cases := map[string]struct {
		field  string
		config Config
	}{
		"a negative timeout":         {"timeout", Config{Timeout: -1}},
		"a negative rate":            {"requestsPerSecond", Config{RequestsPerSecond: -1}},
		"a negative burst":           {"burst", Config{Burst: -1}},
		"negative in flight":         {"inFlight", Config{InFlight: -1}},
		"negative bytes":             {"responseBytes", Config{ResponseBytes: -1}},
		"a user agent with a break":  {"userAgent", Config{UserAgent: "a\nb"}},
		"a header without a name":    {"headers[0]", Config{Headers: []rest.Parameter{{Value: canary}}}},
		"a header with a break":      {"headers[1]", Config{Headers: []rest.Parameter{{Name: "a", Value: "b"}, {Name: "c", Value: canary + "\r\n"}}}},
		"the Host header":            {"headers[0]", Config{Headers: []rest.Parameter{{Name: "hOST", Value: "x"}}}},
		"a query without a name":     {"query[0]", Config{Query: []rest.Parameter{{Value: canary}}}},
		"two credentials":            {"credential", Config{Credential: Credential{Bearer: &Bearer{secret}, Basic: &Basic{secret, secret}}}},
		"an empty token":             {"credential.bearer", Config{Credential: Credential{Bearer: &Bearer{}}}},
		"a token with a line break":  {"credential.bearer", Config{Credential: Credential{Bearer: &Bearer{NewSecret(canary + "\n")}}}},
		"a user name with a colon":   {"credential.basic", Config{Credential: Credential{Basic: &Basic{NewSecret(canary + ":"), secret}}}},
		"a secret header, bad name":  {"credential.headers", Config{Credential: Credential{Headers: []SecretHeader{{Name: "a b", Value: secret}}}}},
		"a secret header for length": {"credential.headers", Config{Credential: Credential{Headers: []SecretHeader{{Name: "Content-Length", Value: secret}}}}},
		"a key nowhere":              {"credential.apiKey.in", Config{Credential: Credential{APIKey: &APIKey{Name: "a", Value: secret}}}},
		"a key without a name":       {"credential.apiKey.name", Config{Credential: Credential{APIKey: &APIKey{In: InQuery, Value: secret}}}},
		"an empty key":               {"credential.apiKey", Config{Credential: Credential{APIKey: &APIKey{In: InQuery, Name: "a"}}}},
		"a key with a bad name":      {"credential.apiKey", Config{Credential: Credential{APIKey: &APIKey{In: InHeader, Name: "a:", Value: secret}}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.config.BaseURL = "http://h"
			_, err := NewClient(tc.config)
			config := (*ConfigError)(nil)
			if !errors.As(err, &config) || config.Field != tc.field {
				t.Fatalf("error %v, want one of %s", err, tc.field)
			}
			if strings.Contains(err.Error(), canary) {
				t.Errorf("the error shows a value: %v", err)
			}
		})
	}
}

func TestARequestThatCannotBeSentIsRefusedHere(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{BaseURL: serve(t, func(http.ResponseWriter, *http.Request) { t.Error("sent") })})
	header := func(name, value string) rest.Request {
		req := get("/x")
		req.Headers = []rest.Parameter{{Name: name, Value: value}}
		return req
	}
	accept, contentType := get("/x"), get("/x")
	accept.Accept, contentType.ContentType = canary+"\n", canary+"\x00"
	cases := map[string]struct {
		req rest.Request
		say string
	}{
		"no method":             {rest.Request{Path: "/x", Route: "/x"}, "method"},
		"a method with a space": {rest.Request{Method: "GET /", Path: "/x"}, "method"},
		"a header with a break": {header("X-A", canary+"\r\nX: y"), `"X-A"`},
		"a header without name": {header("", canary), "header name"},
		"the host":              {header("Host", "evil.example"), "remove it"},
		"the framing":           {header("transfer-encoding", "chunked"), "remove it"},
		"the compression":       {header("Accept-Encoding", "br"), "remove it"},
		"accept":                {accept, `"Accept"`},
		"content type":          {contentType, `"Content-Type"`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failure := wantFailure(t, client.Do(t.Context(), tc.req), rest.NotSent, "not sent: ", tc.say)
			if strings.Contains(failure.Message, canary) {
				t.Errorf("the message shows a value: %s", failure.Message)
			}
		})
	}
}

func TestNoSecretInAnyMessage(t *testing.T) {
	t.Parallel()
	secret := NewSecret(canary)
	handlers := map[string]http.HandlerFunc{
		"dropped": func(w http.ResponseWriter, _ *http.Request) { drop(t, w, true) },
		"redirected": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://u:"+canary+"@h/?"+r.URL.RawQuery, http.StatusFound)
		},
		"undecodable": answer(200, "application/json", canary),
		"too large":   answer(200, "text/plain", strings.Repeat(canary, 300)),
		"hanging":     func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"cut":         cutShort,
	}
	credentials := []Credential{
		{Bearer: &Bearer{secret}},
		{Basic: &Basic{secret, secret}},
		{Headers: []SecretHeader{{Name: "X", Prefix: "p", Value: secret}}},
		{APIKey: &APIKey{InHeader, "X", secret}},
		{APIKey: &APIKey{InQuery, "k", secret}},
		{APIKey: &APIKey{InCookie, "k", secret}},
	}
	for name, handler := range handlers {
		for i, credential := range credentials {
			t.Run(fmt.Sprint(name, i), func(t *testing.T) {
				t.Parallel()
				var seen Observation
				client := connect(t, Config{
					BaseURL: serve(t, handler), Credential: credential, ResponseBytes: 2048, Timeout: 200 * time.Millisecond,
				}, WithObserver(func(o Observation) { seen = o }))
				req := get("/x")
				req.Query = []rest.Parameter{{Name: "q", Value: canary}}
				exchange := client.Do(t.Context(), req)
				if exchange.Failure == nil {
					t.Fatal("no failure")
				}
				encoded, err := json.Marshal(exchange)
				if err != nil {
					t.Fatal(err)
				}
				texts := []string{string(encoded), exchange.Failure.Error()}
				for _, v := range []any{exchange, exchange.Failure, *exchange.Failure, exchange.Failure.Err, client, *client, seen, client.Describe(req)} {
					texts = append(texts, fmt.Sprintf("%v %+v %#v", v, v, v))
				}
				for _, text := range texts {
					if strings.Contains(text, canary) || strings.Contains(text, "Y2FuYXJ5") {
						t.Errorf("a secret is shown: %s", text)
					}
				}
			})
		}
	}
}

func TestObserverClockAndWrapper(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
	var seen []Observation
	wrapped := 0
	client := connect(
		t, Config{BaseURL: serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "Sat, 21 Nov 2026 00:01:00 GMT")
			w.WriteHeader(http.StatusTooManyRequests)
		})},
		WithObserver(func(o Observation) { seen = append(seen, o) }),
		WithClock(func() time.Time { return now }),
		WithTransportWrapper(func(inner http.RoundTripper) http.RoundTripper {
			return roundTrip(func(r *http.Request) (*http.Response, error) {
				wrapped++
				now = now.Add(time.Second)
				return inner.RoundTrip(r)
			})
		}),
	)
	exchange := client.Do(t.Context(), get("/x"))
	wantStatus(t, exchange, 429)
	if exchange.RetryAfter != 59*time.Second || exchange.Duration != time.Second || wrapped != 1 {
		t.Errorf("Retry-After %v, duration %v, wrapped %d", exchange.RetryAfter, exchange.Duration, wrapped)
	}
	want := []Observation{{Operation: rest.Read, Method: "GET", Route: "/things/{id}", Status: 429, Duration: time.Second}}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestDescribe(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{BaseURL: "http://h/api"})
	for want, req := range map[string]rest.Request{
		"GET /things/{id}": get("/things/canary"),
		"PUT /a":           {Method: "PUT", Route: "/a?token=" + canary},
		"GET (no route)":   {Method: "GET"},
	} {
		if got := client.Describe(req); got != want {
			t.Errorf("Describe() = %q, want %q", got, want)
		}
	}
}
