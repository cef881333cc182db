package status

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/restmapping/operator/api/v1alpha1"
)

// maxMessage is the longest message of a condition that the API accepts.
const maxMessage = 4096

// maxDrift bounds the list of drifted paths.
const maxDrift = 32

// Target is the custom resource's side of a status: what is there now, and what its schema can hold.
type Target struct {
	// Current is the status as it is, nil for none. It is not changed.
	Current map[string]any
	// Generation is metadata.generation.
	Generation int64
	// Has tells which optional fields the schema of the status has.
	Has func(field string) bool
}

// Build gives the status as it should be. Times of transition only change together with a condition's status.
func Build(t Target, s State, now time.Time) map[string]any {
	out := runtime.DeepCopyJSON(nonNil(t.Current))
	setConditions(out, t, s, now)
	if s.Observed {
		out["observedGeneration"] = t.Generation
	}
	set := func(field string, value any, present bool) {
		switch {
		case !t.Has(field):
		case present:
			out[field] = value
		default:
			delete(out, field)
		}
	}
	set(FieldIdentifiers, stringMap(s.Identifiers), len(s.Identifiers) > 0)
	set(FieldLastError, lastError(s.LastError), s.LastError != nil)
	if !s.KeepDrift {
		set(FieldDrift, paths(s.Drift), len(s.Drift) > 0)
	}
	if s.Handled != "" {
		set(FieldHandled, s.Handled, true)
	}
	project(out, s.Projections)
	return out
}

// Equal reports whether two statuses say the same, so that nothing need be written.
func Equal(a, b map[string]any) bool {
	return equality.Semantic.DeepEqual(nonNil(a), nonNil(b))
}

func setConditions(out map[string]any, t Target, s State, now time.Time) {
	conditions := conditionsOf(out)
	apply := func(kind string, c *Condition, keep bool) {
		switch {
		case c != nil:
			conditions = upsert(conditions, kind, *c, t.Generation, now)
		case !keep:
			conditions = slices.DeleteFunc(conditions, func(m map[string]any) bool { return m["type"] == kind })
		case find(conditions, kind) == nil:
			unknown := Condition{Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonProgressing}
			conditions = upsert(conditions, kind, unknown, t.Generation, now)
		}
	}
	apply(v1alpha1.ConditionReady, s.Ready, true)
	apply(v1alpha1.ConditionSynced, s.Synced, true)
	apply(v1alpha1.ConditionReconciling, s.Reconciling, false)
	apply(v1alpha1.ConditionStalled, s.Stalled, false)
	list := make([]any, 0, len(conditions))
	for _, c := range conditions {
		list = append(list, c)
	}
	out["conditions"] = list
}

func upsert(conditions []map[string]any, kind string, c Condition, generation int64, now time.Time) []map[string]any {
	next := map[string]any{
		"type": kind, "status": string(c.Status), "reason": c.Reason, "message": cut(c.Message),
		"observedGeneration": generation, "lastTransitionTime": now.UTC().Format(time.RFC3339),
	}
	old := find(conditions, kind)
	if old == nil {
		return append(conditions, next)
	}
	if since, ok := old["lastTransitionTime"].(string); ok && old["status"] == next["status"] {
		next["lastTransitionTime"] = since
	}
	maps.Copy(old, next)
	return conditions
}

// Find gives the condition of this type in a status, nil when there is none.
func Find(current map[string]any, kind string) map[string]any {
	return find(conditionsOf(current), kind)
}

func find(conditions []map[string]any, kind string) map[string]any {
	for _, c := range conditions {
		if c["type"] == kind {
			return c
		}
	}
	return nil
}

func conditionsOf(current map[string]any) []map[string]any {
	list, _ := current["conditions"].([]any)
	conditions := make([]map[string]any, 0, len(list)+2)
	for _, item := range list {
		if c, ok := item.(map[string]any); ok {
			conditions = append(conditions, c)
		}
	}
	return conditions
}

// cut shortens a message at a rune boundary.
func cut(message string) string {
	if len(message) <= maxMessage {
		return message
	}
	runes := []rune(message)
	for len(string(runes)) > maxMessage-len("…") {
		runes = runes[:len(runes)-1-(len(string(runes))-maxMessage)/4]
	}
	return string(runes) + "…"
}

// project puts each value in its place. A place that cannot be reached is left: Compile has checked the schema.
func project(out map[string]any, projections []Projection) {
	for _, p := range projections {
		if p.Value == nil {
			unstructured.RemoveNestedField(out, p.Path...)
			continue
		}
		// The value is the pass's own, and only lives on in this status.
		_ = unstructured.SetNestedField(out, stored(p.Value), p.Path...)
	}
}

func lastError(e *LastError) map[string]any {
	if e == nil {
		return nil
	}
	m := map[string]any{"operation": e.Operation, "message": cut(e.Message)}
	if e.HTTPStatus != 0 {
		m["httpStatus"] = int64(e.HTTPStatus)
	}
	return m
}

func paths(list []string) []any {
	out := make([]any, 0, len(list))
	for _, p := range list[:min(len(list), maxDrift)] {
		out = append(out, p)
	}
	return out
}

func stringMap(m map[string]string) map[string]any {
	out := make(map[string]any, len(m))
	for k, v := range m {
		out[k] = v
	}
	return out
}

func nonNil(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}
