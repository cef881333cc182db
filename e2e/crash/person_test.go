//go:build crash

package crash_test

import (
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/lifecycle"
)

// person answers what the operator asks: where an API offers nothing to find an object by, and where the answer to a create
// was lost and the specification changed before the object was seen, so that it could be somebody else's.
type person struct {
	// since is when each question was first seen: before it is answered, what is under way must have come to its end.
	since map[string]time.Time
	// answers are counted by class.
	answers map[string]int
}

// answered says how often, by class.
func (p *person) answered() string {
	if len(p.answers) == 0 {
		return "none"
	}
	return fmt.Sprint(p.answers)
}

const thinking = 3 * time.Second

// answer looks outside and answers. It gives what it could not do.
func (p *person) answer(s *scene, c class, obj *unstructured.Unstructured) []string {
	stalled := condition(obj, v1alpha1.ConditionStalled)
	asks := stalled["reason"] == v1alpha1.ReasonCreateOutcomeUnknown || stalled["reason"] == v1alpha1.ReasonNotAdoptable
	if !asks || obj.GetAnnotations()[v1alpha1.ResolveAnnotation] != "" {
		return nil
	}
	var record lifecycle.Record
	if err := json.Unmarshal([]byte(obj.GetAnnotations()[v1alpha1.RecordAnnotation]), &record); err != nil || !open(record, obj) {
		return nil
	}
	if _, ok := p.since[record.Attempt]; !ok {
		p.since[record.Attempt] = time.Now()
	}
	if time.Since(p.since[record.Attempt]) < thinking {
		return []string{c.kind + " " + obj.GetName() + " asks a person"}
	}
	text := "absent@" + record.Attempt
	switch objects := s.server.of(c, string(obj.GetUID())); len(objects) {
	case 0:
	case 1:
		text = "adopt=" + objects[0].ID + "@" + record.Attempt
	default:
		return []string{fmt.Sprintf("%s %s has %d objects", c.kind, obj.GetName(), len(objects))}
	}
	if err := s.tryPatch(c, obj.GetName(), fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.ResolveAnnotation, text)); err != nil {
		return []string{err.Error()}
	}
	p.answers[c.name]++
	return []string{c.kind + " " + obj.GetName() + " was answered " + text}
}

// open tells that the record is of this custom resource, and of a create whose outcome a person can be asked about: one
// whose identity is not known, or whose name somebody else may have taken.
func open(record lifecycle.Record, obj *unstructured.Unstructured) bool {
	return record.UID == string(obj.GetUID()) && record.Attempt != "" && record.Phase != lifecycle.PhaseNone
}
