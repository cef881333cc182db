package httpapi

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/restmapping/operator/pkg/rest"
)

var redirectStatuses = []int{301, 302, 303, 307, 308}

func TestAWriteIsNeverRedirected(t *testing.T) {
	t.Parallel()
	for _, status := range redirectStatuses {
		for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			t.Run(fmt.Sprintf("%s %d", method, status), func(t *testing.T) {
				t.Parallel()
				var seen atomic.Int32
				client := connect(t, Config{BaseURL: serve(t, func(w http.ResponseWriter, _ *http.Request) {
					seen.Add(1)
					w.Header().Set("Location", "/api/other?token="+canary+"#"+canary)
					w.WriteHeader(status)
				})})
				exchange := client.Do(t.Context(), write(method, "/x", "{}"))
				failure := wantFailure(t, exchange, rest.Redirected, method+" /things: the server answered", fmt.Sprint(status), "/api/other")
				if exchange.Response == nil || exchange.Response.Status != status || exchange.Response.Body != nil {
					t.Errorf("response %+v", exchange.Response)
				}
				if strings.Contains(fmt.Sprintf("%+v %+v", failure.Message, exchange.Response), canary) {
					t.Error("the query of the Location is shown")
				}
				if seen.Load() != 1 {
					t.Errorf("%d requests", seen.Load())
				}
			})
		}
	}
}

func TestAReadFollowsOnlyWithinTheBaseURL(t *testing.T) {
	t.Parallel()
	other := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("a request with a secret went to another host") })
	cases := map[string]struct {
		location string
		follows  bool
	}{
		"a path below the base":  {"/api/target", true},
		"a relative path":        {"target", true},
		"another host":           {other + "/target", false},
		"another host, scheme":   {"//evil.example/api/target", false},
		"https instead of http":  {"https://evil.example/api/target", false},
		"a path outside":         {"/target", false},
		"a path outside by dots": {"/api/../target", false},
		"not a URL":              {"http://[::1", false},
		"a user":                 {"http://u:p@127.0.0.1/api/target", false},
	}
	for name, tc := range cases {
		for _, status := range redirectStatuses {
			t.Run(fmt.Sprintf("%s %d", name, status), func(t *testing.T) {
				t.Parallel()
				client := connect(t, Config{
					Credential: Credential{Headers: []SecretHeader{{Name: "X-Api-Key", Value: NewSecret(canary)}}},
					BaseURL: serve(t, func(w http.ResponseWriter, r *http.Request) {
						if r.Header.Get("X-Api-Key") != canary {
							t.Error("the credential is missing")
						}
						if r.URL.Path == "/api/x" {
							w.Header().Set("Location", tc.location)
							w.WriteHeader(status)
						}
					}),
				})
				exchange := client.Do(t.Context(), get("/x"))
				if tc.follows {
					wantStatus(t, exchange, http.StatusOK)
					return
				}
				wantFailure(t, exchange, rest.Redirected, "GET /things/{id}", fmt.Sprint(status))
				if exchange.Response.Status != status {
					t.Errorf("status %d", exchange.Response.Status)
				}
			})
		}
	}
}

func TestACircleOfRedirectsEnds(t *testing.T) {
	t.Parallel()
	var seen atomic.Int32
	client := connect(t, Config{BaseURL: serve(t, func(w http.ResponseWriter, r *http.Request) {
		seen.Add(1)
		http.Redirect(w, r, "/api/x", http.StatusFound)
	})})
	wantFailure(t, client.Do(t.Context(), get("/x")), rest.Redirected, "circle")
	if seen.Load() != mostRedirects+1 {
		t.Errorf("%d requests", seen.Load())
	}
}

func TestAKeyInTheQueryGoesWithARedirect(t *testing.T) {
	t.Parallel()
	client := connect(t, Config{
		Credential: Credential{APIKey: &APIKey{In: InQuery, Name: "key", Value: NewSecret(canary)}},
		BaseURL: serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/api/x" {
				http.Redirect(w, r, "/api/y?a=1", http.StatusSeeOther)
				return
			}
			if r.URL.RawQuery != "a=1&key="+canary {
				t.Errorf("query %s", r.URL.RawQuery)
			}
		}),
	})
	wantStatus(t, client.Do(t.Context(), get("/x")), http.StatusOK)
}

func TestAnswersThatAreNoRedirect(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		status   int
		location string
	}{
		"302 without Location": {302, ""},
		"304":                  {304, ""},
		"300 with Location":    {300, "/api/y"},
		"201 with Location":    {201, "/api/y?a=b"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := connect(t, Config{BaseURL: serve(t, func(w http.ResponseWriter, _ *http.Request) {
				if tc.location != "" {
					w.Header().Set("Location", tc.location)
				}
				w.WriteHeader(tc.status)
			})})
			response := wantStatus(t, client.Do(t.Context(), write(http.MethodPost, "/x", "{}")), tc.status)
			if response.Headers["location"] != tc.location {
				t.Errorf("Location %q", response.Headers["location"])
			}
		})
	}
}
