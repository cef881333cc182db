//go:build security

package security_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/restmapping/operator/internal/vaultfake"
)

// collector takes the traces that the operator sends, as they are.
type collector struct {
	*httptest.Server
	mu   sync.Mutex
	text []byte
}

const mostTraces = 64 << 20

// newCollector starts a receiver of traces and has the operator, which gets the environment of the test, send them there.
func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, mostTraces))
		c.mu.Lock()
		defer c.mu.Unlock()
		if err == nil && len(c.text) < mostTraces {
			c.text = append(c.text, body...)
		}
	}))
	t.Cleanup(c.Close)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", c.URL)
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "none")
	t.Setenv("OTEL_BSP_SCHEDULE_DELAY", "500")
	return c
}

// all is what was received: protobuf, which holds texts as they are.
func (c *collector) all() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.text)
}

// plantFile puts a canary into the operator's directory of credentials, and an endpoint that reads it.
func (s *scene) plantFile(birds map[string]canary, echo *server) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.files, "bird"), []byte(birds["file"].value), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.Apply("%s", endpointYAML("ClusterRestEndpoint", "", "guarded-file", echo.URL, "auth: {headers: [{name: X-File, valueRef: {file: bird}}]}\n  allowedNamespaces: {names: [attacker]}"))
}

// plantInVault puts a canary into Vault, which is opened with another one.
func (s *scene) plantInVault(birds map[string]canary) *server {
	s.t.Helper()
	fake := vaultfake.New()
	s.t.Cleanup(fake.Close)
	fake.Allow(birds["vault-token"].value, true)
	fake.Put("birds", map[string]any{"value": birds["vault"].value})
	return listen(s.t, allowedHost, fake.Config.Handler.ServeHTTP)
}

// plantOutput has a server give a canary for an answer, which goes into a Secret and nowhere else.
func (s *scene) plantOutput(birds map[string]canary) {
	s.t.Helper()
	giver := listen(s.t, allowedHost, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodPost:
			w.WriteHeader(http.StatusCreated)
			_, _ = fmt.Fprintf(w, `{"id":"1","token":%q}`, birds["output"].value)
		case r.URL.Path == "/issued":
			_, _ = io.WriteString(w, "[]")
		default:
			_, _ = io.WriteString(w, `{"id":"1","note":"x"}`)
		}
	})
	s.Apply("%s", endpointYAML("RestEndpoint", "attacker", "giver", giver.URL, ""))
	s.Apply("%s", mapping("canary-out", "{kind: RestEndpoint, name: giver}", `
  identifiers: [{name: id, assigned: response.body.id}]
  operations:
    read: {path: "/issued/{id}"}
    create: {path: /issued}
  fields: [{from: spec.note, to: note}]
  outputs: [{name: token, kind: Secret, operations: [Create], data: {token: response.body.token}}]
`))
	s.Apply("%s", thing("canary-out", "attacker", "canary-out", "{note: x}"))
	s.reason(of("canary-out", "canary-out"), "attacker", "Ready", func(said string) bool { return strings.HasPrefix(said, "True ") })
}

// jwts are the tokens of ServiceAccounts that a server got.
func jwts(echo *server) []canary {
	found := map[string]bool{}
	for _, r := range echo.requests() {
		if token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer eyJ"); ok {
			found[token[strings.LastIndex(token, ".")+1:]] = true
		}
	}
	birds := make([]canary, 0, len(found))
	for signature := range found {
		birds = append(birds, canary{"account", signature})
	}
	return birds
}

// polls makes custom resources whose server says, at an address of each target, how far an operation has come that it does later.
func polls(s *scene, targets []string) (names []string) {
	s.t.Helper()
	s.Apply("%s", mapping("poll", "{kind: RestEndpoint, name: evil}", `
  identifiers: [{name: id, value: self.metadata.name}]
  operations:
    read: {path: "/poll/{id}"}
    create: {method: PUT, path: "/poll/{id}", async: {interval: 500ms, deadline: 10s}}
  fields: [{from: spec.note, to: note}]
`))
	var all strings.Builder
	for i := range targets {
		names = append(names, fmt.Sprintf("poll-%d", i))
		all.WriteString(thing("poll", "attacker", names[i], "{note: x}"))
	}
	s.Apply("%s", all.String())
	return names
}
