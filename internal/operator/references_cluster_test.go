//go:build cluster

package operator_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/internal/lab"
	"github.com/restmapping/operator/internal/restfake"
)

// parentMapping is of a kind that others refer to. A long interval: what goes on does so because of an event.
const parentMapping = `
  identifiers: [{name: id, value: self.metadata.name}]
  operations:
    read: {path: "/parents/{id}"}
    create: {method: PUT, path: "/parents/{id}"}
    update: {method: PUT, path: "/parents/{id}"}
    delete: {path: "/parents/{id}"}
  fields: [{from: spec.size, to: size}]
  status: [{to: size, value: observed.size}]
  ready: {expression: observed.size > 5.0, message: it is too small}
  sync: {interval: 10m, consistencyWindow: 1s, serverSlack: 1s}
`

const childFields = `
  fields:
  - {from: spec.size, to: size}
  - {to: parentSize, value: "refs.parent.spec.size"}
  - {to: parentID, value: "refs.parent.status.identifiers.id"}
`

// childMapping is of a kind whose custom resources refer to a parent by spec.owner.
func childMapping(parent *lab.Kind, more string) string {
	return strings.ReplaceAll(parentMapping[:strings.Index(parentMapping, "  fields:")], "/parents/", "/children/") + childFields + fmt.Sprintf(`
  references:
  - {name: parent, target: {group: %s, version: v1, kind: %s}, nameExpression: self.spec.owner%s}
  sync: {interval: 10m, consistencyWindow: 1s, serverSlack: 1s}
`, parent.Group, parent.Name, more)
}

var family = []restfake.Collection{
	{Path: "/parents", IDs: restfake.Chosen, Upsert: true},
	{Path: "/children", IDs: restfake.Chosen, Upsert: true},
}

// newFamily makes the two kinds, in one namespace.
func newFamily(l *lab.Lab, server *lab.Server) (parent, child *lab.Kind) {
	parent, child = l.NewKind(""), l.NewKind("")
	child.Namespace = parent.Namespace
	parent.Endpoint(server.URL, "  timeout: 5s")
	return parent, child
}

// deletes gives the paths of the deletes in the order of their arrival.
func deletes(server *lab.Server) []string {
	var paths []string
	for _, r := range server.Requests() {
		if r.Method == http.MethodDelete {
			paths = append(paths, r.Path)
		}
	}
	return paths
}

// TestAChildWaitsForItsParent: nothing is sent before the parent is there and ready; then the child goes on at once, and
// follows what it takes from the parent.
func TestAChildWaitsForItsParent(t *testing.T) {
	l := lab.New(t)
	server := l.NewServer(family)
	parent, child := newFamily(l, server)
	parent.Mapping(parentMapping)
	child.Mapping(childMapping(parent, ""))
	child.Create("one", "{size: 1, owner: main}")
	message := child.Unready("one", "ReferenceNotFound")
	if want := fmt.Sprintf("%s %s/main does not exist", parent.Name, parent.Namespace); !strings.Contains(message, want) {
		t.Errorf("the message does not say %q: %s", want, message)
	}
	parent.Create("main", "{size: 3}")
	parent.Unready("main", "ExternalNotReady")
	child.Patch("one", `{"spec":{"size":2}}`)
	message = child.Unready("one", "ReferenceNotReady")
	if want := "its condition Ready is False, with reason ExternalNotReady"; !strings.Contains(message, want) || !strings.Contains(message, "/main is not ready") {
		t.Errorf("the message does not say %q: %s", want, message)
	}
	if n := server.Count("", "/children/{id}"); n != 0 {
		t.Errorf("%d requests for the child before its parent was ready", n)
	}
	parent.Patch("main", `{"spec":{"size":7}}`)
	parent.Ready("main")
	began := time.Now()
	child.Ready("one")
	t.Logf("the child was ready %s after its parent", time.Since(began).Round(time.Millisecond))
	if got, _ := server.Get("/children/one"); lab.Int(got.Fields["parentSize"]) != 7 || got.Fields["parentID"] != "main" {
		t.Errorf("outside: %v", got.Fields)
	}
	parent.Patch("main", `{"spec":{"size":8}}`)
	l.Eventually("the child follows its parent", func() string {
		if got, _ := server.Get("/children/one"); lab.Int(got.Fields["parentSize"]) != 8 {
			return fmt.Sprint(got.Fields)
		}
		return ""
	})
	child.Ready("one")
}

