package tracing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// serviceName is that of a process whose environment gives it no other.
const serviceName = "restmapping-operator"

// scope names the code that makes the spans.
const scope = "github.com/restmapping/operator"

// Tracing makes spans. The zero value makes none and costs nothing.
type Tracing struct {
	// Tracer is nil when nothing is traced.
	Tracer trace.Tracer
	// Propagator is nil when no server is told of a trace.
	Propagator propagation.TextMapPropagator

	close func(context.Context) error
}

// Config is what New needs.
type Config struct {
	// Env looks up a variable of the process's own environment. The library reads further ones there by itself: the address,
	// headers and certificates of OTEL_EXPORTER_OTLP_*, OTEL_TRACES_SAMPLER, OTEL_RESOURCE_ATTRIBUTES, OTEL_BSP_*, OTEL_SPAN_*.
	Env func(name string) (string, bool)
	// Version is the operator's.
	Version string
	// Log is told what cannot be sent.
	Log logr.Logger
}

// New gives what the environment asks for. Nothing is sent yet, and a receiver that is not there is no error. An error names
// the variable and what it may be.
func New(ctx context.Context, c Config) (Tracing, error) {
	wanted, err := read(c.Env)
	if err != nil || !wanted.on {
		return Tracing{}, err
	}
	from, err := resourceOf(ctx, c.Version)
	if err != nil {
		return Tracing{}, err
	}
	exporter, err := newExporter(ctx, wanted.protocol)
	if err != nil {
		return Tracing{}, fmt.Errorf("OTEL_EXPORTER_OTLP_*: %w", err)
	}
	otel.SetErrorHandler(newReporter(c.Log))
	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(from), sdktrace.WithBatcher(exporter))
	made := Tracing{Tracer: provider.Tracer(scope, trace.WithInstrumentationVersion(c.Version)), close: provider.Shutdown}
	if wanted.propagate {
		made.Propagator = propagation.TraceContext{}
	}
	return made, nil
}

// Close sends what has not been sent, until ctx ends.
func (t Tracing) Close(ctx context.Context) error {
	if t.close == nil {
		return nil
	}
	if err := t.close(ctx); err != nil {
		return fmt.Errorf("send the last spans: %w", err)
	}
	return nil
}

// settings are what the environment says.
type settings struct {
	on, propagate bool
	protocol      string
}

// The protocols of OTLP.
const (
	protocolHTTP = "http/protobuf"
	protocolJSON = "http/json"
	protocolGRPC = "grpc"
)

// read decides by the specification of OpenTelemetry, with one difference: the exporter is none until it or its address is
// named, since nothing listens on a pod's own loopback.
func read(env func(string) (string, bool)) (settings, error) {
	get := func(names ...string) string {
		for _, name := range names {
			if value, _ := env(name); strings.TrimSpace(value) != "" {
				return strings.ToLower(strings.TrimSpace(value))
			}
		}
		return ""
	}
	if off, err := strconv.ParseBool(get("OTEL_SDK_DISABLED")); err == nil && off {
		return settings{}, nil
	}
	s := settings{protocol: get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")}
	switch exporter := get("OTEL_TRACES_EXPORTER"); exporter {
	case "":
		s.on = get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT") != ""
	case "otlp":
		s.on = true
	case "none":
	default:
		return s, fmt.Errorf("OTEL_TRACES_EXPORTER: %q is not known here: give otlp or none", exporter)
	}
	if s.protocol == "" {
		s.protocol = protocolHTTP
	}
	if s.on && !slices.Contains([]string{protocolHTTP, protocolJSON, protocolGRPC}, s.protocol) {
		return s, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: %q is not known here: give http/protobuf, http/json or grpc", s.protocol)
	}
	var err error
	s.propagate, err = propagates(get("OTEL_PROPAGATORS"))
	return s, err
}

// propagates reads a list of propagators, of which W3C Trace Context is the one that is known here. Baggage is nothing: the
// operator has none.
func propagates(list string) (bool, error) {
	if list == "" {
		return true, nil
	}
	names := strings.FieldsFunc(list, func(r rune) bool { return r == ',' || r == ' ' })
	for _, name := range names {
		if !slices.Contains([]string{"tracecontext", "baggage", "none"}, name) {
			return false, fmt.Errorf("OTEL_PROPAGATORS: %q is not known here: give tracecontext or none", name)
		}
	}
	return slices.Contains(names, "tracecontext") && !slices.Contains(names, "none"), nil
}

// newExporter makes the exporter, which reads its address, headers and certificates from the environment.
func newExporter(ctx context.Context, protocol string) (sdktrace.SpanExporter, error) {
	if protocol == protocolGRPC {
		return otlptrace.New(ctx, otlptracegrpc.NewClient())
	}
	return otlptrace.New(ctx, otlptracehttp.NewClient())
}

// resourceOf says who makes the spans: what the environment gives wins.
func resourceOf(ctx context.Context, version string) (*resource.Resource, error) {
	made, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName(serviceName), semconv.ServiceVersion(version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrSchemaURLConflict) {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w: give name=value,name=value", err)
	}
	return made, nil
}
