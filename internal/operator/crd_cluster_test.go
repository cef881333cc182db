//go:build cluster

package operator_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/restmapping/operator/internal/lab"
	"github.com/restmapping/operator/internal/restfake"
)

// TestCRDChanges: a CRD that goes, comes again or changes while its mapping runs.
func TestCRDChanges(t *testing.T) {
	l := lab.New(t)
	cases := map[string]func(*testing.T, *lab.Lab){
		"deleted and made again": crdDeleted,
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

// crdDeleted: the objects outside go first, then the custom resources, then the CRD; a new CRD is served by itself.
func crdDeleted(t *testing.T, l *lab.Lab) {
	t.Helper()
	p := newPart(l, upsertMapping, upsertThings)
	for i := range 5 {
		p.Create(fmt.Sprintf("n%d", i), "{size: 3}")
	}
	for i := range 5 {
		p.Ready(fmt.Sprintf("n%d", i))
	}
	// One delete is refused for a while: the CRD has to wait for it.
	p.server.AddRule(restfake.Rule{Method: "DELETE", Path: "/things/n0", Fault: restfake.Reply(409, "application/json", `{"message":"in use"}`)})
	p.Undefine()
	message := p.MappingCondition("Ready", "False", "CRDTerminating")
	if !strings.Contains(message, "let their objects go first") {
		t.Errorf("the message does not say what happens: %s", message)
	}
	l.Eventually("the others go", func() string {
		if live := p.server.Live("/things"); len(live) != 1 {
			return fmt.Sprint(live)
		}
		return ""
	})
	p.Unready("n0", "WaitingForServer")
	p.server.ClearRules()
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