// TestReferencesStayInTheNamespace: a namesake elsewhere is not found, and what is no name is refused.
func TestReferencesStayInTheNamespace(t *testing.T) {
	l := lab.New(t)
	server := l.NewServer(family)
	parent, child := newFamily(l, server)
	elsewhere := l.NewKind("")
	child.Namespace = elsewhere.Namespace
	child.Endpoint(server.URL, "  timeout: 5s")
	parent.Mapping(parentMapping)
	child.Mapping(childMapping(parent, ""))
	parent.Create("main", "{size: 7}")
	parent.Ready("main")
	child.Create("one", "{size: 1, owner: main}")
	message := child.Unready("one", "ReferenceNotFound")
	if !strings.Contains(message, child.Namespace+"/main") {
		t.Errorf("it looked elsewhere: %s", message)
	}
	child.Create("two", fmt.Sprintf("{size: 1, owner: %s/main}", parent.Namespace))
	child.Stalled("two", "ExpressionFailed")
	if n := server.Count("", "/children/{id}"); n != 0 {
		t.Errorf("%d requests for the children", n)
	}
}

// TestChildrenGoBeforeTheirParent, also when all are deleted at once, the parent first, and their deletion takes time.
func TestChildrenGoBeforeTheirParent(t *testing.T) {
	l := lab.New(t)
	server := l.NewServer(family)
	parent, child := newFamily(l, server)
	parent.Mapping(parentMapping)
	child.Mapping(childMapping(parent, ""))
	parent.Create("main", "{size: 7}")
	const children = 5
	for i := range children {
		child.Create(fmt.Sprintf("n%d", i), "{size: 1, owner: main}")
	}
	for i := range children {
		child.Ready(fmt.Sprintf("n%d", i))
	}
	parent.Delete("main")
	message := parent.Unready("main", "WaitingForDependents")
	want := fmt.Sprintf("5 in all: %[1]s %[2]s/n0 (which is not being deleted), %[1]s %[2]s/n1 (which is not being deleted), %[1]s %[2]s/n2 (which is not being deleted) and 2 more",
		child.Name, child.Namespace)
	if !strings.Contains(message, want) {
		t.Errorf("the message does not say %q: %s", want, message)
	}
	server.AddRule(restfake.Rule{Method: "DELETE", Fault: restfake.Delay(time.Second)})
	if err := child.Resource().DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	parent.Gone("main")
	got := deletes(server)
	if len(got) != children+1 || got[children] != "/parents/main" {
		t.Errorf("deletes in this order: %v", got)
	}
	if live := append(server.Live("/parents"), server.Live("/children")...); len(live) != 0 {
		t.Errorf("left outside: %v", live)
	}
}

// TestAParentWaitsAfterARestart until all who may refer to it are known: here the operator may not even read them for a
// while.
func TestAParentWaitsAfterARestart(t *testing.T) {
	l := lab.New(t)
	server := l.NewServer(family)
	parent, child := newFamily(l, server)
	parent.Mapping(parentMapping)
	child.Mapping(childMapping(parent, ""))
	parent.Create("main", "{size: 7}")
	child.Create("one", "{size: 1, owner: main}")
	child.Ready("one")
	l.Stop()
	child.Ungrant()
	parent.Delete("main")
	child.Delete("one")
	l.Start()
	child.MappingCondition("Ready", "False", "RBACMissing")
	message := parent.Unready("main", "WaitingForDependents")
	if want := "RestMapping " + child.GVR.Resource; !strings.Contains(message, want) {
		t.Errorf("the message does not say %q: %s", want, message)
	}
	if got := deletes(server); len(got) != 0 {
		t.Errorf("deleted without knowing who refers to it: %v", got)
	}
	child.Grant()
	child.Gone("one")
	parent.Gone("main")
	if got := deletes(server); !slices.Equal(got, []string{"/children/one", "/parents/main"}) {
		t.Errorf("deletes in this order: %v", got)
	}
}

// TestOwnerReference: the parent becomes an owner, once, beside others.
func TestOwnerReference(t *testing.T) {
	l := lab.New(t)
	server := l.NewServer(family)
	parent, child := newFamily(l, server)
	parent.Mapping(parentMapping)
	child.Mapping(childMapping(parent, ", ownerReference: true"))
	parent.Create("main", "{size: 7}")
	child.Create("one", "{size: 1, owner: main}")
	child.Ready("one")
	owners := child.Get("one").GetOwnerReferences()
	if len(owners) != 1 {
		t.Fatalf("owners: %v", owners)
	}
	o := owners[0]
	if o.UID != parent.Get("main").GetUID() || o.Kind != parent.Name || o.Name != "main" || o.Controller != nil || o.BlockOwnerDeletion == nil || !*o.BlockOwnerDeletion {
		t.Errorf("owner: %+v", o)
	}
	before := l.Counters()
	child.Annotate("one", reconcile, "now")
	l.Eventually("it was looked at again", func() string {
		if got := child.StatusField("one", "lastHandledReconcileAt"); got != "now" {
			return fmt.Sprint(got)
		}
		return ""
	})
	if n := l.Counters().Since(before).Writes(child.Group, child.GVR.Resource); n > 2 {
		t.Errorf("%d writes; the annotation and its echo in the status are two", n)
	}
}

