//go:build cluster

package operator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/restmapping/operator/internal/lab"
	"github.com/restmapping/operator/internal/restfake"
)

// part is one kind with its own server, for tests that run in parallel in one laboratory.
type part struct {
	*lab.Kind
	lab    *lab.Lab
	server *lab.Server
}

func newPart(l *lab.Lab, mapping string, collection restfake.Collection) part {
	p := part{Kind: l.NewKind(""), lab: l, server: l.NewServer([]restfake.Collection{collection})}
	p.Endpoint(p.server.URL, "  timeout: 2s")
	p.Mapping(mapping)
	return p
}

// writes counts requests that change something.
func (p part) writes() int { return p.server.Count("", "") - p.server.Count("GET", "") }

// looks waits until every object was looked at n times more.
func (p part) looks(n int) {
	from := p.server.Count("GET", "")
	p.lab.Eventually("more looks", func() string {
		if got := p.server.Count("GET", "") - from; got < n {
			return fmt.Sprint(got, " looks")
		}
		return ""
	})
}

// size is the object's size outside, -1 when it is not there.
func (p part) size(path string) int {
	got, _ := p.server.Get(path)
	return lab.Int(got.Fields["size"])
}

func (p part) drift(t *testing.T, path string) {
	t.Helper()
	if err := p.server.Change(path, func(f map[string]any) { f["size"] = 9 }); err != nil {
		t.Fatal(err)
	}
}

func (p part) insert(t *testing.T, fields map[string]any) {
	t.Helper()
	if _, err := p.server.Insert("/things", fields); err != nil {
		t.Fatal(err)
	}
}

const (
	suspend   = "restmapping.dev/suspend"
	reconcile = "restmapping.dev/reconcile"
	record    = "restmapping.dev/record"
)

func with(mapping, policy string) string { return mapping + "  policy: {" + policy + "}\n" }

// TestPolicies shows what each policy and annotation does and does not do.
func TestPolicies(t *testing.T) {
	l := lab.New(t)
	cases := map[string]func(*testing.T, *lab.Lab){
		"suspended":                      suspended,
		"reconcile now":                  reconcileNow,
		"orphan":                         orphan,
		"observe only":                   observeOnly,
		"adoption never":                 adoptionNever,
		"adoption by identity":           adoptionByIdentity,
		"missing is recreated":           missingRecreated,
		"missing stalls":                 missingStalls,
		"drift is reported":              driftReported,
		"a selector":                     selector,
		"a cluster endpoint":             clusterEndpoint,
		"a mapping in use":               mappingInUse,
		"an endpoint deleted in use":     endpointDeleted,
		"the endpoint forced away":       endpointForced,
		"an unused endpoint deleted":     endpointUnused,
		"the namespace deleted":          namespaceDeleted,
		"an object never made is let go": neverMade,
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, l.In(t))
		})
	}
}

// suspended: nothing is corrected; a deletion still works.
func suspended(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, upsertMapping, upsertThings)
	p.Create("one", "{size: 3}")
	p.Ready("one")
	p.Annotate("one", suspend, "true")
	p.Condition("one", "Ready", "True", "Suspended")
	writes := p.writes()
	p.drift(t, "/things/one")
	p.Patch("one", `{"spec":{"size":4}}`)
	p.Condition("one", "Ready", "Unknown", "Suspended")
	// Another object, made later, has been dealt with twice: there was time for a mistake.
	p.Create("two", "{size: 5}")
	p.Ready("two")
	p.looks(2)
	if got := p.size("/things/one"); got != 9 {
		t.Errorf("a suspended object was changed: %d", got)
	}
	if got := p.writes() - writes; got != 1 {
		t.Errorf("%d writes, want the one create of the other", got)
	}
	p.Annotate("one", suspend, "")
	p.Ready("one")
	if got := p.size("/things/one"); got != 4 {
		t.Errorf("size is %d after going on", got)
	}
	p.Annotate("one", suspend, "true")
	p.Delete("one")
	p.Gone("one")
	if _, left := p.server.Get("/things/one"); left {
		t.Error("left outside")
	}
	p.CheckAll()
}

// reconcileNow: a new value is one look, told by lastHandledReconcileAt.
func reconcileNow(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, strings.Replace(upsertMapping, "interval: 2s", "interval: 10m", 1), upsertThings)
	p.Create("one", "{size: 3}")
	p.Ready("one")
	p.drift(t, "/things/one")
	p.Annotate("one", reconcile, "now-1")
	l.Eventually("the request is handled", func() string {
		if got := p.StatusField("one", "lastHandledReconcileAt"); got != "now-1" {
			return fmt.Sprint(got)
		}
		return ""
	})
	if got := p.size("/things/one"); got != 3 {
		t.Errorf("the drift stands: %d", got)
	}
	p.Ready("one")
}

func orphan(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, with(upsertMapping, "deletion: Orphan"), upsertThings)
	p.Create("one", "{size: 3}")
	p.Ready("one")
	p.Delete("one")
	p.Gone("one")
	if p.size("/things/one") != 3 || p.server.Count("DELETE", "") != 0 {
		t.Errorf("the object was not left: %v", p.server.Counts())
	}
}

