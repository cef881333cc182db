package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/endpoints"
	"github.com/restmapping/operator/pkg/engine/pass"
	"github.com/restmapping/operator/pkg/httpapi"
	"github.com/restmapping/operator/pkg/rest"
)

// recorder keeps the events that it is given.
type recorder struct{ lines []string }

// Eventf implements events.EventRecorder.
func (r *recorder) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf("%v %v %s %s %s: %s", regarding, related, kind, reason, action, fmt.Sprintf(note, args...)))
}

func TestEventsAreRecordedAsTheyAre(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	events := EventsOf(r)
	obj := compact(t, thing("team", "one"))
	events.Normal(obj, "Created", "Create", "100%s done")
	events.Warning(obj, "Stalled", "Reconcile", "no")
	want := "Thing team/one <nil> Normal Created Create: 100%s done; Thing team/one <nil> Warning Stalled Reconcile: no"
	if got := strings.Join(r.lines, "; "); got != want {
		t.Errorf("recorded %q, want %q", got, want)
	}
}

// The API server refuses a note that is too long, and then nothing is told at all.
func TestALongNoteIsCut(t *testing.T) {
	t.Parallel()
	for name, message := range map[string]string{"of letters": strings.Repeat("a", 5000), "of long runes": strings.Repeat("🙂", 5000), "just at the limit": strings.Repeat("b", 1024)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &recorder{}
			EventsOf(r).Normal(compact(t, thing("team", "one")), "R", "A", message)
			_, note, _ := strings.Cut(r.lines[0], ": ")
			if len(note) > maxNote || !utf8.ValidString(note) || len(message) <= maxNote && note != message {
				t.Errorf("the note has %d bytes: %.40s", len(note), note)
			}
		})
	}
}

// noSecrets is a resolver where there are none.
type noSecrets struct{}

func (noSecrets) Get(context.Context, string, string, string) (httpapi.Secret, error) {
	return httpapi.Secret{}, errors.New("no Secret")
}

func (noSecrets) Version(context.Context, string, string) (string, error) {
	return "", errors.New("no Secret")
}
func (noSecrets) Subscribe(func(string, string)) func() { return func() {} }

func TestARegistrysEndpointServesPasses(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"path":%q}`, r.URL.Path)
	}))
	t.Cleanup(server.Close)
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	object := &v1alpha1.RestEndpoint{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "main", UID: "e-1", Labels: map[string]string{"zone": "eu"}}}
	object.Spec.BaseURL = server.URL + "/api"
	registry := endpoints.New(endpoints.Config{Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(object).Build(), Secrets: noSecrets{}, OperatorNamespace: "system", Addresses: httpapi.Addresses{Allowed: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}})
	t.Cleanup(func() {
		if err := registry.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		server.CloseClientConnections()
	})
	found, err := EndpointsOf(registry).Resolve(t.Context(), "RestEndpoint", "team", "main")
	if err != nil {
		t.Fatal(err)
	}
	if f := found.Facts(); f.Name != "main" || f.Labels["zone"] != "eu" {
		t.Errorf("facts %+v", f)
	}
	if found.Identity() == "" || found.Timeout() <= 0 || found.Redact("as it is") != "as it is" {
		t.Errorf("identity %q, timeout %v", found.Identity(), found.Timeout())
	}
	if declared, err := found.Probe(t.Context(), time.Now()); declared || err != nil {
		t.Errorf("probe %t, %v", declared, err)
	}
	x := found.Do(t.Context(), rest.Request{Operation: rest.Read, Method: http.MethodGet, Route: "/x", Path: "/x"})
	if x.Response == nil || x.Response.Status != http.StatusOK || fmt.Sprint(x.Response.Body) != "map[path:/api/x]" {
		t.Errorf("exchange %+v", x)
	}
	missing := (*pass.UnavailableError)(nil)
	if _, err := EndpointsOf(registry).Resolve(t.Context(), "RestEndpoint", "team", "none"); !errors.As(err, &missing) || missing.Reason != v1alpha1.ReasonEndpointNotFound || missing.Stalled {
		t.Errorf("one that is not there: %v, %+v", err, missing)
	}
}
