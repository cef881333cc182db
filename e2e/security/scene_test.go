//go:build security

package security_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/restmapping/operator/e2e/suite"
	"github.com/restmapping/operator/internal/controlplane"
	"github.com/restmapping/operator/internal/installation"
	"github.com/restmapping/operator/internal/lab"
)

// allowedHost is the one address of this machine that endpoints may reach here; the API server and everything forbidden
// are at 127.0.0.1.
const allowedHost = "127.0.0.2"

// scene is an installed operator, with namespaces of an attacker and a victim.
type scene struct {
	*suite.Suite
	t *testing.T
	// files is the operator's directory of credentials, traces what it sends of those.
	files  string
	traces *collector
}

// loot is the value that the attacker must never get.
const loot = "LOOT-4f1c9a7e2b"

func newScene(t *testing.T) *scene {
	t.Helper()
	files, traces := credentialFiles(t), newCollector(t)
	installed := suite.New(t, "--allow-cidrs="+allowedHost+"/32", "--log-level=debug", "--credentials-directory="+files)
	s := &scene{Suite: installed, t: t, files: files, traces: traces}
	// With all rights that the chart can give, so that it is not RBAC that saves the day.
	all := map[string]any{"outputs": map[string]any{"secrets": true, "configMaps": true}, "rbac": map[string]any{"serviceAccountTokens": true}}
	if err := installation.Prepare(t.Context(), s.Plane.Admin(), s.Root, all); err != nil {
		t.Fatal(err)
	}
	s.Apply("%s", `
apiVersion: v1
kind: Namespace
metadata: {name: attacker}
---
apiVersion: v1
kind: Namespace
metadata: {name: victim}
---
apiVersion: v1
kind: Secret
metadata: {name: loot, namespace: victim, labels: {restmapping.dev/allow-read: "true"}}
stringData: {value: `+loot+`, tls.crt: `+loot+`, tls.key: `+loot+`}
---
apiVersion: v1
kind: Secret
metadata: {name: closed, namespace: attacker}
stringData: {value: `+loot+`, tls.crt: `+loot+`, tls.key: `+loot+`}
---
apiVersion: v1
kind: Secret
metadata: {name: own, namespace: attacker, labels: {restmapping.dev/allow-read: "true"}}
stringData: {value: own-value}
---
apiVersion: v1
kind: Secret
metadata: {name: own, namespace: restmapping-system, labels: {restmapping.dev/allow-read: "true"}}
stringData: {value: own-value}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: robot, namespace: victim, labels: {restmapping.dev/allow-token: "true"}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: closed, namespace: attacker}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: own, namespace: attacker, labels: {restmapping.dev/allow-token: "true"}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: security-things, labels: {restmapping.dev/aggregate-to-operator: "true"}}
rules:
- {apiGroups: [security.example.com], resources: ["*"], verbs: [get, list, watch, patch, update]}
`)
	return s
}

// in gives the scene for a part of the test.
func (s *scene) in(t *testing.T) *scene {
	t.Helper()
	part := *s.Suite
	part.TB = t
	return &scene{Suite: &part, t: t, files: s.files, traces: s.traces}
}

// seen is a request as a server got it.
type seen struct {
	Method, URI, Body string
	Header            http.Header
}

// server notes everything it is sent.
type server struct {
	*httptest.Server
	mu     sync.Mutex
	seen   []seen
	answer http.HandlerFunc
}

// listen starts a server at an address of this machine.
func listen(t *testing.T, host string, answer http.HandlerFunc) *server {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	s := &server{answer: answer}
	s.Server = httptest.NewUnstartedServer(s)
	_ = s.Listener.Close()
	s.Listener = listener
	s.Start()
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return s
}

func (s *server) port() string {
	_, port, _ := net.SplitHostPort(s.Listener.Addr().String())
	return port
}

// ServeHTTP implements http.Handler.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := make([]byte, 64<<10)
	n := 0
	for n < len(body) {
		read, err := r.Body.Read(body[n:])
		n += read
		if err != nil {
			break
		}
	}
	r.Body = io.NopCloser(bytes.NewReader(body[:n]))
	s.mu.Lock()
	s.seen = append(s.seen, seen{r.Method, r.RequestURI, string(body[:n]), r.Header.Clone()})
	s.mu.Unlock()
	s.answer(w, r)
}

func (s *server) requests() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]seen(nil), s.seen...)
}

// holds tells whether any request had a text in it.
func (s *server) holds(text string) bool {
	for _, r := range s.requests() {
		if strings.Contains(fmt.Sprint(r), text) {
			return true
		}
	}
	return false
}

