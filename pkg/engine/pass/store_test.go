package pass_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/fleet"
	"github.com/restmapping/operator/pkg/lifecycle"
)

var things = schema.GroupResource{Group: "lab.example.com", Resource: "things"}

// journal is what was written and sent, in one order.
type journal struct {
	mu    sync.Mutex
	lines []string
}

func (j *journal) add(line string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lines = append(j.lines, line)
}

// take gives what happened since the last call.
func (j *journal) take() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	lines := j.lines
	j.lines = nil
	return lines
}

// store stands for the API server and for the cache in front of it. It keeps the rules that the passes rely on: a new
// resourceVersion with each change, conflicts, tests of JSON patches, deletion by finalizers.
type store struct {
	tb      testing.TB
	journal *journal

	mu      sync.Mutex
	objects map[types.NamespacedName]*unstructured.Unstructured
	// stale is what the cache still shows; without an entry it shows what is.
	stale map[types.NamespacedName]*fleet.Object
	// hidden empties the cache: the custom resources have left the mapping's selector.
	hidden  bool
	version int
	// before may fail a write; it is given the write's line of the journal. after sees those that worked.
	before func(line string) error
	after  func(line string)
}

func newStore(tb testing.TB, j *journal) *store {
	tb.Helper()
	return &store{
		tb: tb, journal: j, version: 100,
		objects: map[types.NamespacedName]*unstructured.Unstructured{}, stale: map[types.NamespacedName]*fleet.Object{},
		before: func(string) error { return nil }, after: func(string) {},
	}
}

// Get implements pass.Objects.
func (s *store) Get(key types.NamespacedName) (*fleet.Object, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old, ok := s.stale[key]; ok {
		return old, true
	}
	obj, ok := s.objects[key]
	if !ok || s.hidden {
		return nil, false
	}
	return s.compact(obj), true
}

func (s *store) compact(obj *unstructured.Unstructured) *fleet.Object {
	s.tb.Helper()
	out, err := fleet.NewObject(obj.DeepCopy())
	if err != nil {
		s.tb.Fatal(err)
	}
	return out
}

// PatchMetadata implements pass.Writer.
func (s *store) PatchMetadata(_ context.Context, key types.NamespacedName, patch map[string]any) (*fleet.Object, error) {
	patch = plain(s.tb, patch)
	metadata, _ := patch["metadata"].(map[string]any)
	return s.change(metadataLine(metadata), key, func(obj *unstructured.Unstructured) error {
		if err := locked(obj, metadata); err != nil {
			return err
		}
		delete(metadata, "uid")
		delete(metadata, "resourceVersion")
		merge(obj.Object, map[string]any{"metadata": metadata})
		return nil
	})
}

// PatchStatus implements pass.Writer.
func (s *store) PatchStatus(_ context.Context, key types.NamespacedName, patch map[string]any) (*fleet.Object, error) {
	patch = plain(s.tb, patch)
	metadata, _ := patch["metadata"].(map[string]any)
	return s.change(statusLine(s.peek(key), patch), key, func(obj *unstructured.Unstructured) error {
		if err := locked(obj, metadata); err != nil {
			return err
		}
		merge(obj.Object, map[string]any{"status": patch["status"]})
		return nil
	})
}

// SwapAnnotation implements pass.Writer.
func (s *store) SwapAnnotation(_ context.Context, key types.NamespacedName, uid types.UID, name, from, to string) (*fleet.Object, error) {
	return s.change("swap "+recordLine(to), key, func(obj *unstructured.Unstructured) error {
		annotations := obj.GetAnnotations()
		if value, ok := annotations[name]; !ok || value != from || obj.GetUID() != uid {
			return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "patch", things, key.Name, "testing value failed", 0, true)
		}
		annotations[name] = to
		obj.SetAnnotations(annotations)
		return nil
	})
}

// change makes one write. What it must not do is told by an error of the kind that the API server gives.
func (s *store) change(line string, key types.NamespacedName, edit func(*unstructured.Unstructured) error) (*fleet.Object, error) {
	if err := s.before(line); err != nil {
		s.journal.add(line + " failed")
		return nil, err
	}
	out, err := s.apply(key, edit)
	if err != nil {
		s.journal.add(line + " " + string(apierrors.ReasonForError(err)))
		return nil, err
	}
	s.journal.add(line)
	s.after(line)
	return out, nil
}

