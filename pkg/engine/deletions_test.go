package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/fleet"
)

// deletedAt is a custom resource that was deleted then and waits for its finalizer.
func deletedAt(at time.Time) change {
	return func(obj *unstructured.Unstructured) {
		stamp := metav1.NewTime(at)
		obj.SetDeletionTimestamp(&stamp)
		obj.SetFinalizers([]string{v1alpha1.Finalizer})
	}
}

// guardOf is a guard over custom resources, some of them deleted at these times, and the first of the deleted.
func guardOf(t *testing.T, s Spec, alive int, deleted ...time.Time) (*deletions, *fleet.Object) {
	t.Helper()
	var all []*fleet.Object
	for i, at := range deleted {
		all = append(all, compact(t, thing("team", fmt.Sprintf("deleted-%d", i), deletedAt(at))))
	}
	for i := range alive {
		all = append(all, compact(t, thing("team", fmt.Sprintf("alive-%d", i), finalized(v1alpha1.Finalizer))))
	}
	d := &deletions{
		mapping: "things", kind: thingsGVR.GroupResource(), clock: clock.RealClock{}, announce: func() {},
		objects: func() []*fleet.Object { return all }, guard: func() *v1alpha1.Guard { return nil },
	}
	d.restore(s)
	return d, all[0]
}

func times(n int, at time.Time) []time.Time {
	out := make([]time.Time, n)
	for i := range out {
		out[i] = at
	}
	return out
}

func TestManyDeletionsAreHeldAndFewAreNot(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for name, tc := range map[string]struct {
		alive   int
		deleted []time.Time
		held    bool
	}{
		"ten of ten":                {0, times(10, now), false},
		"eleven of eleven":          {0, times(11, now), true},
		"eleven of twenty-two":      {11, times(11, now), false},
		"twelve of twenty-three":    {11, times(12, now), true},
		"far apart":                 {0, append(times(6, now), times(6, now.Add(-time.Hour))...), false},
		"long ago, at once":         {0, times(11, now.Add(-time.Hour)), true},
		"a hundred of five hundred": {400, times(100, now), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, obj := guardOf(t, Spec{}, tc.alive, tc.deleted...)
			why, err := d.Held(t.Context(), obj)
			if err != nil || (why != "") != tc.held {
				t.Errorf("held: %q, %v", why, err)
			}
		})
	}
}

// TestWhatIsHeldStaysHeldUntilItIsAcknowledged: also in another process, and not by the acknowledgement of another time.
func TestWhatIsHeldStaysHeldUntilItIsAcknowledged(t *testing.T) {
	t.Parallel()
	d, obj := guardOf(t, Spec{}, 0, times(11, time.Now())...)
	why, _ := d.Held(t.Context(), obj)
	since, _ := d.holding()
	if since == "" || !strings.Contains(why, v1alpha1.AcknowledgeDeletionsAnnotation+"="+since) || !strings.Contains(why, "policy.deletion to Orphan") {
		t.Fatalf("since %q: %s", since, why)
	}
	again, other := guardOf(t, Spec{HeldSince: since}, 20, time.Now())
	if why, _ := again.Held(t.Context(), other); why == "" {
		t.Error("another process does not hold")
	}
	if d.acknowledge("") || d.acknowledge("1999-01-01T00:00:00Z") {
		t.Error("acknowledged by something else")
	}
	if !d.acknowledge(since) || d.acknowledge(since) {
		t.Error("not acknowledged, or twice")
	}
	if why, err := d.Held(t.Context(), obj); why != "" || err != nil {
		t.Errorf("still held: %s, %v", why, err)
	}
	acknowledged, third := guardOf(t, Spec{HeldSince: since, Acknowledged: since}, 20, time.Now())
	if why, _ := acknowledged.Held(t.Context(), third); why != "" {
		t.Errorf("held although it was acknowledged before the start: %s", why)
	}
}

func TestDeletionsThatAreDoneCount(t *testing.T) {
	t.Parallel()
	d, obj := guardOf(t, Spec{}, 0, times(2, time.Now())...)
	for range 9 {
		if why, _ := d.Held(t.Context(), obj); why != "" {
			t.Fatalf("held too early: %s", why)
		}
		d.gone()
	}
	if why, _ := d.Held(t.Context(), obj); why == "" {
		t.Error("eleven of eleven are not held")
	}
}

// TestAKindThatIsGoingTakesNothingAlong: whatever the numbers are. What cannot be found out counts as going.
func TestAKindThatIsGoingTakesNothingAlong(t *testing.T) {
	t.Parallel()
	errAPIServer := errors.New("the API server does not answer")
	for name, answer := range map[string]struct {
		going bool
		err   error
	}{"it stays": {}, "it is going": {going: true}, "unknown": {err: errAPIServer}} {
		d, obj := guardOf(t, Spec{}, 20, time.Now())
		d.going = func(context.Context) (bool, error) { return answer.going, answer.err }
		why, err := d.Held(t.Context(), obj)
		if (why != "") != answer.going || !errors.Is(err, answer.err) {
			t.Errorf("%s: %q, %v", name, why, err)
		}
	}
}

func TestAGuardHasItsOwnBounds(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		guard     *v1alpha1.Guard
		some, all int
		holds     bool
	}{
		"the usual":           {nil, 11, 20, true},
		"off":                 {&v1alpha1.Guard{Mode: v1alpha1.GuardOff}, 1000, 1000, false},
		"none is not many":    {&v1alpha1.Guard{MaxObjects: new(int32(0)), MaxPercent: new(int32(0))}, 0, 5, false},
		"one is too many":     {&v1alpha1.Guard{MaxObjects: new(int32(0)), MaxPercent: new(int32(0))}, 1, 500, true},
		"more than a tenth":   {&v1alpha1.Guard{MaxPercent: new(int32(10))}, 11, 100, true},
		"a tenth":             {&v1alpha1.Guard{MaxPercent: new(int32(10))}, 11, 110, false},
		"never all, so never": {&v1alpha1.Guard{MaxPercent: new(int32(100))}, 50, 50, false},
	} {
		if got := tc.guard.Holds(tc.some, tc.all); got != tc.holds {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestAHoldEndsWithWhatItHolds(t *testing.T) {
	t.Parallel()
	d, obj := guardOf(t, Spec{}, 0, times(11, time.Now())...)
	if why, _ := d.Held(t.Context(), obj); why == "" {
		t.Fatal("not held")
	}
	d.end()
	if since, why := d.holding(); since != "" || why != "" {
		t.Errorf("held since %s: %s", since, why)
	}
}