// fine answers an empty object.
func fine(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte("{}"))
}

// reason waits until a condition of a resource is there for its newest generation and gives "Status Reason: message".
func (s *scene) reason(resource, namespace, condition string, settled func(reason string) bool) string {
	s.t.Helper()
	var last string
	s.Eventually(resource+" says "+condition, func() string {
		last = s.condition(resource, namespace, condition)
		if last != "" && settled(last) {
			return ""
		}
		return "it says " + last
	})
	return last
}

// kinds are the resources that conditions are read of.
var kinds = map[string]schema.GroupVersionResource{
	"restendpoint":        lab.EndpointGVR,
	"clusterrestendpoint": {Group: "restmapping.dev", Version: "v1alpha1", Resource: "clusterrestendpoints"},
	"restmapping":         {Group: "restmapping.dev", Version: "v1alpha1", Resource: "restmappings"},
}

// thingsOf is the resource of an attack.
func thingsOf(attack string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "security.example.com", Version: "v1", Resource: plural(attack)}
}

// condition reads a condition of "kind/name" past kubectl, of which there would be thousands.
func (s *scene) condition(resource, namespace, condition string) string {
	s.t.Helper()
	kind, name, _ := strings.Cut(resource, "/")
	if kind == "clusterrestendpoint" || kind == "restmapping" {
		namespace = ""
	}
	gvr := kinds[kind]
	if attack, found := strings.CutPrefix(kind, "thing:"); found {
		gvr = thingsOf(attack)
	}
	got, err := s.Client.Resource(gvr).Namespace(namespace).Get(s.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := got.MarshalJSON()
	if err != nil {
		s.t.Fatal(err)
	}
	var object struct {
		Metadata struct{ Generation int64 }
		Status   struct {
			Conditions []struct {
				Type, Status, Reason, Message string
				ObservedGeneration            int64
			}
		}
	}
	if err := json.Unmarshal(text, &object); err != nil {
		s.t.Fatal(err)
	}
	for _, c := range object.Status.Conditions {
		if c.Type == condition && c.ObservedGeneration == object.Metadata.Generation {
			return c.Status + " " + c.Reason + ": " + c.Message
		}
	}
	return ""
}

// Apply applies YAML past kubectl.
func (s *scene) Apply(format string, values ...any) {
	s.t.Helper()
	text := fmt.Sprintf(format, values...)
	if err := s.attempt(text); err != nil {
		s.t.Fatalf("%v\n%.2000s", err, text)
	}
}

// attempt applies YAML that may be refused.
func (s *scene) attempt(text string) error {
	s.t.Helper()
	admin := s.Plane.Admin()
	admin.QPS, admin.Burst = -1, -1
	return controlplane.ApplyYAML(s.t.Context(), admin, []byte(text))
}

// oneOf is for reason.
func oneOf(reasons ...string) func(string) bool {
	return func(said string) bool {
		for _, reason := range reasons {
			if strings.Contains(said, " "+reason+":") {
				return true
			}
		}
		return false
	}
}

// log is the operator's, at its highest verbosity.
func (s *scene) log() string {
	s.t.Helper()
	text, err := os.ReadFile(s.Operator.LogFile)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

func last(text string, n int) string { return text[max(0, len(text)-n):] }

// TestSecurity runs all attacks against one operator.
func TestSecurity(t *testing.T) {
	s := newScene(t)
	for _, attack := range []struct {
		name string
		run  func(*scene)
	}{
		{"a Secret of another namespace through an endpoint", foreignSecrets},
		{"a file through an endpoint", foreignFiles},
		{"a ServiceAccount of another namespace", foreignAccounts},
		{"a secret in Vault that is not the endpoint's", foreignVault},
		{"a namespace that is not allowed", foreignNamespace},
		{"an endpoint of another namespace", foreignEndpoint},
		{"a Secret of another namespace through a custom resource", foreignInput},
		{"a custom resource of another namespace through a reference", foreignReferents},
		{"outputs into another namespace", foreignOutputs},
		{"values of a custom resource in paths, queries and headers", injections},
		{"addresses", addresses},
		{"redirects and links", redirects},
		{"bodies", bodies},
		{"canaries", canaries},
	} {
		t.Run(attack.name, func(t *testing.T) {
			part := s.in(t)
			t.Cleanup(func() {
				if t.Failed() {
					t.Log(last(s.log(), 8<<10))
				}
			})
			attack.run(part)
		})
	}
}
