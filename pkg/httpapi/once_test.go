package httpapi

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/restmapping/operator/pkg/rest"
)

// dropper commits and drops every request but GET /api/warm, so that a dropped request always had a reused connection.
type dropper struct {
	commits atomic.Int32
	reset   bool
}

func (d *dropper) serve(t *testing.T) string {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/warm") {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		d.commits.Add(1)
		drop(t, w, d.reset)
	})
}

func TestAWriteOnADyingConnectionIsSentOnce(t *testing.T) {
	t.Parallel()
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodGet, http.MethodOptions} {
		for _, body := range []string{"", `{"a":1}`} {
			for _, header := range []string{"", "Idempotency-Key", "X-Idempotency-Key", "idempotency-key"} {
				for _, reset := range []bool{false, true} {
					t.Run(fmt.Sprintf("%s body %q header %q reset %v", method, body, header, reset), func(t *testing.T) {
						t.Parallel()
						server := &dropper{reset: reset}
						client := connect(t, Config{BaseURL: server.serve(t)})
						wantStatus(t, client.Do(t.Context(), get("/warm")), http.StatusOK)
						req := write(method, "/x", body)
						if header != "" {
							req.Headers = []rest.Parameter{{Name: header, Value: "1"}}
						}
						exchange := client.Do(t.Context(), req)
						wantFailure(t, exchange, rest.Broken, method+" /things: no whole answer")
						if got := server.commits.Load(); got != 1 {
							t.Errorf("the server committed %d times", got)
						}
					})
				}
			}
		}
	}
}

// The harness above must be able to see a repeat: net/http on its own does one.
func TestNetHTTPAloneRepeatsAnIdempotencyKey(t *testing.T) {
	t.Parallel()
	server := &dropper{}
	base := server.serve(t)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	warm, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/warm", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := transport.RoundTrip(warm)
	if err != nil {
		t.Fatal(err)
	}
	discard(answer)
	post, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/x", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	post.Header.Set("Idempotency-Key", "1")
	if answer, err := transport.RoundTrip(post); err == nil {
		discard(answer)
		t.Error("an answer from a server that never answers")
	}
	if got := server.commits.Load(); got != 2 {
		t.Errorf("the server committed %d times; if net/http has changed, so may onceOnly", got)
	}
}

func TestAReadOnADyingConnectionIsRepeatedByNetHTTP(t *testing.T) {
	t.Parallel()
	var drops atomic.Int32
	client := connect(t, Config{BaseURL: serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/x") && drops.Add(1) == 1 {
			drop(t, w, false)
		}
	})})
	wantStatus(t, client.Do(t.Context(), get("/warm")), http.StatusOK)
	wantStatus(t, client.Do(t.Context(), get("/x")), http.StatusOK)
}

func TestTheIdempotencyKeyArrives(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{BaseURL: serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("Idempotency-Key")+r.Header.Get("X-Idempotency-Key"))
	})})
	req := write(http.MethodPost, "/x", "{}")
	req.Headers = []rest.Parameter{{Name: "idempotency-KEY", Value: "a"}, {Name: "X-Idempotency-Key", Value: "b"}}
	if body := wantStatus(t, client.Do(t.Context(), req), http.StatusOK).Body; body != "ab" {
		t.Errorf("the server saw %v", body)
	}
}

func TestTheFramingOfABodyIsPlain(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{BaseURL: serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(w, "%d %v %q", r.ContentLength, r.TransferEncoding, r.Header.Values("Content-Length"))
	})})
	cases := map[string]struct{ method, body, want string }{
		"a POST with a body":      {http.MethodPost, "12345", `5 [] ["5"]`},
		"a POST without":          {http.MethodPost, "", `0 [] ["0"]`},
		"a PUT without":           {http.MethodPut, "", `0 [] ["0"]`},
		"a DELETE without":        {http.MethodDelete, "", `0 [] []`},
		"a DELETE with a body":    {http.MethodDelete, "{}", `2 [] ["2"]`},
		"a GET that is an action": {http.MethodGet, "", `0 [] []`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			response := wantStatus(t, client.Do(t.Context(), write(tc.method, "/x", tc.body)), http.StatusOK)
			if response.Body != tc.want {
				t.Errorf("the server saw %v, want %v", response.Body, tc.want)
			}
		})
	}
}

func TestNothingIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, status := range []int{408, 425, 429, 500, 502, 503, 504} {
		var seen atomic.Int32
		base := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			seen.Add(1)
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(status)
		})
		for _, req := range []rest.Request{get("/x"), write(http.MethodPost, "/x", "{}")} {
			seen.Store(0)
			client := connect(t, Config{BaseURL: base}) // one that the server has not slowed down
			exchange := client.Do(t.Context(), req)
			wantStatus(t, exchange, status)
			if seen.Load() != 1 || exchange.RetryAfter.Seconds() != 1 {
				t.Errorf("%d: %s was sent %d times, Retry-After %v", status, req.Method, seen.Load(), exchange.RetryAfter)
			}
		}
	}
}
