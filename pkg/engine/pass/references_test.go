package pass_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/restmapping/operator/pkg/engine/fleet"
	"github.com/restmapping/operator/pkg/engine/pass"
	"github.com/restmapping/operator/pkg/lifecycle"
	"github.com/restmapping/operator/pkg/mapping"
)

// folderMapping is upsertMapping with a reference to a folder.
const folderMapping = `
  identifiers: [{name: id, value: self.metadata.name}]
  references: [{name: folder, target: {group: lab.example.com, version: v1, kind: Folder}, nameExpression: self.spec.name, ownerReference: true}]
  operations:
    read: {path: "/things/{id}"}
    create: {method: PUT, path: "/things/{id}"}
    update: {method: PUT, path: "/things/{id}"}
    delete: {path: "/things/{id}"}
  fields: [{from: spec.size, to: size}, {to: path, value: "refs.folder.spec.path"}]
`

// relatives are the custom resources around one, as a test says.
type relatives struct {
	folders    map[string]*unstructured.Unstructured
	unread     bool
	problem    error
	dependents pass.Dependents
	cycle      string
}

// Referent implements pass.Referents.
func (r *relatives) Referent(ref mapping.Reference) (*fleet.Object, bool, error) {
	if r.unread {
		return nil, false, r.problem
	}
	found := r.folders[ref.Namespace+"/"+ref.Name]
	if found == nil {
		return nil, true, nil
	}
	object, err := fleet.NewObject(found)
	return object, true, err
}

// Dependents implements pass.Referents.
func (r *relatives) Dependents(types.NamespacedName) pass.Dependents { return r.dependents }

// Cycle implements pass.Referents.
func (r *relatives) Cycle(types.NamespacedName) string { return r.cycle }

