package httpapi

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/restmapping/operator/pkg/rest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve starts a server and gives its base URL with the path prefix /api.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL + "/api"
}

// connect makes a client with limits that no test feels by accident.
func connect(t *testing.T, cfg Config, options ...Option) *Client {
	t.Helper()
	if cfg.RequestsPerSecond == 0 {
		cfg.RequestsPerSecond, cfg.Burst = 10000, 10000
	}
	if cfg.Addresses.Allowed == nil {
		cfg.Addresses.Allowed = loopback()
	}
	client, err := NewClient(cfg, options...)
	if err != nil {
		t.Fatalf("NewClient: %v", err)
	}
	t.Cleanup(client.Close)
	return client
}

// loopback is where the servers of tests are.
func loopback() []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }

func get(path string) rest.Request {
	return rest.Request{Operation: rest.Read, Method: http.MethodGet, Route: "/things/{id}", Path: path}
}

func write(method, path, body string) rest.Request {
	req := rest.Request{Operation: rest.Create, Method: method, Route: "/things", Path: path}
	if body != "" {
		req.Body, req.ContentType = []byte(body), "application/json"
	}
	return req
}

// wantFailure checks the kind and the parts of the message, and gives the failure.
func wantFailure(t *testing.T, exchange rest.Exchange, kind rest.FailureKind, parts ...string) *rest.Failure {
	t.Helper()
	if exchange.Failure == nil {
		t.Fatalf("no failure, want %s; response %+v", kind, exchange.Response)
	}
	if exchange.Failure.Kind != kind {
		t.Fatalf("failure %s (%s), want %s", exchange.Failure.Kind, exchange.Failure.Message, kind)
	}
	for _, part := range parts {
		if !strings.Contains(exchange.Failure.Message, part) {
			t.Errorf("message %q does not say %q", exchange.Failure.Message, part)
		}
	}
	return exchange.Failure
}

func wantStatus(t *testing.T, exchange rest.Exchange, status int) *rest.Response {
	t.Helper()
	if exchange.Failure != nil {
		t.Fatalf("failure %s: %s", exchange.Failure.Kind, exchange.Failure.Message)
	}
	if exchange.Response.Status != status {
		t.Fatalf("status %d, want %d", exchange.Response.Status, status)
	}
	return exchange.Response
}

// eventually polls, because a test must not guess how long something takes.
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

// drop ends the connection of a request, with a reset or in good order.
func drop(t *testing.T, w http.ResponseWriter, reset bool) {
	t.Helper()
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		t.Errorf("hijack: %v", err)
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok && reset {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
