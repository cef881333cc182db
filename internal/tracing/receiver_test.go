package tracing_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// receiver takes OTLP over HTTP, as a collector does.
type receiver struct {
	*httptest.Server
	mu     sync.Mutex
	got    []*tracepb.ResourceSpans
	header http.Header
}

func newReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var body io.Reader = req.Body
		if req.Header.Get("Content-Encoding") == "gzip" {
			unpacked, err := gzip.NewReader(req.Body)
			if err != nil {
				t.Errorf("not gzip: %v", err)
				return
			}
			body = unpacked
		}
		data, err := io.ReadAll(io.LimitReader(body, 1<<20))
		sent := &collector.ExportTraceServiceRequest{}
		if err == nil {
			err = proto.Unmarshal(data, sent)
		}
		if err != nil || req.URL.Path != "/v1/traces" {
			t.Errorf("%s %s: %v", req.Method, req.URL.Path, err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got, r.header = append(r.got, sent.GetResourceSpans()...), req.Header
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) spans() []*tracepb.ResourceSpans {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got
}
