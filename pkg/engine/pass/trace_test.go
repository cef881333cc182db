package pass_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/restmapping/operator/pkg/httpapi"
)

// traced gives the bench's reconciler a tracer, and its server's client one.
func (b *bench) traced(sampler sdktrace.Sampler, answers http.Handler) *tracetest.SpanRecorder {
	b.Helper()
	recorder := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder), sdktrace.WithSampler(sampler)).Tracer("test")
	b.tracer = tracer
	b.restart()
	b.advance(settleTime)
	listener := httptest.NewServer(answers)
	client, err := httpapi.NewClient(httpapi.Config{BaseURL: listener.URL, Timeout: requestTime, Addresses: loopback()},
		httpapi.WithTracing(httpapi.Tracing{Tracer: tracer}))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		client.Close()
		listener.Close()
	})
	b.server.client.Close()
	b.server.client = client
	return recorder
}

// passSpan is what the test wants to know of a span.
type passSpan struct {
	Name, Attributes string
	Steps            []string
	Children         []string
	Status           codes.Code
}

// passes gives the spans of passes with the names of their children.
func passes(recorder *tracetest.SpanRecorder) []passSpan {
	children := map[trace.SpanID][]string{}
	var found []passSpan
	for _, s := range recorder.Ended() {
		if s.Parent().IsValid() {
			children[s.Parent().SpanID()] = append(children[s.Parent().SpanID()], s.Name())
			continue
		}
		made := passSpan{Name: s.Name(), Children: children[s.SpanContext().SpanID()], Status: s.Status().Code}
		var list []string
		for _, a := range s.Attributes() {
			list = append(list, fmt.Sprintf("%s=%s", strings.TrimPrefix(string(a.Key), "restmapping."), a.Value.String()))
		}
		slices.Sort(list)
		made.Attributes = strings.Join(list, " ")
		for _, e := range s.Events() {
			for _, a := range e.Attributes {
				made.Steps = append(made.Steps, a.Value.AsString())
			}
		}
		found = append(found, made)
	}
	return found
}

func TestAPassIsASpanWithItsRequestsBelow(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	recorder := b.traced(sdktrace.AlwaysSample(), b.server)
	b.create("one", "{size: 3}")
	b.look("one")
	b.advance(settleTime)
	b.look("one")
	const object = "deleting=false drifted=false generation=1 k8s.namespace.name=team kind=Thing mapping=things name=one outcome="
	want := []passSpan{
		{
			Name: "pass things", Attributes: object + "Finish reason=InSync",
			Steps:    []string{"Observe", "WriteIntent", "SendCreate", "Observe"},
			Children: []string{"GET /things/{id}", "PUT /things/{id}", "GET /things/{id}"},
		},
		{Name: "pass things", Attributes: object + "Finish reason=InSync", Steps: []string{"Observe"}, Children: []string{"GET /things/{id}"}},
	}
	if diff := cmp.Diff(want, passes(recorder)); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

// What went wrong is told by a reason; the words of servers and of errors, values and secrets stay out.
func TestAPassThatFailsShowsNoSecret(t *testing.T) {
	t.Parallel()
	const canary = "canary-7f3a"
	b := newBench(t, strings.Replace(upsertMapping, "  fields: [", `  secrets: [{name: password, refExpression: self.spec.passwordRef}]
  fields: [{to: password, value: secrets.password, writeOnly: true}, `, 1), upsertThings())
	b.vault.set("team/pw/key", canary)
	recorder := b.traced(sdktrace.AlwaysSample(), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		status := http.StatusUnprocessableEntity
		if r.Method == http.MethodGet {
			status = http.StatusNotFound
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"message": "` + canary + ` is too short for ` + credential + `"}`))
	}))
	b.create("one", "{size: 3, passwordRef: {name: pw, key: key}}")
	b.look("one")
	b.store.before = func(string) error { return errors.New(canary) }
	b.advance(settleTime)
	b.setSpec("one", "size", int64(4))
	b.look("one")
	text, err := json.Marshal(tracetest.SpanStubsFromReadOnlySpans(recorder.Ended()))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), canary) || strings.Contains(string(text), credential) {
		t.Errorf("spans hold a secret: %s", text)
	}
	var ends []string
	for _, span := range passes(recorder) {
		if span.Status != codes.Error {
			t.Errorf("no failure: %+v", span)
		}
		_, end, _ := strings.Cut(span.Attributes, "outcome=")
		ends = append(ends, end)
	}
	want := []string{"Stall reason=RequestRejected", "Retry reason=InternalError"}
	if diff := cmp.Diff(want, ends); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
}

func TestLogLinesNameATraceThatIsSampled(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		sampler sdktrace.Sampler
		named   bool
	}{"sampled": {sdktrace.AlwaysSample(), true}, "not sampled": {sdktrace.NeverSample(), false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, upsertMapping, upsertThings())
			b.traced(tc.sampler, b.server)
			b.create("one", "{size: 3}")
			var line string
			log := funcr.New(func(_, args string) { line = args }, funcr.Options{})
			b.server.asking = func(ctx context.Context) { logr.FromContextOrDiscard(ctx).Info("resolving") }
			result := b.reconciler.Handle(logr.NewContext(t.Context(), log), named("one"))
			if (result.Trace != "") != tc.named {
				t.Errorf("the queue is told trace %q", result.Trace)
			}
			if named := strings.Contains(line, `"trace_id"="`+result.Trace+`"`) && result.Trace != ""; named != tc.named {
				t.Errorf("logged %s", line)
			}
		})
	}
}