// TestReferencedKindWithoutRights: the mapping names the exact rule, and starts when it is granted.
func TestReferencedKindWithoutRights(t *testing.T) {
	l := lab.New(t)
	server := l.NewServer(family)
	parent, child := newFamily(l, server)
	parent.Ungrant()
	child.Mapping(childMapping(parent, ""))
	message := child.MappingCondition("Ready", "False", "RBACMissing")
	want := fmt.Sprintf(`may not list %[1]s, watch %[1]s; grant {apiGroups: [%[2]q], resources: [%[1]q], verbs: ["get", "list", "watch"]} in a ClusterRole`, parent.GVR.Resource, parent.Group)
	if !strings.Contains(message, want) {
		t.Errorf("the message does not say %q: %s", want, message)
	}
	parent.Grant()
	child.MappingCondition("Ready", "True", "Serving")
}

// TestReferencedKindThatIsNotThere: the mapping says which; it starts when the CRD comes, and is typed by it.
func TestReferencedKindThatIsNotThere(t *testing.T) {
	l := lab.New(t)
	server := l.NewServer(family)
	parent, child := l.NewUndefinedKind(), l.NewKind("")
	child.Namespace = parent.Namespace
	parent.Endpoint(server.URL, "  timeout: 5s")
	child.Mapping(childMapping(parent, ""))
	message := child.MappingCondition("Accepted", "False", "CRDNotFound")
	if want := "spec.references[0].target: no CustomResourceDefinition"; !strings.Contains(message, want) {
		t.Errorf("the message does not say %q: %s", want, message)
	}
	parent.Define("\n              color: {type: string}")
	message = child.MappingCondition("Accepted", "False", "InvalidExpressions")
	if want := "unknown field 'size' of refs.parent.spec"; !strings.Contains(message, want) {
		t.Errorf("the message does not say %q: %s", want, message)
	}
	parent.Define("")
	child.MappingCondition("Ready", "True", "Serving")

	// A kind that goes again stops nobody from being deleted.
	parent.Create("main", "{size: 7}")
	parent.Mapping(parentMapping)
	child.Create("one", "{size: 1, owner: main}")
	child.Ready("one")
	parent.Delete("main")
	child.Delete("one")
	child.Gone("one")
	parent.Gone("main")
	child.Create("two", "{size: 1, owner: main}")
	child.Unready("two", "ReferenceNotFound")
	parent.Undefine()
	parent.Undefined()
	child.MappingCondition("Ready", "False", "CRDNotFound")
	child.Delete("two")
	child.Gone("two")
}

// TestACycleOfReferences is said instead of waited for, and holds nobody when it is deleted.
func TestACycleOfReferences(t *testing.T) {
	l := lab.New(t)
	server := l.NewServer(family)
	kind := l.NewKind("")
	kind.Endpoint(server.URL, "  timeout: 5s")
	kind.Mapping(strings.ReplaceAll(childMapping(kind, ", optional: true"), "self.spec.owner", `"self.spec.?owner"`))
	kind.Create("a", "{size: 1, owner: b}")
	kind.Create("b", "{size: 1, owner: a}")
	kind.Create("self", "{size: 1, owner: self}")
	kind.Annotate("a", "again", "1") // whichever came first did not know of the other
	message := kind.Stalled("a", "ReferenceCycle")
	if want := fmt.Sprintf("%[1]s %[2]s/a -> %[1]s %[2]s/b -> %[1]s %[2]s/a", kind.Name, kind.Namespace); !strings.Contains(message, want) {
		t.Errorf("the message does not say %q: %s", want, message)
	}
	kind.Stalled("self", "ReferenceCycle")
	if n := server.Count("", ""); n != 0 {
		t.Errorf("%d requests", n)
	}
	kind.Delete("a")
	kind.Delete("b")
	kind.Delete("self")
	kind.Gone("a", "b", "self")
}

// TestACycleThatCameLaterCanBeDeleted: two that were made one after the other, and then refer to each other.
func TestACycleThatCameLaterCanBeDeleted(t *testing.T) {
	l := lab.New(t)
	server := l.NewServer(family)
	kind := l.NewKind("")
	kind.Endpoint(server.URL, "  timeout: 5s")
	mapping := strings.ReplaceAll(childMapping(kind, ", optional: true"), "self.spec.owner", `"self.spec.?owner"`)
	mapping = strings.ReplaceAll(mapping, "refs.parent.", "refs.?parent.?")
	kind.Mapping(strings.ReplaceAll(mapping, "status.identifiers.id", "status.?identifiers.?id"))
	kind.Create("a", "{size: 1}")
	kind.Ready("a")
	kind.Create("b", "{size: 1, owner: a}")
	kind.Ready("b")
	kind.Patch("a", `{"spec":{"owner":"b"}}`)
	kind.Delete("a")
	kind.Delete("b")
	kind.Gone("a", "b")
	if live := server.Live("/children"); len(live) != 0 {
		t.Errorf("left outside: %v", live)
	}
}
