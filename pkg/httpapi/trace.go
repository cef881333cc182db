package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/restmapping/operator/pkg/rest"
)

// Tracing says how the requests of a client are traced.
type Tracing struct {
	// Tracer makes the spans; nil for none.
	Tracer trace.Tracer
	// Propagator writes the trace into requests to the endpoint's own origin; nil for none.
	Propagator propagation.TextMapPropagator
	// Endpoint is the name of the endpoint in spans.
	Endpoint string
}

// WithTracing makes a span of every request that is sent, a login's among them. A span holds what an author or an
// administrator has written (method, route, server) and closed sets, and never a path with its values, a query, a header or
// a body.
func WithTracing(t Tracing) Option {
	return func(c *Client) {
		if t.Tracer != nil {
			c.tracing = &t
		}
	}
}

// The attributes that are ours.
const (
	endpointAttribute  = attribute.Key("restmapping.endpoint")
	operationAttribute = attribute.Key("restmapping.operation")
	heldAttribute      = attribute.Key("restmapping.held_by")
	waitedAttribute    = attribute.Key("restmapping.waited_seconds")
)

// What a request is for that is no operation of a mapping.
const (
	loginOperation rest.Operation = "Login"
	tokenOperation rest.Operation = "Token"
)

// noAnswer is the failure of a login that got none.
const noAnswer = "NoAnswer"

// worthTelling is the shortest wait for limits that a span tells.
const worthTelling = 10 * time.Millisecond

// call is one request as a span may show it.
type call struct {
	operation rest.Operation
	route     string
	// resent counts the times that the same was sent before: redirects that were followed.
	resent int
	// foreign tells that the server is another than the endpoint, which is told nothing of the trace.
	foreign bool
}

// span is one request that is being sent; the zero value is none.
type span struct{ trace.Span }

// begin makes the span of a request that is about to be sent, and tells the server about it.
func (c *Client) begin(ctx context.Context, out *http.Request, what call) span {
	if c.tracing == nil {
		return span{}
	}
	ctx, made := c.tracing.Tracer.Start(ctx, spanName(out.Method, what.route), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(c.tracing.attributes(out, what)...))
	if p := c.tracing.Propagator; p != nil && !what.foreign {
		p.Inject(ctx, propagation.HeaderCarrier(out.Header))
	}
	return span{made}
}

func spanName(method, route string) string {
	if route, _, _ = strings.Cut(route, "?"); route != "" {
		return method + " " + route
	}
	return method
}

func (t *Tracing) attributes(out *http.Request, what call) []attribute.KeyValue {
	list := []attribute.KeyValue{
		semconv.HTTPRequestMethodKey.String(out.Method), semconv.ServerAddress(out.URL.Hostname()), semconv.ServerPort(portNumber(out.URL)),
		operationAttribute.String(string(what.operation)),
	}
	if route, _, _ := strings.Cut(what.route, "?"); route != "" {
		list = append(list, semconv.URLTemplate(route))
	}
	if t.Endpoint != "" {
		list = append(list, endpointAttribute.String(t.Endpoint))
	}
	if what.resent > 0 {
		list = append(list, semconv.HTTPRequestResendCount(what.resent))
	}
	return list
}

// portNumber is zero for what is none, which a client never sends to.
func portNumber(u *url.URL) int {
	number, err := strconv.Atoi(port(u))
	if err != nil {
		return 0
	}
	return number
}

// end finishes the span with what the exchange has shown, and gives the exchange back.
func (s span) end(exchange rest.Exchange) rest.Exchange {
	if s.Span == nil {
		return exchange
	}
	status := 0
	if exchange.Response != nil {
		status = exchange.Response.Status
	}
	failure := ""
	if exchange.Failure != nil {
		failure = string(exchange.Failure.Kind)
	}
	s.close(status, failure)
	return exchange
}

// close finishes the span. A failure that is not empty is what kept the answer from being of use; otherwise the status tells.
func (s span) close(status int, failure string) {
	if s.Span == nil {
		return
	}
	if status > 0 {
		s.SetAttributes(semconv.HTTPResponseStatusCode(status))
	}
	if failure == "" && status >= http.StatusBadRequest {
		failure = strconv.Itoa(status)
	}
	if failure != "" {
		s.SetAttributes(semconv.ErrorTypeKey.String(failure))
		s.SetStatus(codes.Error, "")
	}
	s.End()
}

// noteOnSpan tells the caller's span what happened before a request could be sent, if that took time or kept it back.
func noteOnSpan(ctx context.Context, o Observation) {
	caller := trace.SpanFromContext(ctx)
	if !caller.IsRecording() || o.Waited < worthTelling && o.Held == "" && o.Failure != rest.NotSent {
		return
	}
	list := []attribute.KeyValue{
		operationAttribute.String(string(o.Operation)), semconv.HTTPRequestMethodKey.String(o.Method),
		waitedAttribute.Float64(o.Waited.Seconds()),
	}
	if o.Held != "" {
		list = append(list, heldAttribute.String(string(o.Held)))
	}
	name := "request waited"
	if o.Failure == rest.NotSent {
		name = "request not sent"
	}
	caller.AddEvent(name, trace.WithAttributes(list...))
}
