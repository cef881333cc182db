package pass_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/restfake"
	"github.com/restmapping/operator/pkg/engine/fleet"
	"github.com/restmapping/operator/pkg/engine/pass"
	"github.com/restmapping/operator/pkg/httpapi"
	"github.com/restmapping/operator/pkg/mapping"
	"github.com/restmapping/operator/pkg/rest"
)

// credential is the endpoint's own secret.
const credential = "tok-1234-credential"

// requestTime is the endpoint's timeout.
const requestTime = 30 * time.Second

// server is a REST server in memory, reached through the client that is shipped.
type server struct {
	*restfake.Server
	client   *httpapi.Client
	journal  *journal
	facts    mapping.EndpointFacts
	identity string
	timeout  time.Duration
	// before sees each request before it is sent; instead may answer in the server's place.
	before  func(line string)
	instead func(req rest.Request) *rest.Exchange
	// declared and probe are the endpoint's probe.
	declared bool
	probe    error
	// unavailable, when set, is why the endpoint cannot be used.
	unavailable error
	// asked is the kind, namespace and name that was asked for last.
	asked string
	// asking, when set, sees the context of whoever asks for the endpoint.
	asking func(ctx context.Context)
}

func newServer(t *testing.T, j *journal, now clock.PassiveClock, collections ...restfake.Collection) *server {
	t.Helper()
	fake := restfake.New(collections, restfake.WithClock(now.Now))
	listener := httptest.NewServer(fake)
	client, err := httpapi.NewClient(httpapi.Config{BaseURL: listener.URL, Timeout: requestTime, Addresses: loopback()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		fake.Close()
		listener.Close()
	})
	return &server{
		Server: fake, client: client, journal: j, identity: "server-a", timeout: requestTime,
		facts:  mapping.EndpointFacts{Name: "main", Values: map[string]string{"org": "acme"}},
		before: func(string) {}, instead: func(rest.Request) *rest.Exchange { return nil },
	}
}

// loopback lets a client reach the servers of tests.
func loopback() httpapi.Addresses {
	return httpapi.Addresses{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
}

// Resolve implements pass.Endpoints.
func (s *server) Resolve(ctx context.Context, kind v1alpha1.EndpointKind, namespace, name string) (pass.Endpoint, error) {
	if s.asking != nil {
		s.asking(ctx)
	}
	s.asked = string(kind) + " " + namespace + "/" + name
	if s.unavailable != nil {
		return nil, s.unavailable
	}
	return s, nil
}

// Do implements pass.Server.
func (s *server) Do(ctx context.Context, req rest.Request) rest.Exchange {
	line := req.Method + " " + req.Path + req.Follow
	s.journal.add(line)
	s.before(line)
	if x := s.instead(req); x != nil {
		return *x
	}
	return s.client.Do(ctx, req)
}

// Probe implements pass.Server.
func (s *server) Probe(context.Context, time.Time) (bool, error) {
	if s.declared {
		s.journal.add("probe")
	}
	return s.declared, s.probe
}

// Redact implements pass.Server.
func (s *server) Redact(text string) string {
	return strings.ReplaceAll(text, credential, "[redacted]")
}

// Reference implements pass.Server.
func (s *server) Reference(req rest.Request, reference string) (string, error) {
	return s.client.Reference(req, reference)
}

// Facts implements pass.Endpoint.
func (s *server) Facts() mapping.EndpointFacts { return s.facts }

// Identity implements pass.Endpoint.
func (s *server) Identity() string { return s.identity }

// Timeout implements pass.Endpoint.
func (s *server) Timeout() time.Duration { return s.timeout }

// fault puts a fault on the next request of a method.
func (s *server) fault(method string, fault restfake.Fault) {
	s.AddRule(restfake.Rule{Method: method, Times: 1, Fault: fault})
}

// vault is a fixed set of Secrets: "namespace/name/key".
type vault struct {
	mu     sync.Mutex
	values map[string]string
	fail   error
}

// Value implements pass.Secrets.
func (v *vault) Value(_ context.Context, namespace, name, key string) (string, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.fail != nil {
		return "", v.fail
	}
	value, ok := v.values[namespace+"/"+name+"/"+key]
	if !ok {
		return "", &pass.UnavailableError{Reason: v1alpha1.ReasonSecretNotFound, Err: errors.New("Secret " + name + " has no key " + key)}
	}
	return value, nil
}

func (v *vault) set(path, value string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.values[path] = value
}

// events keeps what was told, as "Type Reason: message".
type events struct {
	mu    sync.Mutex
	lines []string
}

// Normal implements pass.Events.
func (e *events) Normal(_ *fleet.Object, reason, _, message string) {
	e.add("Normal " + reason + ": " + message)
}

// Warning implements pass.Events.
func (e *events) Warning(_ *fleet.Object, reason, _, message string) {
	e.add("Warning " + reason + ": " + message)
}

func (e *events) add(line string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.lines = append(e.lines, line)
}

func (e *events) take() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	lines := e.lines
	e.lines = nil
	return lines
}
