//go:build e2e

package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/restmapping/operator/e2e/suite"
	"github.com/restmapping/operator/internal/otlpfake"
	"github.com/restmapping/operator/internal/restfake"
)

// secretValue stands in the endpoint's credential, in a query, in a request body and in every answer.
const secretValue = "canary-3d9e61c2"

const tracedKind = `
apiVersion: v1
kind: Secret
metadata: {name: traced, labels: {restmapping.dev/allow-read: "true"}}
stringData: {token: ` + secretValue + `}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.traced.example.com}
spec:
  group: traced.example.com
  names: {kind: Thing, plural: things, singular: thing}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {note: {type: string}, tokenRef: {type: object, properties: {name: {type: string}, key: {type: string}}}}}, status: {type: object, x-kubernetes-preserve-unknown-fields: true}}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: traced-things, labels: {restmapping.dev/aggregate-to-operator: "true"}}
rules:
- {apiGroups: [traced.example.com], resources: ["*"], verbs: [get, list, watch, patch, update]}
---
apiVersion: restmapping.dev/v1alpha1
kind: RestEndpoint
metadata: {name: traced}
spec: {baseURL: %q, auth: {apiKey: {in: Query, name: key, valueRef: {name: traced, key: token}}}}
---
apiVersion: restmapping.dev/v1alpha1
kind: RestEndpoint
metadata: {name: foreign}
spec: {baseURL: %q, traceContext: Omit}
---
apiVersion: restmapping.dev/v1alpha1
kind: RestEndpoint
metadata: {name: nowhere}
spec: {baseURL: "http://127.0.0.1:1"}
---
apiVersion: restmapping.dev/v1alpha1
kind: RestMapping
metadata: {name: things}
spec:
  target: {group: traced.example.com, version: v1, kind: Thing}
  endpoint: {kind: RestEndpoint, nameExpression: self.metadata.name}
  secrets: [{name: token, refExpression: self.spec.tokenRef}]
  identifiers: [{name: id, value: self.metadata.name}]
  operations:
    read: {path: "/things/{id}"}
    create: {method: PUT, path: "/things/{id}"}
    update: {method: PUT, path: "/things/{id}"}
    delete: {path: "/things/{id}"}
  fields:
  - {from: spec.note, to: note}
  - {to: token, value: secrets.token, writeOnly: true}
`

// TestTraces runs the operator with a receiver of traces: a look is a span, its requests are spans below it, the REST server is told
// of them unless its endpoint says otherwise, and no secret is in any.
func TestTraces(t *testing.T) {
	receiver := otlpfake.New()
	t.Cleanup(receiver.Close)
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.URL, "OTEL_BSP_SCHEDULE_DELAY": "200", "OTEL_SERVICE_NAME": "traced-operator",
	} {
		t.Setenv(name, value)
	}
	var mu sync.Mutex
	told := map[string]string{} // traceparent by host, method and path
	fake := restfake.New([]restfake.Collection{{Path: "/things", IDs: restfake.Chosen, Upsert: true}})
	t.Cleanup(fake.Close)
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		told[r.Method+" "+r.URL.Path] = r.Header.Get("Traceparent")
		mu.Unlock()
		w.Header().Set("X-Said", secretValue)
		fake.ServeHTTP(w, r)
	})
	own, foreign := httptest.NewServer(handler), httptest.NewServer(handler)
	t.Cleanup(own.Close)
	t.Cleanup(foreign.Close)
	s := suite.New(t)
	s.Apply(tracedKind, own.URL, foreign.URL)
	s.Ready("restmapping/things")
	for _, name := range []string{"traced", "foreign"} {
		s.Apply("apiVersion: traced.example.com/v1\nkind: Thing\nmetadata: {name: %s}\nspec: {note: %q, tokenRef: {name: traced, key: token}}\n", name, secretValue)
		s.Ready("thing/" + name)
	}
	var put otlpfake.Span
	s.Eventually("the create is a span below the look at it", func() string {
		spans := receiver.Spans()
		for _, child := range spans {
			if child.Name != "PUT /things/{id}" || child.Attributes["restmapping.endpoint"] != "RestEndpoint default/traced" {
				continue
			}
			for _, parent := range spans {
				if parent.ID == child.Parent && parent.Trace == child.Trace && parent.Name == "pass things" {
					put = child
					return ""
				}
			}
		}
		return fmt.Sprintf("%d spans", len(spans))
	})
	if put.Kind != tracepb.Span_SPAN_KIND_CLIENT || put.Attributes["http.response.status_code"] != "201" || put.Attributes["server.address"] != "127.0.0.1" ||
		put.Resource["service.name"] != "traced-operator" {
		t.Errorf("the create's span is %+v", put)
	}
	mu.Lock()
	if got, want := told["PUT /things/traced"], fmt.Sprintf("00-%s-%s-01", put.Trace, put.ID); got != want {
		t.Errorf("the server was told %q, want %q", got, want)
	}
	if got, asked := told["PUT /things/foreign"]; got != "" || !asked {
		t.Errorf("a server with traceContext: Omit was told %q", got)
	}
	mu.Unlock()
	s.Eventually("the write of the status is a span", func() string {
		for _, span := range receiver.Spans() {
			if span.Name == "PATCH /apis/traced.example.com/v1/namespaces/{namespace}/things/{name}/status" && span.Parent != "" {
				return ""
			}
		}
		return "not yet"
	})
	s.Apply("%s", "apiVersion: traced.example.com/v1\nkind: Thing\nmetadata: {name: nowhere}\nspec: {note: x, tokenRef: {name: traced, key: token}}\n") // nothing listens there
	s.Eventually("a failure is logged with its trace", func() string {
		text, err := os.ReadFile(s.Operator.LogFile)
		if err == nil && strings.Contains(string(text), `"trace_id":"`) {
			return ""
		}
		return fmt.Sprint(err)
	})
	s.Operator.Stop()
	if text := receiver.Text(); strings.Contains(text, secretValue) || len(receiver.Problems()) > 0 {
		t.Errorf("a span holds the secret, or was not understood (%q):\n%s", receiver.Problems(), text)
	}
}
