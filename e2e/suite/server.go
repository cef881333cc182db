package suite

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// API talks to a REST server as an administrator would, beside the operator.
type API struct {
	tb     testing.TB
	base   string
	auth   func(*http.Request)
	client *http.Client
}

// NewAPI gives access to a server.
func NewAPI(tb testing.TB, base string, auth func(*http.Request)) *API {
	tb.Helper()
	return &API{tb: tb, base: base, auth: auth, client: http.DefaultClient}
}

// NewTLSAPI gives access to a server that shows this certificate (PEM) and asks for one.
func NewTLSAPI(tb testing.TB, base, certificate string, own tls.Certificate) *API {
	tb.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(certificate)) {
		tb.Fatal("the server's certificate is no PEM")
	}
	config := &tls.Config{RootCAs: roots, Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS12}
	transport := &http.Transport{TLSClientConfig: config}
	tb.Cleanup(transport.CloseIdleConnections)
	return &API{tb: tb, base: base, auth: func(*http.Request) {}, client: &http.Client{Transport: transport}}
}

const maxAnswer = 4 << 20

// Do sends a request with a JSON body and gives status and decoded body.
func (a *API) Do(method, path, body string) (int, any) {
	a.tb.Helper()
	return a.send(method, path, "application/json", body)
}

// Upload posts what is no JSON; it has to succeed.
func (a *API) Upload(path, content string) any {
	a.tb.Helper()
	status, decoded := a.send(http.MethodPost, path, "application/octet-stream", content)
	return a.succeeded(http.MethodPost, path, status, decoded)
}

func (a *API) send(method, path, contentType, body string) (int, any) {
	a.tb.Helper()
	req, err := http.NewRequestWithContext(a.tb.Context(), method, a.base+path, strings.NewReader(body))
	if err != nil {
		a.tb.Fatal(err)
	}
	a.auth(req)
	req.Header.Set("Content-Type", contentType)
	resp, err := a.client.Do(req)
	if err != nil {
		a.tb.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		a.tb.Fatal(err)
	}
	var decoded any
	if len(text) > 0 {
		_ = json.Unmarshal(text, &decoded) // an answer that is no JSON stays nil
	}
	return resp.StatusCode, decoded
}

// Must sends a request that has to succeed.
func (a *API) Must(method, path, body string) any {
	a.tb.Helper()
	status, decoded := a.Do(method, path, body)
	return a.succeeded(method, path, status, decoded)
}

func (a *API) succeeded(method, path string, status int, decoded any) any {
	a.tb.Helper()
	if status >= http.StatusMultipleChoices {
		a.tb.Fatalf("%s %s answered %d: %v", method, path, status, decoded)
	}
	return decoded
}

// Object gets one object, nil when it is not there.
func (a *API) Object(path string) map[string]any {
	a.tb.Helper()
	status, decoded := a.Do(http.MethodGet, path, "")
	if status == http.StatusNotFound {
		return nil
	}
	object, ok := decoded.(map[string]any)
	if status != http.StatusOK || !ok {
		a.tb.Fatalf("GET %s answered %d: %v", path, status, decoded)
	}
	return object
}

// List gets a list.
func (a *API) List(path string) []any {
	a.tb.Helper()
	list, ok := a.Must(http.MethodGet, path, "").([]any)
	if !ok {
		a.tb.Fatalf("GET %s gave no list", path)
	}
	return list
}
