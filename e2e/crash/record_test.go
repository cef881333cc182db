//go:build crash

package crash_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/restfake"
)

// TestRecordStripped removes the annotation that says which object is ours. A marker proves it anyway; everything else
// waits for a person, who puts it back. Nothing is doubled, nothing is let go.
func TestRecordStripped(t *testing.T) {
	s := newScene(t)
	s.start()
	records := map[string]string{}
	for _, c := range classes() {
		s.create(c, "object", 1)
	}
	s.rest("before the records are stripped")
	for _, c := range classes() {
		records[c.kind] = s.get(c, "object").GetAnnotations()[v1alpha1.RecordAnnotation]
		s.annotate(c, v1alpha1.RecordAnnotation, "")
	}
	for _, c := range classes() {
		if !c.marked {
			s.stalled(c, v1alpha1.ReasonRecordLost)
		}
	}
	s.eventually("the marked object is known again", patience, func() string {
		for _, c := range classes() {
			if obj := s.get(c, "object"); c.marked && obj.GetAnnotations()[v1alpha1.RecordAnnotation] == "" {
				return words(obj)
			}
		}
		return ""
	})
	for _, c := range classes() {
		s.delete(c, "object") // one that waits for its record is not let go by being deleted
		s.want[ref{c.kind, "object"}] = 1
	}
	time.Sleep(4 * time.Second)
	for _, c := range classes() {
		if obj := s.get(c, "object"); !c.marked && (obj == nil || len(s.server.of(c, string(obj.GetUID()))) != 1) {
			t.Errorf("%s was let go without its record", c.kind)
		}
		if !c.marked {
			s.annotate(c, v1alpha1.RecordAnnotation, records[c.kind])
		}
		delete(s.want, ref{c.kind, "object"})
	}
	s.rest("after the records are back")
	s.report("record stripped")
}

// TestStatusPruned empties every status, while no operator runs and while one does: as a schema that does not know it, or a
// backup without it. What is outside is known all the same, and nothing is made again.
func TestStatusPruned(t *testing.T) {
	s := newScene(t)
	s.start()
	for _, c := range classes() {
		s.create(c, "object", 1)
	}
	s.rest("before the status is pruned")
	made := s.server.count(restfake.Created)
	s.kill()
	s.pruneStatus()
	s.start()
	s.rest("after a start without a status")
	s.pruneStatus()
	s.rest("after the status was pruned")
	for _, c := range classes() {
		s.resize(c, "object", 2)
	}
	s.pruneStatus()
	s.rest("after an edit and another pruning")
	if n := s.server.count(restfake.Created) - made; n != 0 {
		t.Errorf("%d objects were made again", n)
	}
	s.kill()
	s.pruneStatus()
	s.start()
	s.deleteAll("deleted without a status")
	s.report("status pruned")
}

func (s *scene) pruneStatus() {
	s.t.Helper()
	for _, c := range classes() {
		_, err := s.resource(c).Patch(s.t.Context(), "object", types.MergePatchType, []byte(`{"status":null}`), metav1.PatchOptions{}, "status")
		if err != nil {
			s.t.Fatal(err)
		}
	}
}

// TestSameNameWithANewUID lets a custom resource go without its object, and makes a namesake. The object belongs to
// nobody then: it is never deleted, changed or doubled for the same key.
func TestSameNameWithANewUID(t *testing.T) {
	s := newScene(t)
	s.namesake(func(c class, _ map[string]string) error { return s.tryCreate(c, "object", 2, nil, nil) })
	s.report("same name with a new UID")
}

// TestRestoredFromABackup brings custom resources back with their annotations and finalizers, without status and with
// another UID, as backups do.
func TestRestoredFromABackup(t *testing.T) {
	s := newScene(t)
	s.namesake(func(c class, annotations map[string]string) error {
		return s.tryCreate(c, "object", 2, annotations, []string{v1alpha1.Finalizer})
	})
	s.report("restored from a backup")
}

// namesake replaces each custom resource by one of the same name while the operator is down. Where the key is taken by
// what was left, the namesake waits for a person, who removes that.
func (s *scene) namesake(again func(class, map[string]string) error) {
	s.t.Helper()
	s.start()
	for _, c := range classes() {
		s.create(c, "object", 1)
	}
	s.rest("before")
	s.kill()
	left := map[string]string{}
	for _, c := range classes() {
		old := s.get(c, "object")
		left[c.kind] = string(old.GetUID())
		s.forceDelete(c, "object")
		if err := again(c, old.GetAnnotations()); err != nil {
			s.t.Fatal(err)
		}
	}
	s.start()
	for _, c := range classes() {
		if c.named {
			s.stalled(c, v1alpha1.ReasonNotAdoptable)
		} else {
			s.ready(c)
		}
		objects := s.server.of(c, left[c.kind])
		if len(objects) != 1 || fmt.Sprint(objects[0].Fields["size"]) != "1" {
			s.t.Errorf("%s: what the former custom resource left is now %v", c.kind, objects)
			continue
		}
		if err := s.server.Remove(objects[0].Path); err != nil {
			s.t.Fatal(err)
		}
	}
	s.rest("when the key is free")
	s.deleteAll("deleted")
}

// annotate sets an annotation; an empty value removes it.
func (s *scene) annotate(c class, name, value string) {
	s.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, name, value)
	if value == "" {
		patch = fmt.Sprintf(`{"metadata":{"annotations":{%q:null}}}`, name)
	}
	if err := s.tryPatch(c, "object", patch); err != nil {
		s.t.Fatal(err)
	}
}

func (s *scene) stalled(c class, reason string) {
	s.t.Helper()
	s.eventually(c.kind+" is stalled with "+reason, patience, func() string {
		obj := s.get(c, "object")
		if stalled := condition(obj, v1alpha1.ConditionStalled); stalled["reason"] != reason {
			return words(obj)
		}
		return ""
	})
}

func (s *scene) ready(c class) {
	s.t.Helper()
	s.eventually(c.kind+" is ready", patience, func() string {
		obj := s.get(c, "object")
		if condition(obj, v1alpha1.ConditionReady)["status"] != string(metav1.ConditionTrue) {
			return words(obj)
		}
		return ""
	})
}