func observeOnly(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, with(upsertMapping, "management: ObserveOnly"), upsertThings)
	p.insert(t, map[string]any{"id": "one", "size": 7})
	p.Create("one", "{size: 3}")
	p.Create("two", "{size: 3}")
	p.Ready("one")
	p.Condition("one", "Synced", "False", "DriftReported")
	p.Unready("two", "ExternalMissing")
	if got := p.StatusField("one", "size"); lab.Int(got) != 7 {
		t.Errorf("status.size is %v", got)
	}
	p.looks(3)
	p.Delete("one")
	p.Delete("two")
	p.Gone("one", "two")
	if p.writes() != 0 || p.size("/things/one") != 7 {
		t.Errorf("something was written: %v", p.server.Counts())
	}
}

func adoptionNever(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, upsertMapping, upsertThings)
	p.insert(t, map[string]any{"id": "one", "size": 7})
	p.Create("one", "{size: 3}")
	message := p.Stalled("one", "NotAdoptable")
	if !strings.Contains(message, "ByIdentity") {
		t.Errorf("the message has no remedy: %s", message)
	}
	p.Delete("one")
	p.Gone("one")
	if p.writes() != 0 || p.size("/things/one") != 7 {
		t.Errorf("somebody else's object was touched: %v", p.server.Counts())
	}
}

func adoptionByIdentity(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, with(upsertMapping, "adoption: ByIdentity"), upsertThings)
	p.insert(t, map[string]any{"id": "one", "size": 7})
	p.Create("one", "{size: 3}")
	p.Ready("one")
	if got := p.size("/things/one"); got != 3 {
		t.Errorf("size is %d", got)
	}
	p.Delete("one")
	p.Gone("one")
	if live := p.server.Live("/things"); len(live) != 0 {
		t.Errorf("an adopted object is ours to delete: %v", live)
	}
}

func missingRecreated(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, upsertMapping, upsertThings)
	p.Create("one", "{size: 3}")
	p.Ready("one")
	if err := p.server.Remove("/things/one"); err != nil {
		t.Fatal(err)
	}
	l.Eventually("it is made again", func() string {
		if p.size("/things/one") != 3 {
			return p.Status("one")
		}
		return ""
	})
	p.Ready("one")
}

func missingStalls(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, with(upsertMapping, "onMissing: Stall"), upsertThings)
	p.Create("one", "{size: 3}")
	p.Ready("one")
	writes := p.writes()
	if err := p.server.Remove("/things/one"); err != nil {
		t.Fatal(err)
	}
	message := p.Stalled("one", "ExternalMissing")
	if !strings.Contains(message, "onMissing") {
		t.Errorf("the message has no remedy: %s", message)
	}
	p.looks(2)
	if p.writes() != writes {
		t.Errorf("it was made again: %v", p.server.Counts())
	}
	p.Delete("one")
	p.Gone("one")
}

func driftReported(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, with(upsertMapping, "drift: Report"), upsertThings)
	p.Create("one", "{size: 3}")
	p.Ready("one")
	writes := p.writes()
	p.drift(t, "/things/one")
	message := p.Condition("one", "Synced", "False", "DriftReported")
	if !strings.Contains(message, "size") {
		t.Errorf("the message does not name the field: %s", message)
	}
	if got := fmt.Sprint(p.StatusField("one", "drift")); !strings.Contains(got, "size") {
		t.Errorf("status.drift is %s", got)
	}
	p.looks(2)
	if p.writes() != writes || p.size("/things/one") != 9 {
		t.Errorf("it was put back: %v", p.server.Counts())
	}
	p.Ready("one")
}

// selector: only the labelled custom resource is served.
func selector(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := part{Kind: l.NewKind(""), lab: l, server: l.NewServer([]restfake.Collection{upsertThings})}
	p.Endpoint(p.server.URL, "  timeout: 2s")
	p.MappingFor(", selector: {matchLabels: {serve: \"yes\"}}", serverEndpoint, upsertMapping)
	p.CreateWith("other", "{size: 3}", map[string]string{"serve": "no"}, nil)
	p.CreateWith("one", "{size: 3}", map[string]string{"serve": "yes"}, nil)
	p.Ready("one")
	p.looks(2)
	if live := p.server.Live("/things"); len(live) != 1 || p.StatusField("other", "conditions") != nil {
		t.Errorf("outside %v, status of the other %s", live, p.Status("other"))
	}
	p.Patch("other", `{"metadata":{"labels":{"serve":"yes"}}}`)
	p.Ready("other")
}

