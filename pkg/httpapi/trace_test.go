package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/restmapping/operator/pkg/rest"
)

// traces makes spans that stay in memory.
type traces struct {
	*tracetest.SpanRecorder
	tracer trace.Tracer
}

func newTraces() *traces {
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	return &traces{recorder, provider.Tracer("test")}
}

func (r *traces) option() Option {
	return WithTracing(Tracing{Tracer: r.tracer, Propagator: propagation.TraceContext{}, Endpoint: "RestEndpoint team/main"})
}

// lines shows each client span that has ended: its name, attributes and status.
func (r *traces) lines() []string {
	var lines []string
	for _, s := range r.Ended() {
		if s.SpanKind() != trace.SpanKindClient {
			continue
		}
		var list []string
		for _, a := range s.Attributes() {
			if a.Key == "server.port" {
				continue // another with each run
			}
			list = append(list, fmt.Sprintf("%s=%s", a.Key, a.Value.String()))
		}
		slices.Sort(list)
		lines = append(lines, strings.TrimSpace(s.Name()+" "+strings.Join(list, " ")+" "+strings.TrimPrefix(s.Status().Code.String(), "Unset")))
	}
	return lines
}

// told are the values of traceparent that a server has got, by path.
type told struct {
	mu     sync.Mutex
	values []string
}

func (s *told) note(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values = append(s.values, r.Header.Get("Traceparent"))
}

func TestARequestIsASpanThatTheServerIsToldOf(t *testing.T) {
	t.Parallel()
	recorded, heard := newTraces(), &told{}
	client := connect(t, Config{BaseURL: serve(t, func(w http.ResponseWriter, r *http.Request) {
		heard.note(r)
		switch r.URL.Path {
		case "/api/old":
			http.Redirect(w, r, "/api/new", http.StatusFound)
		case "/api/none":
			w.WriteHeader(http.StatusNotFound)
		case "/api/torn":
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte("{"))
		}
	}), Query: []rest.Parameter{{Name: "key", Value: canary}}, Headers: []rest.Parameter{{Name: "X-Key", Value: canary}}}, recorded.option())
	ctx, parent := recorded.tracer.Start(t.Context(), "pass")
	for _, path := range []string{"/old", "/none", "/torn"} {
		req := get(path)
		req.Route = "/things/{id}?key=" + canary
		client.Do(ctx, req)
	}
	parent.End()
	const common = " http.request.method=GET"
	const ours = " restmapping.endpoint=RestEndpoint team/main restmapping.operation=Read server.address=127.0.0.1 url.template=/things/{id}"
	want := []string{
		"GET /things/{id}" + common + " http.response.status_code=302" + ours,
		"GET /things/{id}" + common + " http.request.resend_count=1 http.response.status_code=200" + ours,
		"GET /things/{id} error.type=404" + common + " http.response.status_code=404" + ours + " Error",
		"GET /things/{id} error.type=Undecodable" + common + " http.response.status_code=200" + ours + " Error",
	}
	if diff := cmp.Diff(want, recorded.lines()); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	for i, s := range recorded.Ended()[:len(heard.values)] {
		if s.Parent().SpanID() != parent.SpanContext().SpanID() {
			t.Errorf("span %d has parent %s", i, s.Parent().SpanID())
		}
		if want := fmt.Sprintf("00-%s-%s-01", parent.SpanContext().TraceID(), s.SpanContext().SpanID()); heard.values[i] != want {
			t.Errorf("request %d said traceparent %q, want %q", i, heard.values[i], want)
		}
	}
	if got := dump(t, recorded); strings.Contains(got, canary) {
		t.Errorf("a span holds what is secret: %s", got)
	}
}

