//go:build cluster

package operator_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/internal/lab"
)

// TestCRDChanges: a CRD that goes, comes again or changes while its mapping runs.
func TestCRDChanges(t *testing.T) {
	l := lab.New(t)
	cases := map[string]func(*testing.T, *lab.Lab){
		"deleted and made again": crdDeleted,
		"deleted and abandoned":  crdAbandoned,
		"many deleted at once":   manyDeleted,
		"a new field":            crdNewField,
		"another scope":          crdScope,
		"a version not served":   crdUnserved,
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, l.In(t))
		})
	}
}

// crdDeleted: deleting a kind deletes nothing outside. A person says what becomes of the objects: they are deleted when that is
// acknowledged, and a new CRD is served by itself.
func crdDeleted(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, upsertMapping, upsertThings)
	p.things(5)
	p.Undefine()
	stays := p.Stalled("n0", "DeletionHeld")
	if !strings.Contains(stays, "is being deleted, and nothing is deleted outside because of that") {
		t.Errorf("the message does not say why: %s", stays)
	}
	since := p.heldSince(t)
	message := p.MappingCondition("Ready", "False", "CRDTerminating")
	if !strings.Contains(message, "acknowledge-deletions="+since) || len(p.server.Live("/things")) != 5 || p.server.Count("DELETE", "") != 0 {
		t.Fatalf("outside are %v after %v; the mapping says %s", p.server.Live("/things"), p.server.Counts(), message)
	}
	p.annotateMapping(t, "restmapping.dev/acknowledge-deletions", "1999-01-01T00:00:00Z") // of another time
	p.annotateMapping(t, "restmapping.dev/acknowledge-deletions", since)
	p.Undefined()
	if live := p.server.Live("/things"); len(live) != 0 {
		t.Errorf("left outside: %v", live)
	}
	p.MappingCondition("Ready", "False", "CRDNotFound")
	p.Define("")
	p.MappingCondition("Ready", "True", "Serving")
	p.Create("n0", "{size: 4}")
	p.Ready("n0")
	if p.size("/things/n0") != 4 {
		t.Errorf("size is %d", p.size("/things/n0"))
	}
	p.CheckAll()
}

// crdAbandoned: with the policy to leave objects, set while the kind is going already, they stay and the kind goes.
func crdAbandoned(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, upsertMapping, upsertThings)
	p.things(3)
	p.Undefine()
	p.Stalled("n0", "DeletionHeld")
	p.Mapping(upsertMapping + "  policy: {deletion: Orphan}\n")
	p.Undefined()
	if live := p.server.Live("/things"); len(live) != 3 || p.server.Count("DELETE", "") != 0 {
		t.Errorf("outside are %v after %v", live, p.server.Counts())
	}
}

// manyDeleted: what looks like an accident waits for a person.
func manyDeleted(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, upsertMapping+"  policy: {deleteGuard: {maxObjects: 2}}\n", upsertThings)
	p.things(6)
	if err := p.Resource().DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	message := p.MappingCondition("Stalled", "True", "DeletionHeld")
	if !strings.Contains(message, "looks like an accident") {
		t.Errorf("the message does not say why: %s", message)
	}
	if live := p.server.Live("/things"); len(live) < 3 {
		t.Errorf("left outside: %v", live)
	}
	since := p.heldSince(t)
	p.annotateMapping(t, "restmapping.dev/acknowledge-deletions", since)
	for i := range 6 {
		p.Gone(fmt.Sprintf("n%d", i))
	}
	p.MappingCondition("Ready", "True", "Serving")
}

func (p part) things(n int) {
	for i := range n {
		p.Create(fmt.Sprintf("n%d", i), "{size: 3}")
	}
	for i := range n {
		p.Ready(fmt.Sprintf("n%d", i))
	}
}

