// Package otlpfake is a receiver of OpenTelemetry's traces over HTTP, as a collector is, for tests. It decodes with
// OpenTelemetry's own module, so that what it takes a collector takes. The operator must not import it.
package otlpfake

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
)

// mostBytes is the longest batch that is taken.
const mostBytes = 16 << 20

// Receiver takes spans. Its owner must call Close.
type Receiver struct {
	*httptest.Server
	mu       sync.Mutex
	got      []*tracepb.ResourceSpans
	header   http.Header
	problems []string
}

// New starts a receiver on loopback; URL is what OTEL_EXPORTER_OTLP_ENDPOINT takes.
func New() *Receiver {
	r := &Receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(r.serve))
	return r
}

func (r *Receiver) serve(w http.ResponseWriter, req *http.Request) {
	sent, err := decode(req)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.problems = append(r.problems, err.Error())
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	r.got, r.header = append(r.got, sent.GetResourceSpans()...), req.Header
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func decode(req *http.Request) (*collector.ExportTraceServiceRequest, error) {
	if req.URL.Path != "/v1/traces" {
		return nil, fmt.Errorf("%s is not where traces go", req.URL.Path)
	}
	var body io.Reader = req.Body
	if req.Header.Get("Content-Encoding") == "gzip" {
		unpacked, err := gzip.NewReader(req.Body)
		if err != nil {
			return nil, err
		}
		body = unpacked
	}
	data, err := io.ReadAll(io.LimitReader(body, mostBytes))
	if err != nil {
		return nil, err
	}
	sent := &collector.ExportTraceServiceRequest{}
	return sent, proto.Unmarshal(data, sent)
}

// Header is that of the last batch.
func (r *Receiver) Header() http.Header {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.header
}

// Problems are the requests that could not be understood.
func (r *Receiver) Problems() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.problems
}

// Text is all that was received, as JSON.
func (r *Receiver) Text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var text strings.Builder
	for _, batch := range r.got {
		text.WriteString(protojson.Format(batch))
	}
	return text.String()
}

// Span is one span as it was received.
type Span struct {
	Trace, ID, Parent string
	Name              string
	Kind              tracepb.Span_SpanKind
	// Attributes are those of the span, Resource those of the process.
	Attributes, Resource map[string]string
}

// Spans gives what was received so far.
func (r *Receiver) Spans() []Span {
	r.mu.Lock()
	defer r.mu.Unlock()
	var found []Span
	for _, batch := range r.got {
		resource := values(batch.GetResource().GetAttributes())
		for _, scope := range batch.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				found = append(found, Span{
					Trace: fmt.Sprintf("%x", s.GetTraceId()), ID: fmt.Sprintf("%x", s.GetSpanId()), Parent: fmt.Sprintf("%x", s.GetParentSpanId()),
					Name: s.GetName(), Kind: s.GetKind(), Attributes: values(s.GetAttributes()), Resource: resource,
				})
			}
		}
	}
	return found
}

func values(list []*commonpb.KeyValue) map[string]string {
	found := make(map[string]string, len(list))
	for _, a := range list {
		switch value := a.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			found[a.GetKey()] = value.StringValue
		case *commonpb.AnyValue_IntValue:
			found[a.GetKey()] = fmt.Sprint(value.IntValue)
		case *commonpb.AnyValue_BoolValue:
			found[a.GetKey()] = fmt.Sprint(value.BoolValue)
		case *commonpb.AnyValue_DoubleValue:
			found[a.GetKey()] = fmt.Sprint(value.DoubleValue)
		}
	}
	return found
}
