package console

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine"
	"github.com/restmapping/operator/pkg/engine/pass"
	"github.com/restmapping/operator/pkg/mapping"
)

var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// running is an engine that runs the mapping "repositories" alone.
type running struct {
	views []engine.View
	// deaf are objects whose passes do not end.
	deaf  map[string]bool
	asked []types.NamespacedName
}

func (r *running) State(name string) (engine.State, bool) {
	return engine.State{Synced: true}, name == "repositories"
}

func (r *running) Views(_ context.Context, name string) ([]engine.View, bool) {
	if name != "repositories" {
		return nil, false
	}
	return r.views, true
}

func (r *running) Reconcile(ctx context.Context, _ string, keys []types.NamespacedName) (map[types.NamespacedName]pass.Summary, bool) {
	r.asked = append(r.asked, keys...)
	ended := map[types.NamespacedName]pass.Summary{}
	for _, key := range keys {
		if r.deaf[key.Name] {
			<-ctx.Done()
			continue
		}
		ended[key] = pass.Summary{Key: key, Ready: true, End: "Finish", Reason: "InSync", Duration: 250 * time.Millisecond}
	}
	return ended, true
}

func (r *running) Program(string) *mapping.Program { return nil }

func view(name string, change func(*engine.View)) engine.View {
	v := engine.View{Key: types.NamespacedName{Namespace: "team-a", Name: name}, Ready: true, Endpoint: "gitea", LastPass: now.Add(-time.Minute), End: "Finish"}
	change(&v)
	return v
}

// threeObjects are one that is well, one that needs a person, and one that goes.
func threeObjects() *running {
	return &running{views: []engine.View{
		view("well", func(*engine.View) {}),
		view("refused", func(v *engine.View) {
			v.Ready, v.Stalled, v.Reason, v.Message = false, true, "Rejected", "POST /repos: 422: <b>no</b>\n\x1b[31mred"
		}),
		view("going", func(v *engine.View) { v.Deleting = true }),
	}}
}

type desk struct {
	*testing.T
	handlers map[string]http.Handler
}

func newDesk(t *testing.T, r *running, change func(*Config)) desk {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	ready := []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Serving"}}
	named := func(name string) *v1alpha1.RestMapping {
		return &v1alpha1.RestMapping{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       v1alpha1.RestMappingSpec{Target: v1alpha1.Target{Group: "gitea.example.com", Version: "v1", Kind: "Repository"}},
		}
	}
	accepted, refused := named("repositories"), named("broken")
	accepted.Status.Conditions = ready
	refused.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "NotAccepted", Message: "spec.fields[0].value: 1:6: undefined field"}}
	refused.Status.Objects = &v1alpha1.ObjectCounts{Total: 5, Ready: 3, Stalled: 1}
	objects := []client.Object{
		accepted, refused,
		&v1alpha1.RestEndpoint{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "gitea"}, Status: v1alpha1.EndpointStatus{Conditions: ready}},
	}
	cfg := Config{
		Engine: r, Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(), Clock: clocktesting.NewFakePassiveClock(now),
		Leading: func() bool { return true }, Leader: func(context.Context) string { return "operator-1" }, Version: "v1",
	}
	change(&cfg)
	return desk{t, Handlers(cfg)}
}

func asIs(*Config) {}

func (d desk) ask(method, target, accept string) *httptest.ResponseRecorder {
	d.Helper()
	request := httptest.NewRequestWithContext(d.Context(), method, target, nil)
	request.Header.Set("Accept", accept)
	recorder := httptest.NewRecorder()
	d.handlers[request.URL.Path].ServeHTTP(recorder, request)
	return recorder
}

func (d desk) json(method, target string, into any) {
	d.Helper()
	answer := d.ask(method, target, "application/json")
	if answer.Code != http.StatusOK {
		d.Fatalf("%s %s: %d %s", method, target, answer.Code, answer.Body)
	}
	if err := json.Unmarshal(answer.Body.Bytes(), into); err != nil {
		d.Fatal(err)
	}
}

func TestStatusCountsAndSortsByUrgency(t *testing.T) {
	t.Parallel()
	var got Report
	newDesk(t, threeObjects(), asIs).json(http.MethodGet, "/status", &got)
	if len(got.Mappings) != 2 || len(got.Endpoints) != 1 || len(got.Objects) != 3 {
		t.Fatalf("got %+v", got)
	}
	broken, served := got.Mappings[0], got.Mappings[1]
	if served.Objects != 3 || served.Synced != 1 || served.Stalled != 1 || served.Deleting != 1 || !served.Ready {
		t.Errorf("the mapping that runs: %+v", served)
	}
	if broken.Ready || broken.Objects != 5 || broken.Synced != 3 || broken.Stalled != 1 || broken.Progressing != 1 {
		t.Errorf("one that does not run counts as its status says: %+v", broken)
	}
	if got.Objects[0].Name != "refused" || got.Objects[2].Name != "well" {
		t.Errorf("the order is %v", got.Objects)
	}
	if want := "kubectl describe Repository.v1.gitea.example.com refused -n team-a"; got.Objects[0].Command != want {
		t.Errorf("the command is %q", got.Objects[0].Command)
	}
}

