package endpoints_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/endpoints"
	"github.com/restmapping/operator/pkg/httpapi"
)

// A server is told of the trace as its endpoint says; the span is made either way.
func TestAnEndpointSaysWhetherItsServerIsToldOfTraces(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		says v1alpha1.TraceContext
		told bool
	}{
		"nothing": {"", true}, "Send": {v1alpha1.TraceContextSend, true}, "Omit": {v1alpha1.TraceContextOmit, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recorder := tracetest.NewSpanRecorder()
			tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("test")
			s := newServer(t)
			w := newWorld(t, endpoints.WithTracing(httpapi.Tracing{Tracer: tracer, Propagator: propagation.TraceContext{}}))
			w.create(restEndpoint("team-a", "gitea", s.URL, func(spec *v1alpha1.EndpointSpec) { spec.TraceContext = tc.says }))
			mustDo(t, w.resolve(gitea), "/x")
			if told := s.seen()[0].Header.Get("Traceparent") != ""; told != tc.told {
				t.Errorf("the server is told: %t", told)
			}
			var named []string
			for _, span := range recorder.Ended() {
				set := attribute.NewSet(span.Attributes()...)
				value, _ := set.Value("restmapping.endpoint")
				named = append(named, value.AsString())
			}
			if diff := cmp.Diff([]string{"RestEndpoint team-a/gitea"}, named); diff != "" {
				t.Errorf("spans (-want +got):\n%s", diff)
			}
		})
	}
}