// folder makes one that is ready.
func (r *relatives) folder(t *testing.T, name, path string) *unstructured.Unstructured {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(`{apiVersion: lab.example.com/v1, kind: Folder, metadata: {name: ` + name + `, namespace: team, uid: uid-` + name + `, generation: 1},
 spec: {path: ` + path + `}, status: {conditions: [{type: Ready, status: "True"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(text, &obj.Object); err != nil {
		t.Fatal(err)
	}
	r.folders["team/"+name] = obj
	return obj
}

func newFamily(t *testing.T) (*bench, *relatives) {
	t.Helper()
	r := &relatives{folders: map[string]*unstructured.Unstructured{}}
	b := newBench(t, folderMapping, upsertThings())
	b.referents = r
	b.restart()
	b.advance(settleTime)
	return b, r
}

func TestNothingIsSentBeforeWhatIsReferredToIsReady(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		before func(*testing.T, *relatives)
		want   string // the condition Ready, and what its message says
		says   string
		again  time.Duration // zero for backoff
	}{
		"it is not there": {func(*testing.T, *relatives) {}, "Unknown ReferenceNotFound", "Folder team/main does not exist", 10 * time.Minute},
		"it is not ready": {func(t *testing.T, r *relatives) {
			t.Helper()
			_ = unstructured.SetNestedSlice(r.folder(t, "main", "/a").Object, []any{map[string]any{"type": "Ready", "status": "False", "reason": "Creating"}}, "status", "conditions")
		}, "Unknown ReferenceNotReady", "Folder team/main is not ready: its condition Ready is False, with reason Creating", 10 * time.Minute},
		"it is being deleted": {func(t *testing.T, r *relatives) {
			t.Helper()
			now := metav1.Now()
			r.folder(t, "main", "/a").SetDeletionTimestamp(&now)
		}, "Unknown ReferenceNotReady", "it is being deleted", 10 * time.Minute},
		"nobody can tell yet": {func(_ *testing.T, r *relatives) { r.unread = true }, "Unknown ReferenceNotReady", "are not read yet", 0},
		"nobody can tell": {func(_ *testing.T, r *relatives) {
			r.unread, r.problem = true, errors.New("the watch is broken")
		}, "Unknown ReferenceNotReady", "Folder team/main: the watch is broken", 0},
		"it refers to itself": {func(_ *testing.T, r *relatives) { r.cycle = "Thing team/one -> Thing team/one" }, "False ReferenceCycle", "Thing team/one -> Thing team/one", 10 * time.Minute},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, r := newFamily(t)
			tc.before(t, r)
			b.create("one", "{size: 3, name: main}")
			result := b.look("one")
			b.nothingSent()
			b.wantCondition("one", "Ready", tc.want)
			b.wantMessage("one", "Ready", tc.says)
			if (tc.again == 0) != (result.Err != nil) || result.After != tc.again {
				t.Errorf("comes again after %s, %v", result.After, result.Err)
			}
			r.unread, r.cycle = false, ""
			r.folder(t, "main", "/a")
			b.look("one")
			b.wantLive(1)
		})
	}
}

func TestAnOwnerIsSetOnceAndReplacesItsNamesake(t *testing.T) {
	t.Parallel()
	b, r := newFamily(t)
	r.folder(t, "main", "/a")
	b.create("one", "{size: 3, name: main}")
	b.edit("one", func(obj *unstructured.Unstructured) {
		obj.SetOwnerReferences([]metav1.OwnerReference{
			{APIVersion: "v1", Kind: "ConfigMap", Name: "main", UID: "other"},
			{APIVersion: "lab.example.com/v1", Kind: "Folder", Name: "main", UID: "gone"},
		})
	})
	b.follow("one", b.is("one", "Ready", "True Available"))
	block := true
	want := []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: "main", UID: "other"},
		{APIVersion: "lab.example.com/v1", Kind: "Folder", Name: "main", UID: "uid-main", BlockOwnerDeletion: &block},
	}
	if diff := cmp.Diff(want, b.obj("one").GetOwnerReferences()); diff != "" {
		t.Errorf("owners (-want +got):\n%s", diff)
	}
	b.advance(settleTime)
	b.journal.take()
	b.look("one")
	for _, line := range b.journal.take() {
		if !strings.HasPrefix(line, "GET") {
			t.Errorf("in the steady state: %s", line)
		}
	}
}

func TestAChangeOfWhatIsReferredToIsSent(t *testing.T) {
	t.Parallel()
	b, r := newFamily(t)
	r.folder(t, "main", "/a")
	b.settled("one", "{size: 3, name: main}")
	r.folder(t, "main", "/b")
	b.advance(settleTime)
	b.look("one")
	if got, _ := b.server.Get("/things/one"); got.Fields["path"] != "/b" {
		t.Errorf("outside: %v", got.Fields)
	}
}

func TestADeletionGoesOnWithoutWhatItRefersTo(t *testing.T) {
	t.Parallel()
	for name, gone := range map[string]func(*relatives){
		"it is gone":          func(r *relatives) { clear(r.folders) },
		"it cannot be looked": func(r *relatives) { r.unread, r.problem = true, errors.New("the kind is gone") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, r := newFamily(t)
			r.folder(t, "main", "/a")
			b.settled("one", "{size: 3, name: main}")
			gone(r)
			b.delete("one")
			b.follow("one", b.gone("one"))
			b.wantLive(0)
		})
	}
}

func TestWhatOthersReferToIsNotDeletedBeforeThem(t *testing.T) {
	t.Parallel()
	b := newBench(t, upsertMapping, upsertThings())
	r := &relatives{}
	b.referents = r
	b.restart()
	b.settled("one", "{size: 3}")
	for _, dependents := range []pass.Dependents{
		{State: lifecycle.DependentsUnknown, Message: "RestMapping files is not read yet"},
		{State: lifecycle.DependentsExist, Message: "2 in all: File team/a, File team/b"},
	} {
		r.dependents = dependents
		if b.obj("one").GetDeletionTimestamp() == nil {
			b.delete("one")
		}
		b.journal.take()
		if result := b.look("one"); result.After != 10*time.Minute || result.Err != nil {
			t.Errorf("comes again after %s, %v", result.After, result.Err)
		}
		b.nothingSent()
		b.wantCondition("one", "Ready", "Unknown WaitingForDependents")
		b.wantMessage("one", "Ready", dependents.Message)
		b.wantLive(1)
	}
	r.dependents = pass.Dependents{}
	b.follow("one", b.gone("one"))
	b.wantLive(0)
}