func TestStatusIsFiltered(t *testing.T) {
	t.Parallel()
	d := newDesk(t, threeObjects(), asIs)
	cases := map[string]struct{ objects, more int }{
		"?state=Stalled": {1, 0}, "?namespace=team-b": {0, 0}, "?name=well": {1, 0}, "?mapping=broken": {0, 0}, "?limit=2": {2, 1},
	}
	for query, want := range cases {
		var got Report
		d.json(http.MethodGet, "/status"+query, &got)
		if len(got.Objects) != want.objects || got.More != want.more {
			t.Errorf("%s: %d objects and %d more, want %+v", query, len(got.Objects), got.More, want)
		}
	}
	for _, query := range []string{"?state=Sleeping", "?limit=0", "?limit=many", "?format=xml"} {
		if answer := d.ask(http.MethodGet, "/status"+query, ""); answer.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, answer.Code, answer.Body)
		}
	}
}

func TestThreeForms(t *testing.T) {
	t.Parallel()
	d := newDesk(t, threeObjects(), asIs)
	browser := "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for accept, want := range map[string]string{browser: "text/html", "application/json": "application/json", "*/*": "text/plain", "": "text/plain"} {
		if got := d.ask(http.MethodGet, "/status", accept).Header().Get("Content-Type"); !strings.HasPrefix(got, want) {
			t.Errorf("Accept %q gives %q, want %q", accept, got, want)
		}
	}
	table := d.ask(http.MethodGet, "/status", "*/*").Body.String()
	for _, want := range []string{"refused", "Rejected: POST /repos: 422: <b>no</b> [31mred", "NotAccepted: spec.fields[0].value", "1m0s"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table lacks %q:\n%s", want, table)
		}
	}
	if strings.Contains(table, "\x1b") {
		t.Error("a server's words reach the terminal as a command")
	}
}

// The page shows what servers have said: none of it may become markup, and nothing may be loaded or run.
func TestThePageIsClosed(t *testing.T) {
	t.Parallel()
	d := newDesk(t, threeObjects(), asIs)
	answer := d.ask(http.MethodGet, "/status", "text/html")
	body := answer.Body.String() + d.ask(http.MethodGet, "/status?namespace=%22%3E%3Cscript%3E", "text/html").Body.String()
	if strings.Contains(body, "<b>no") || strings.Contains(body, "<script") || !strings.Contains(body, "&lt;b&gt;no") {
		t.Errorf("words became markup:\n%s", body)
	}
	for _, foreign := range []string{"http://", "https://", "src="} {
		if strings.Contains(body, foreign) {
			t.Errorf("the page loads something: %s", foreign)
		}
	}
	if policy := answer.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none';") || strings.Contains(policy, "script") {
		t.Errorf("the policy is %q", policy)
	}
}

func TestAReplicaThatStandsBySaysSo(t *testing.T) {
	t.Parallel()
	r := threeObjects()
	d := newDesk(t, r, func(c *Config) { c.Leading = func() bool { return false } })
	if table := d.ask(http.MethodGet, "/status", "").Body.String(); !strings.Contains(table, "ask the leader, pod operator-1") {
		t.Errorf("the table is:\n%s", table)
	}
	answer := d.ask(http.MethodPost, "/reconcile", "")
	if answer.Code != http.StatusServiceUnavailable || !strings.Contains(answer.Body.String(), "operator-1") || len(r.asked) != 0 {
		t.Errorf("got %d %s, asked %v", answer.Code, answer.Body, r.asked)
	}
}

func TestReconcileAnswersForEachObject(t *testing.T) {
	t.Parallel()
	r := threeObjects()
	r.deaf = map[string]bool{"refused": true}
	d := newDesk(t, r, asIs)
	var got Result
	d.json(http.MethodPost, "/reconcile?wait=50ms", &got)
	if got.Asked != 3 || got.Pending != 1 || got.Ready != 2 || len(got.Objects) != 3 {
		t.Fatalf("got %+v", got)
	}
	if o := got.Objects[1]; o.Name != "refused" || !o.Pending || o.Ready {
		t.Errorf("the one that has not ended: %+v", o)
	}
	if o := got.Objects[2]; o.Name != "well" || o.Step != "Finish" || o.DurationSeconds != 0.25 {
		t.Errorf("one that has ended: %+v", o)
	}
}

func TestReconcileOfWhatIsNotThere(t *testing.T) {
	t.Parallel()
	d := newDesk(t, threeObjects(), asIs)
	cases := map[string]int{
		"?mapping=broken": http.StatusNotFound, "?name=nobody": http.StatusNotFound, "?wait=1h": http.StatusBadRequest, "?wait=soon": http.StatusBadRequest,
	}
	for query, want := range cases {
		if answer := d.ask(http.MethodPost, "/reconcile"+query, ""); answer.Code != want {
			t.Errorf("%s: %d %s, want %d", query, answer.Code, answer.Body, want)
		}
	}
}

func TestOnlyTheRightMethod(t *testing.T) {
	t.Parallel()
	r := threeObjects()
	d := newDesk(t, r, asIs)
	for path, method := range map[string]string{"/reconcile": http.MethodGet, "/status": http.MethodPost, "/debug/mappings": http.MethodDelete} {
		if answer := d.ask(method, path, ""); answer.Code != http.StatusMethodNotAllowed || answer.Header().Get("Allow") == "" {
			t.Errorf("%s %s: %d", method, path, answer.Code)
		}
	}
	if len(r.asked) != 0 {
		t.Error("a GET had objects looked at")
	}
}

func TestDebugMappings(t *testing.T) {
	t.Parallel()
	var got []Served
	newDesk(t, threeObjects(), asIs).json(http.MethodGet, "/debug/mappings?mapping=repositories", &got)
	if len(got) != 1 || !got[0].Running || !got[0].Synced {
		t.Errorf("got %+v", got)
	}
}