// heldSince waits until the mapping's status says since when deletions are held.
func (p part) heldSince(t *testing.T) (since string) {
	t.Helper()
	p.lab.Eventually("deletions are held", func() string {
		m, err := p.lab.Client.Resource(lab.MappingGVR).Get(t.Context(), p.GVR.Resource, metav1.GetOptions{})
		if err != nil {
			return err.Error()
		}
		if since, _, _ = unstructured.NestedString(m.Object, "status", "heldDeletions", "since"); since == "" {
			return fmt.Sprint(m.Object["status"])
		}
		return ""
	})
	return since
}

func (p part) annotateMapping(t *testing.T, name, value string) {
	t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, name, value)
	_, err := p.lab.Client.Resource(lab.MappingGVR).Patch(t.Context(), p.GVR.Resource, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// crdNewField: a mapping that uses a field before the schema has it goes on with the program before, and takes the field
// once it is there.
func crdNewField(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, upsertMapping, upsertThings)
	p.Create("one", "{size: 3}")
	p.Ready("one")
	p.Mapping(strings.Replace(upsertMapping, "{from: spec.color, to: color}", "{from: spec.weight, to: weight}", 1))
	p.MappingCondition("Ready", "False", "ServingPrevious")
	p.Define(lab.DefaultSpec + "\n              weight: {type: integer}")
	p.MappingCondition("Ready", "True", "Serving")
	l.Eventually("the API server knows the field", func() string {
		p.Patch("one", `{"spec":{"weight":70}}`)
		spec, _ := p.Get("one").Object["spec"].(map[string]any)
		if lab.Int(spec["weight"]) != 70 {
			return "it was dropped"
		}
		return ""
	})
	l.Eventually("the field is sent", func() string {
		if got, _ := p.server.Get("/things/one"); lab.Int(got.Fields["weight"]) != 70 {
			return fmt.Sprint(got.Fields)
		}
		return ""
	})
	p.Ready("one")
}

// crdScope: the same kind comes back cluster-scoped. A RestEndpoint cannot serve it; a ClusterRestEndpoint can.
func crdScope(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, upsertMapping, upsertThings)
	p.Create("one", "{size: 3}")
	p.Ready("one")
	p.Delete("one")
	p.Gone("one")
	p.Undefine()
	p.Undefined()
	p.DefineAs(lab.Definition{Cluster: true})
	message := p.MappingCondition("Ready", "False", "InvalidExpressions")
	if !strings.Contains(message, "ClusterRestEndpoint") {
		t.Errorf("the message has no remedy: %s", message)
	}
	l.Apply("apiVersion: restmapping.dev/v1alpha1\nkind: ClusterRestEndpoint\nmetadata: {name: %s}\nspec: {baseURL: %q, timeout: 2s}\n", p.GVR.Resource, p.server.URL)
	p.MappingFor("", "endpoint: {kind: ClusterRestEndpoint, name: "+p.GVR.Resource+"}", upsertMapping)
	p.MappingCondition("Ready", "True", "Serving")
	p.Create("one", "{size: 5}")
	p.Ready("one")
	if p.size("/things/one") != 5 {
		t.Errorf("size is %d", p.size("/things/one"))
	}
	p.Delete("one")
	p.Gone("one")
}

// crdUnserved: the mapping's version is no longer served. It says which are, and nothing outside is touched.
func crdUnserved(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, upsertMapping, upsertThings)
	p.Create("one", "{size: 3}")
	p.Ready("one")
	p.DefineAs(lab.Definition{Unserved: true})
	message := p.MappingCondition("Ready", "False", "VersionNotServed")
	if !strings.Contains(message, "only v2") {
		t.Errorf("the message does not say what is served: %s", message)
	}
	if p.size("/things/one") != 3 {
		t.Error("the object outside is gone")
	}
	p.GVR.Version = "v2"
	p.Mapping(upsertMapping)
	p.MappingCondition("Ready", "True", "Serving")
	p.Patch("one", `{"spec":{"size":4}}`)
	p.Ready("one")
	if p.size("/things/one") != 4 || p.server.Count("PUT", "") != 2 {
		t.Errorf("size is %d, requests %v", p.size("/things/one"), p.server.Counts())
	}
}
