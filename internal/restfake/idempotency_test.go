package restfake

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestACreateIsKnownAgainByItsKey(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		return now
	}
	things := Collection{Path: "/things", Required: []string{"name"}, Idempotency: &Idempotency{Header: "Idempotency-Key", Window: time.Hour}}
	l := start(t, []Collection{things}, WithClock(clock))
	post := func(key, body string) (int, string, string) {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, l.URL+"/things", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("idempotency-key", key)
		transport := &http.Transport{DisableKeepAlives: true}
		defer transport.CloseIdleConnections()
		response, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		return response.StatusCode, response.Header.Get("Location"), response.Header.Get("Idempotent-Replayed")
	}
	for i, tc := range []struct {
		key, body       string
		status          int
		where, replayed string
		later           time.Duration
		live            int
		whatThisIsAbout string
	}{
		{"a", `{}`, 422, "", "", 0, 0, "what came to nothing is not remembered"},
		{"a", `{"name":"x"}`, 201, "/things/1", "", 0, 1, "the first"},
		{"a", `{"name":"x"}`, 201, "/things/1", "true", 59 * time.Minute, 1, "the same again"},
		{"a", `{"name":"y"}`, 422, "", "", 0, 1, "another body"},
		{"b", `{"name":"x"}`, 201, "/things/2", "", 0, 2, "another key"},
		{"", `{"name":"x"}`, 201, "/things/3", "", 0, 3, "no key"},
		{"", `{"name":"x"}`, 201, "/things/4", "", 0, 4, "no key again"},
		{"a", `{"name":"x"}`, 201, "/things/5", "", time.Minute, 5, "the key is forgotten"},
	} {
		mu.Lock()
		now = now.Add(tc.later)
		mu.Unlock()
		status, where, replayed := post(tc.key, tc.body)
		if status != tc.status || where != tc.where || replayed != tc.replayed || len(l.Live("/things")) != tc.live {
			t.Errorf("%d, %s: got %d %s %q and %d objects", i, tc.whatThisIsAbout, status, where, replayed, len(l.Live("/things")))
		}
	}
}