// dump is all that the spans hold.
func dump(t *testing.T, r *traces) string {
	t.Helper()
	text, err := json.Marshal(tracetest.SpanStubsFromReadOnlySpans(r.Ended()))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAnEndpointThatOmitsTheTraceIsToldNothing(t *testing.T) {
	t.Parallel()
	for name, option := range map[string]func(*traces) Option{
		"without a propagator": func(r *traces) Option { return WithTracing(Tracing{Tracer: r.tracer}) },
		"without a tracer":     func(*traces) Option { return WithTracing(Tracing{Propagator: propagation.TraceContext{}}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recorded, heard := newTraces(), &told{}
			client := connect(t, Config{BaseURL: serve(t, func(_ http.ResponseWriter, r *http.Request) { heard.note(r) })}, option(recorded))
			ctx, parent := recorded.tracer.Start(t.Context(), "pass")
			wantStatus(t, client.Do(ctx, get("/x")), 200)
			parent.End()
			if diff := cmp.Diff([]string{""}, heard.values); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A request for a token is a span, and so is a login; only the endpoint's own origin hears of the trace.
func TestLoginsAreSpans(t *testing.T) {
	t.Parallel()
	recorded, heard := newTraces(), &told{}
	tokens := newIssuer(t)
	tokens.answer(func(w http.ResponseWriter, r *http.Request) {
		heard.note(r)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"` + canary + `","token_type":"bearer"}`))
	})
	ctx, parent := recorded.tracer.Start(t.Context(), "pass")
	byToken := connect(t, tokens.config(), recorded.option())
	wantStatus(t, byToken.Do(ctx, get("/x")), 200)
	bySession := connect(t, Config{BaseURL: serve(t, func(w http.ResponseWriter, r *http.Request) {
		heard.note(r)
		_, _ = w.Write([]byte(`{"data":{"token":"` + canary + `"}}`))
	}), Credential: session(nil)}, recorded.option())
	wantStatus(t, bySession.Do(ctx, get("/x")), 200)
	parent.End()
	const ours = " http.response.status_code=200 restmapping.endpoint=RestEndpoint team/main restmapping.operation="
	want := []string{
		"POST /token http.request.method=POST" + ours + "Token server.address=127.0.0.1 url.template=/token",
		"GET /things/{id} http.request.method=GET" + ours + "Read server.address=127.0.0.1 url.template=/things/{id}",
		"POST /login http.request.method=POST" + ours + "Login server.address=127.0.0.1 url.template=/login",
		"GET /things/{id} http.request.method=GET" + ours + "Read server.address=127.0.0.1 url.template=/things/{id}",
	}
	if diff := cmp.Diff(want, recorded.lines()); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	if len(heard.values) != 3 || heard.values[0] != "" || heard.values[1] == "" || heard.values[2] == "" {
		t.Errorf("token endpoint, login and API have heard %q", heard.values)
	}
	if got := dump(t, recorded); strings.Contains(got, canary) || strings.Contains(got, "cret") {
		t.Errorf("a span holds what is secret: %s", got)
	}
}

// What was never sent is no span of its own, but the caller's tells why.
func TestWhatIsHeldIsToldToTheCaller(t *testing.T) {
	t.Parallel()
	recorded := newTraces()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
	}))
	t.Cleanup(server.Close)
	client := connect(t, Config{BaseURL: server.URL}, recorded.option())
	ctx, parent := recorded.tracer.Start(t.Context(), "pass")
	client.Do(ctx, get("/x"))
	wantFailure(t, client.Do(ctx, get("/x")), rest.NotSent)
	parent.End()
	if got := len(recorded.lines()); got != 1 {
		t.Errorf("%d client spans, want that of the one request", got)
	}
	ended := recorded.Ended()
	events := ended[len(ended)-1].Events()
	if len(events) != 1 || events[0].Name != "request not sent" || !slices.Contains(events[0].Attributes, attribute.String("restmapping.held_by", "Server")) {
		t.Errorf("events %+v", events)
	}
}

// A login that gets no answer ends its span.
func TestALoginWithoutAnAnswerIsAFailedSpan(t *testing.T) {
	t.Parallel()
	recorded := newTraces()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for _, cfg := range []Config{
		{BaseURL: gone.URL, Credential: session(nil)},
		{BaseURL: gone.URL, Credential: Credential{OAuth2: &OAuth2{TokenURL: gone.URL + "/token", ClientID: "me", ClientSecret: NewSecret("s"), Style: StyleInHeader}}},
	} {
		client := connect(t, cfg, recorded.option())
		wantFailure(t, client.Do(ctx, get("/x")), rest.NotSent)
	}
	for _, line := range recorded.lines() {
		if !strings.Contains(line, "error.type=NoAnswer") || !strings.HasSuffix(line, "Error") {
			t.Errorf("span %s", line)
		}
	}
	if got := len(recorded.lines()); got != 2 {
		t.Errorf("%d spans", got)
	}
}
