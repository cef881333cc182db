package restfake

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, collections []Collection, options ...Option) *Listener {
	t.Helper()
	listener, err := Start(t.Context(), "127.0.0.1:0", New(collections, options...))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(listener.Close)
	return listener
}

// got is an answer as a test looks at it; err is set when there was none.
type got struct {
	status int
	header http.Header
	body   string
	err    error
}

func send(t *testing.T, l *Listener, method, path, body string) got {
	t.Helper()
	return sendWith(t.Context(), l, method, path, body)
}

// sendWith uses a connection of its own, so that nothing is repeated by net/http.
func sendWith(ctx context.Context, l *Listener, method, path, body string) got {
	request, err := http.NewRequestWithContext(ctx, method, l.URL+path, strings.NewReader(body))
	if err != nil {
		return got{err: err}
	}
	transport := &http.Transport{DisableKeepAlives: true}
	defer transport.CloseIdleConnections()
	response, err := transport.RoundTrip(request)
	if err != nil {
		return got{err: err}
	}
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	return got{response.StatusCode, response.Header, string(data), err}
}

func want(t *testing.T, g got, status int, body string) {
	t.Helper()
	if g.err != nil {
		t.Fatalf("no answer: %v", g.err)
	}
	if g.status != status || body != "" && g.body != body {
		t.Fatalf("answer %d %s, want %d %s", g.status, g.body, status, body)
	}
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("never happened: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}