func (s *store) apply(key types.NamespacedName, edit func(*unstructured.Unstructured) error) (*fleet.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	obj, ok := s.objects[key]
	if !ok {
		return nil, apierrors.NewNotFound(things, key.Name)
	}
	changed := obj.DeepCopy()
	if err := edit(changed); err != nil {
		return nil, err
	}
	s.put(key, obj, changed)
	return s.compact(changed), nil
}

// put takes a change over. The lock is held.
func (s *store) put(key types.NamespacedName, before, after *unstructured.Unstructured) {
	if before != nil && equality.Semantic.DeepEqual(before.Object, after.Object) {
		return
	}
	s.version++
	after.SetResourceVersion(strconv.Itoa(s.version))
	if after.GetDeletionTimestamp() != nil && len(after.GetFinalizers()) == 0 {
		delete(s.objects, key)
		return
	}
	s.objects[key] = after
}

// peek gives the object as it is, nil when it is gone.
func (s *store) peek(key types.NamespacedName) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	if obj := s.objects[key]; obj != nil {
		return obj.DeepCopy()
	}
	return nil
}

// holdBack lets the cache go on showing what it shows now.
func (s *store) holdBack(key types.NamespacedName) {
	obj, ok := s.Get(key)
	if !ok {
		s.tb.Fatalf("%s is not there", key)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stale[key] = obj
}

// catchUp lets the cache show what is.
func (s *store) catchUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.stale)
}

func locked(obj *unstructured.Unstructured, metadata map[string]any) error {
	version, has := metadata["resourceVersion"] // without one, any will do
	if metadata["uid"] != string(obj.GetUID()) || has && version != obj.GetResourceVersion() {
		return apierrors.NewConflict(things, obj.GetName(), fmt.Errorf("the object has been modified"))
	}
	return nil
}

// merge applies a JSON merge patch.
func merge(target, patch map[string]any) {
	for key, value := range patch {
		fields, isMap := value.(map[string]any)
		switch {
		case value == nil:
			delete(target, key)
		case !isMap:
			target[key] = value
		default:
			inner, ok := target[key].(map[string]any)
			if !ok {
				inner = map[string]any{}
			}
			inner = maps.Clone(inner)
			merge(inner, fields)
			target[key] = inner
		}
	}
}

// plain makes a patch what it is on the wire.
func plain(tb testing.TB, patch map[string]any) map[string]any {
	tb.Helper()
	text, err := utiljson.Marshal(patch)
	if err != nil {
		tb.Fatal(err)
	}
	out := map[string]any{}
	if err := utiljson.Unmarshal(text, &out); err != nil {
		tb.Fatal(err)
	}
	return out
}

func metadataLine(metadata map[string]any) string {
	line := "write"
	annotations, _ := metadata["annotations"].(map[string]any)
	if text, ok := annotations[v1alpha1.RecordAnnotation].(string); ok {
		line += " " + recordLine(text)
	}
	if list, ok := metadata["finalizers"].([]any); ok {
		if slices.Contains(list, any(v1alpha1.Finalizer)) {
			line += " +finalizer"
		} else {
			line += " -finalizer"
		}
	}
	return line
}

func recordLine(text string) string {
	record, err := lifecycle.DecodeRecord(text)
	if err != nil || record == nil {
		return "unreadable record"
	}
	line := "record=" + string(record.Phase)
	if op := record.Underway; op != nil {
		line += " " + op.Operation + " " + op.URL + string(op.Failed)
	}
	return line
}

// statusLine shows the condition Ready as the write leaves it.
func statusLine(obj *unstructured.Unstructured, patch map[string]any) string {
	if obj == nil {
		return "status"
	}
	merge(obj.Object, map[string]any{"status": patch["status"]})
	return "status " + conditionText(obj, v1alpha1.ConditionReady)
}

// conditionText is a condition as "status reason", empty when it is not there.
func conditionText(obj *unstructured.Unstructured, kind string) string {
	c := conditionOf(obj, kind)
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%v %v", c["status"], c["reason"])
}

func conditionOf(obj *unstructured.Unstructured, kind string) map[string]any {
	list, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions")
	for _, item := range list {
		if c, ok := item.(map[string]any); ok && c["type"] == kind {
			return c
		}
	}
	return nil
}