// clusterEndpoint: namespaces that are not allowed are told so, and are served once they are.
func clusterEndpoint(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := part{Kind: l.NewKind(""), lab: l, server: l.NewServer([]restfake.Collection{upsertThings})}
	name := p.GVR.Resource
	apply := func(namespaces string) {
		l.Apply("apiVersion: restmapping.dev/v1alpha1\nkind: ClusterRestEndpoint\nmetadata: {name: %s}\nspec: {baseURL: %q, timeout: 2s, allowedNamespaces: {names: [%s]}}\n", name, p.server.URL, namespaces)
	}
	apply("elsewhere")
	p.MappingFor("", "endpoint: {kind: ClusterRestEndpoint, name: "+name+"}", strings.Replace(upsertMapping, "interval: 2s", "interval: 10m", 1))
	p.Create("one", "{size: 3}")
	message := p.Stalled("one", "EndpointNotAllowed")
	if !strings.Contains(message, p.Namespace) || !strings.Contains(message, "allowedNamespaces") {
		t.Errorf("the message does not say which namespace, or where to allow it: %s", message)
	}
	if n := p.server.Count("", ""); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	apply("elsewhere, " + p.Namespace)
	p.Ready("one")
}

// mappingInUse: it waits for its custom resources, serves them meanwhile, and goes with the last.
func mappingInUse(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, upsertMapping, upsertThings)
	p.Create("one", "{size: 3}")
	p.Ready("one")
	p.DeleteMapping()
	message := p.MappingCondition("Ready", "False", "InUse")
	if !strings.Contains(message, "1 custom resources") {
		t.Errorf("the message does not count: %s", message)
	}
	p.drift(t, "/things/one")
	l.Eventually("it is served meanwhile", func() string {
		if p.size("/things/one") != 3 {
			return "drift"
		}
		return ""
	})
	p.Ready("one")
	p.Delete("one")
	p.Gone("one")
	p.MappingGone()
	if live := p.server.Live("/things"); len(live) != 0 {
		t.Errorf("left outside: %v", live)
	}
}

// endpointDeleted: the endpoint outlives what was made there, and says what it waits for.
func endpointDeleted(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, upsertMapping, upsertThings)
	p.Create("one", "{size: 3}")
	p.Ready("one")
	p.DeleteEndpoint()
	message := p.EndpointCondition("Ready", "False", "InUse")
	for _, want := range []string{"waits for 1 custom resource", "/one", "Orphan"} {
		if !strings.Contains(message, want) {
			t.Errorf("%q does not say %q", message, want)
		}
	}
	p.Patch("one", `{"spec":{"size":4}}`)
	l.Eventually("the custom resource is served meanwhile", func() string {
		if p.size("/things/one") != 4 {
			return p.Status("one")
		}
		return ""
	})
	p.Delete("one")
	p.Gone("one")
	p.EndpointGone()
	if live := p.server.Live("/things"); len(live) != 0 {
		t.Errorf("left outside: %v", live)
	}
}

// endpointForced: somebody takes the endpoint's finalizer off. The custom resource stays and says why, also when it is deleted;
// nothing is lost.
func endpointForced(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, upsertMapping, upsertThings)
	p.Create("one", "{size: 3}")
	p.Ready("one")
	p.DeleteEndpoint()
	p.EndpointCondition("Ready", "False", "InUse")
	p.ForceEndpoint()
	p.Condition("one", "Synced", "Unknown", "EndpointNotFound")
	p.Delete("one")
	p.Unready("one", "EndpointNotFound")
	if p.size("/things/one") != 3 {
		t.Error("the object outside is gone")
	}
	p.Endpoint(p.server.URL, "  timeout: 2s")
	p.Gone("one")
	if live := p.server.Live("/things"); len(live) != 0 {
		t.Errorf("left outside: %v", live)
	}
}

// endpointUnused: nothing holds an endpoint that no custom resource uses.
func endpointUnused(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, upsertMapping, upsertThings)
	p.EndpointCondition("Ready", "True", "")
	p.DeleteEndpoint()
	p.EndpointGone()
}

// namespaceDeleted: a namespace's deletion takes its Secrets at once, whatever still needs them. Everything goes, outside too.
func namespaceDeleted(t *testing.T, l *lab.Lab) {
	t.Helper()
	server := l.NewServer([]restfake.Collection{upsertThings})
	kind := l.NewKind("")
	kind.Secret("token", "value", token)
	kind.Endpoint(server.URL, tokenAuth+"\n  probe: {path: /things, interval: 1s}")
	kind.Mapping(upsertMapping)
	for _, name := range []string{"one", "two", "three"} {
		kind.Create(name, "{size: 3}")
	}
	kind.Ready("one", "two", "three")
	kind.EmptyNamespace()
	kind.Gone("one", "two", "three")
	kind.EndpointGone()
	if live := server.Live("/things"); len(live) != 0 {
		t.Errorf("left outside: %v", live)
	}
}

// neverMade: a custom resource whose object was never made goes without an endpoint.
func neverMade(t *testing.T, l *lab.Lab) {
	t.Helper()
	kind := l.NewKind("")
	kind.Mapping(upsertMapping)
	kind.Create("one", "{size: 3}")
	kind.Unready("one", "EndpointNotFound")
	kind.Delete("one")
	kind.Gone("one")
}
