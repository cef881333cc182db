package status

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/restmapping/operator/api/v1alpha1"
)

var (
	then = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	now  = then.Add(time.Hour)
)

func everything(string) bool { return true }
func nothing(string) bool    { return false }

func yes(reason string) *Condition { return &Condition{Status: metav1.ConditionTrue, Reason: reason} }

func no(reason string) *Condition { return &Condition{Status: metav1.ConditionFalse, Reason: reason} }

func TestTheFirstStatusHasReadyAndSynced(t *testing.T) {
	t.Parallel()
	got := Build(Target{Generation: 3, Has: everything}, State{Ready: yes("Available"), Reconciling: yes("Creating")}, now)
	want := map[string]any{"conditions": []any{
		condition("Ready", "True", "Available", 3, now),
		condition("Synced", "Unknown", v1alpha1.ReasonProgressing, 3, now),
		condition("Reconciling", "True", "Creating", 3, now),
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func condition(kind, st, reason string, generation int64, at time.Time) map[string]any {
	return map[string]any{
		"type": kind, "status": st, "reason": reason, "message": "", "observedGeneration": generation,
		"lastTransitionTime": at.Format(time.RFC3339),
	}
}

func TestTheTimeOfTransitionMovesWithTheStatusAlone(t *testing.T) {
	t.Parallel()
	target := Target{Has: everything, Generation: 1}
	target.Current = Build(target, State{Ready: no("Creating"), Synced: no("Creating")}, then)
	for name, tc := range map[string]struct {
		ready *Condition
		want  time.Time
	}{
		"another reason keeps it":  {no("Updating"), then},
		"another status moves it":  {yes("Available"), now},
		"a nil one stays as it is": {nil, then},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Find(Build(target, State{Ready: tc.ready, Synced: no("Creating")}, now), "Ready")
			if got["lastTransitionTime"] != tc.want.Format(time.RFC3339) {
				t.Errorf("got %v", got)
			}
			if tc.ready != nil && got["reason"] != tc.ready.Reason {
				t.Errorf("the reason is %v", got["reason"])
			}
		})
	}
}

func TestReconcilingAndStalledGoWhenTheyAreOver(t *testing.T) {
	t.Parallel()
	target := Target{Has: everything}
	target.Current = Build(target, State{Ready: no("x"), Synced: no("x"), Stalled: yes("x"), Reconciling: yes("x")}, then)
	got := Build(target, State{}, now)
	if Find(got, "Stalled") != nil || Find(got, "Reconciling") != nil {
		t.Errorf("they are still there: %v", got)
	}
	if Find(got, "Ready") == nil || Find(got, "Synced") == nil {
		t.Errorf("those that stand always are gone: %v", got)
	}
}

func TestConditionsOfOthersStay(t *testing.T) {
	t.Parallel()
	theirs := map[string]any{"type": "Theirs", "status": "True"}
	current := map[string]any{"conditions": []any{theirs, "junk"}, "other": "kept"}
	before := runtime.DeepCopyJSON(current)
	got := Build(Target{Current: current, Has: everything}, State{Ready: yes("Available"), Synced: yes("InSync")}, now)
	if diff := cmp.Diff(theirs, Find(got, "Theirs")); diff != "" || got["other"] != "kept" {
		t.Errorf("%s %v", diff, got)
	}
	if diff := cmp.Diff(before, current); diff != "" {
		t.Errorf("the current status was changed:\n%s", diff)
	}
}

func TestOptionalFieldsAreWrittenWhereTheSchemaHasThem(t *testing.T) {
	t.Parallel()
	state := State{
		Observed: true, Identifiers: map[string]string{"id": "7"}, Drift: []string{"a"}, Handled: "token",
		LastError: &LastError{Operation: "Create", HTTPStatus: 422, Message: "no"},
	}
	full := Build(Target{Has: everything, Generation: 4}, state, now)
	delete(full, "conditions")
	want := map[string]any{
		"observedGeneration": int64(4), "identifiers": map[string]any{"id": "7"}, "drift": []any{"a"},
		"lastHandledReconcileAt": "token",
		"lastError":              map[string]any{"operation": "Create", "httpStatus": int64(422), "message": "no"},
	}
	if diff := cmp.Diff(want, full); diff != "" {
		t.Error(diff)
	}
	poor := Build(Target{Has: nothing, Generation: 4}, state, now)
	delete(poor, "conditions")
	if diff := cmp.Diff(map[string]any{"observedGeneration": int64(4)}, poor); diff != "" {
		t.Error(diff)
	}
	later := Build(Target{Has: everything, Current: full, Generation: 5}, State{KeepDrift: true}, now)
	delete(later, "conditions")
	want = map[string]any{"observedGeneration": int64(4), "drift": []any{"a"}, "lastHandledReconcileAt": "token"}
	if diff := cmp.Diff(want, later); diff != "" {
		t.Errorf("what is over goes, drift and the answered token stay:\n%s", diff)
	}
}

func TestALongStatusIsCut(t *testing.T) {
	t.Parallel()
	message := strings.Repeat("ü€😀", 5000)
	c := no("x")
	c.Message = message
	got := Build(Target{Has: everything}, State{Ready: c, Drift: make([]string, 1000), LastError: &LastError{Message: message}}, now)
	texts := []any{Find(got, "Ready")["message"], got["lastError"].(map[string]any)["message"]}
	for _, text := range texts {
		s, _ := text.(string)
		if len(s) > maxMessage || len(s) < maxMessage-8 || !utf8.ValidString(s) || !strings.HasSuffix(s, "…") {
			t.Errorf("%d bytes, valid %v", len(s), utf8.ValidString(s))
		}
	}
	if n := len(got["drift"].([]any)); n != maxDrift {
		t.Errorf("%d paths of drift", n)
	}
}

func TestProjections(t *testing.T) {
	t.Parallel()
	current := map[string]any{"old": "x", "nested": map[string]any{"a": "1", "b": "2"}, "scalar": "s"}
	got := Build(Target{Current: current, Has: nothing}, State{Projections: []Projection{
		{Path: []string{"old"}, Value: nil},
		{Path: []string{"nested", "a"}, Value: "new"},
		{Path: []string{"made", "deep"}, Value: []any{int64(1)}},
		{Path: []string{"scalar", "below"}, Value: "unreachable"},
	}}, now)
	delete(got, "conditions")
	want := map[string]any{
		"nested": map[string]any{"a": "new", "b": "2"}, "made": map[string]any{"deep": []any{int64(1)}}, "scalar": "s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A status that is read back otherwise than it was built would be written again in every pass.
func TestAProjectionIsTheSameWhenItIsReadBack(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{
		"a whole number from a double":     float64(1),
		"a fraction":                       1.5,
		"a number beyond int64":            uint64(1<<63 + 1024),
		"a huge double":                    1e30,
		"a double beyond int64":            float64(1 << 63),
		"a member without a value":         map[string]any{"a": nil, "b": map[string]any{"c": nil}},
		"numbers inside of lists and maps": []any{map[string]any{"n": float64(2)}, uint64(1 << 63)},
		"a negative zero":                  math.Copysign(0, -1),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := State{Ready: yes("x"), Synced: yes("x"), Projections: []Projection{{Path: []string{"p"}, Value: value}}}
			first := Build(Target{Has: nothing}, state, now)
			stored := roundTrip(t, apply(nil, MergePatch(nil, first)))
			second := Build(Target{Current: stored, Has: nothing}, state, now)
			if !Equal(stored, second) {
				t.Errorf("it is written again and again:\n%s", cmp.Diff(stored, second))
			}
		})
	}
}
