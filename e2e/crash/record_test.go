//go:build crash

package crash_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/api/v1alpha1"
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
