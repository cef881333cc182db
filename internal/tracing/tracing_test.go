package tracing_test

import (
	"context"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/grpc"

	"github.com/restmapping/operator/internal/otlpfake"
	"github.com/restmapping/operator/internal/tracing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// with sets variables of the process, which the library reads by itself, and gives New's configuration.
func with(t *testing.T, variables map[string]string, log logr.Logger) tracing.Config {
	t.Helper()
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "OTEL_") {
			t.Setenv(name, "")
		}
	}
	for name, value := range variables {
		t.Setenv(name, value)
	}
	return tracing.Config{Env: os.LookupEnv, Version: "1.2.3", Log: log}
}

func TestTheEnvironmentTurnsTracesOn(t *testing.T) {
	const endpoint = "http://127.0.0.1:1"
	cases := map[string]struct {
		variables map[string]string
		on, tells bool
	}{
		"nothing":                              {nil, false, false},
		"an address":                           {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint}, true, true},
		"an address for traces":                {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": endpoint + "/x"}, true, true},
		"an exporter":                          {map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true, true},
		"an address, and no exporter":          {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_TRACES_EXPORTER": "none"}, false, false},
		"turned off":                           {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_SDK_DISABLED": "TRUE"}, false, false},
		"not turned off":                       {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_SDK_DISABLED": "false"}, true, true},
		"gRPC":                                 {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, true, true},
		"no propagator":                        {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_PROPAGATORS": "none"}, true, false},
		"baggage, of which there is none here": {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_PROPAGATORS": "baggage"}, true, false},
		"the usual propagators":                {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_PROPAGATORS": "tracecontext, baggage"}, true, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			made, err := tracing.New(t.Context(), with(t, tc.variables, logr.Discard()))
			if err != nil {
				t.Fatal(err)
			}
			if (made.Tracer != nil) != tc.on || (made.Propagator != nil) != tc.tells {
				t.Errorf("traces %t, servers are told %t", made.Tracer != nil, made.Propagator != nil)
			}
			if err := made.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestWhatIsNotKnownIsRefused(t *testing.T) {
	for variable, value := range map[string]string{
		"OTEL_TRACES_EXPORTER": "zipkin", "OTEL_EXPORTER_OTLP_PROTOCOL": "thrift", "OTEL_PROPAGATORS": "b3",
		"OTEL_RESOURCE_ATTRIBUTES": "nothing",
	} {
		t.Run(variable, func(t *testing.T) {
			variables := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", variable: value}
			_, err := tracing.New(t.Context(), with(t, variables, logr.Discard()))
			if err == nil || !strings.Contains(err.Error(), variable) || !strings.Contains(err.Error(), ": give ") {
				t.Errorf("gave %v", err)
			}
		})
	}
}

// receiver starts a receiver that ends with the test.
func receiver(t *testing.T) *otlpfake.Receiver {
	t.Helper()
	r := otlpfake.New()
	t.Cleanup(r.Close)
	return r
}

func TestSpansArriveByHTTP(t *testing.T) {
	r := receiver(t)
	made, err := tracing.New(t.Context(), with(t, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": r.URL, "OTEL_EXPORTER_OTLP_HEADERS": "x-tenant=blue", "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test",
		"OTEL_SERVICE_NAME": "ours",
	}, logr.Discard()))
	if err != nil {
		t.Fatal(err)
	}
	_, span := made.Tracer.Start(t.Context(), "pass things")
	span.End()
	if len(r.Spans()) > 0 {
		t.Error("a span was sent before its batch was due: what is measured below would be another way")
	}
	if err := made.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	got := r.Spans()
	if len(got) != 1 || got[0].Name != "pass things" || r.Header().Get("X-Tenant") != "blue" || len(r.Problems()) > 0 {
		t.Fatalf("received %v with %v, not understood %q", got, r.Header(), r.Problems())
	}
	for name, want := range map[string]string{"service.name": "ours", "service.version": "1.2.3", "deployment.environment.name": "test"} {
		if got := got[0].Resource[name]; got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
}

func TestTheSamplerIsThatOfTheEnvironment(t *testing.T) {
	r := receiver(t)
	made, err := tracing.New(t.Context(), with(t, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": r.URL, "OTEL_TRACES_SAMPLER": "always_off",
	}, logr.Discard()))
	if err != nil {
		t.Fatal(err)
	}
	_, span := made.Tracer.Start(t.Context(), "pass things")
	span.End()
	if err := made.Close(t.Context()); err != nil || span.SpanContext().IsSampled() || len(r.Spans()) > 0 {
		t.Errorf("%v, sampled %t, received %v", err, span.SpanContext().IsSampled(), r.Spans())
	}
}

// grpcReceiver takes OTLP over gRPC.
type grpcReceiver struct {
	collector.UnimplementedTraceServiceServer
	got chan *collector.ExportTraceServiceRequest
}

// Export implements the service.
func (r *grpcReceiver) Export(_ context.Context, req *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	r.got <- req
	return &collector.ExportTraceServiceResponse{}, nil
}

func TestSpansArriveByGRPC(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r, server := &grpcReceiver{got: make(chan *collector.ExportTraceServiceRequest, 1)}, grpc.NewServer()
	collector.RegisterTraceServiceServer(server, r)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		<-ended
	})
	made, err := tracing.New(t.Context(), with(t, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + listener.Addr().String(), "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
	}, logr.Discard()))
	if err != nil {
		t.Fatal(err)
	}
	_, span := made.Tracer.Start(t.Context(), "pass things")
	span.End()
	if err := made.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := (<-r.got).GetResourceSpans()[0].GetScopeSpans()[0].GetSpans()[0].GetName(); got != "pass things" {
		t.Errorf("received %q", got)
	}
}

// A receiver that is away costs its spans, and no more than the time that the stop allows.
func TestAReceiverThatIsAwayHoldsNothingUp(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0") // takes connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	made, err := tracing.New(t.Context(), with(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + listener.Addr().String()}, logr.Discard()))
	if err != nil {
		t.Fatal(err)
	}
	_, span := made.Tracer.Start(t.Context(), "pass things")
	span.End()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := made.Close(ctx); err == nil {
		t.Error("spans that were never sent are no error")
	}
}
