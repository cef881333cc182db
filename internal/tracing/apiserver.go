package tracing

import (
	"net/http"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/rest"
)

// APIServer gives the configuration with a span around each request to the API server that is made within another span. The
// API server itself is told nothing of the trace.
func (t Tracing) APIServer(config *rest.Config) *rest.Config {
	if t.Tracer == nil {
		return config
	}
	config = rest.CopyConfig(config)
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper { return &apiServer{inner: inner, tracer: t.Tracer} })
	return config
}

type apiServer struct {
	inner  http.RoundTripper
	tracer trace.Tracer
}

// WrappedRoundTripper lets client-go close idle connections.
func (a *apiServer) WrappedRoundTripper() http.RoundTripper { return a.inner }

// RoundTrip implements http.RoundTripper.
func (a *apiServer) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if !trace.SpanFromContext(ctx).IsRecording() {
		return a.inner.RoundTrip(r)
	}
	infos := request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	info, err := infos.NewRequestInfo(r)
	if err != nil || !info.IsResourceRequest || info.Verb == "watch" {
		return a.inner.RoundTrip(r)
	}
	template := templateOf(info)
	list := []attribute.KeyValue{
		semconv.HTTPRequestMethodKey.String(r.Method), semconv.URLTemplate(template), semconv.ServerAddress(r.URL.Hostname()),
	}
	if port, err := strconv.Atoi(r.URL.Port()); err == nil {
		list = append(list, semconv.ServerPort(port))
	}
	_, span := a.tracer.Start(ctx, r.Method+" "+template, trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(list...))
	defer span.End()
	answer, err := a.inner.RoundTrip(r)
	switch {
	case err != nil:
		span.SetAttributes(semconv.ErrorTypeKey.String("NoAnswer"))
		span.SetStatus(codes.Error, "")
	default:
		span.SetAttributes(semconv.HTTPResponseStatusCode(answer.StatusCode))
		if answer.StatusCode >= http.StatusBadRequest {
			span.SetAttributes(semconv.ErrorTypeKey.String(strconv.Itoa(answer.StatusCode)))
			span.SetStatus(codes.Error, "")
		}
	}
	return answer, err
}

// templateOf is the path without the names of objects and namespaces.
func templateOf(info *request.RequestInfo) string {
	parts := []string{"", info.APIPrefix}
	if info.APIGroup != "" {
		parts = append(parts, info.APIGroup)
	}
	parts = append(parts, info.APIVersion)
	if info.Namespace != "" && info.Resource != "namespaces" {
		parts = append(parts, "namespaces", "{namespace}")
	}
	parts = append(parts, info.Resource)
	if info.Name != "" {
		parts = append(parts, "{name}")
	}
	if info.Subresource != "" {
		parts = append(parts, info.Subresource)
	}
	return strings.Join(parts, "/")
}
