package tracing_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/restmapping/operator/internal/tracing"
)

// What a pass asks of the API server is a span without the names of objects; watches and what no pass asks are none.
func TestRequestsToTheAPIServerAreSpans(t *testing.T) {
	t.Parallel()
	var told atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Traceparent") != "" {
			told.Add(1)
		}
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusForbidden)
		}
		_, _ = w.Write([]byte(`{"kind":"Secret","apiVersion":"v1"}`))
	}))
	t.Cleanup(server.Close)
	recorder := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder)).Tracer("test")
	config := tracing.Tracing{Tracer: tracer}.APIServer(&rest.Config{Host: server.URL})
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	secrets := client.CoreV1().Secrets("team-blue")
	ask := func(ctx context.Context) {
		_, _ = secrets.Create(ctx, &corev1.Secret{}, metav1.CreateOptions{})
		_, _ = secrets.Patch(ctx, "password-of-blue", types.MergePatchType, []byte("{}"), metav1.PatchOptions{})
		_ = client.CoreV1().Namespaces().Delete(ctx, "team-blue", metav1.DeleteOptions{})
		_, _ = client.AppsV1().Deployments("team-blue").GetScale(ctx, "web", metav1.GetOptions{})
		if watch, err := secrets.Watch(ctx, metav1.ListOptions{}); err == nil {
			watch.Stop()
		}
	}
	ask(t.Context())
	if got := len(recorder.Ended()); got != 0 {
		t.Errorf("%d spans of what no pass asked", got)
	}
	ctx, parent := tracer.Start(t.Context(), "pass")
	ask(ctx)
	parent.End()
	var got []string
	for _, s := range recorder.Ended() {
		if !s.Parent().IsValid() {
			continue
		}
		var list []string
		for _, a := range s.Attributes() {
			if a.Key != "server.port" && a.Key != "url.template" && a.Key != "http.request.method" {
				list = append(list, fmt.Sprintf("%s=%s", a.Key, a.Value.String()))
			}
		}
		slices.Sort(list)
		got = append(got, s.Name()+" "+strings.Join(list, " ")+" "+s.Status().Code.String())
	}
	want := []string{
		"POST /api/v1/namespaces/{namespace}/secrets http.response.status_code=200 server.address=127.0.0.1 Unset",
		"PATCH /api/v1/namespaces/{namespace}/secrets/{name} http.response.status_code=200 server.address=127.0.0.1 Unset",
		"DELETE /api/v1/namespaces/{name} error.type=403 http.response.status_code=403 server.address=127.0.0.1 Error",
		"GET /apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale http.response.status_code=200 server.address=127.0.0.1 Unset",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	if told.Load() > 0 {
		t.Error("the API server was told of a trace")
	}
}

func TestWithoutATracerTheConfigurationStays(t *testing.T) {
	t.Parallel()
	config := &rest.Config{Host: "https://127.0.0.1:1"}
	if got := (tracing.Tracing{}).APIServer(config); got != config || got.WrapTransport != nil {
		t.Error("a configuration that is not traced was changed")
	}
}
