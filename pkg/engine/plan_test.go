package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/mapping"
)

// creating makes a program that would make the objects that those of thingMapping only look at.
func creating(t *testing.T, edits ...string) *mapping.Program {
	t.Helper()
	m := &v1alpha1.RestMapping{}
	text := strings.NewReplacer(append([]string{
		"management: ObserveOnly", "management: Full", `read: {path: "/things/{id}"}`, `read: {path: "/things/{id}"}, create: {method: PUT, path: "/things/{id}"}`,
	}, edits...)...).Replace(thingMapping)
	if err := yaml.UnmarshalStrict([]byte(text), m); err != nil {
		t.Fatal(err)
	}
	program, err := mapping.Compile(m, mapping.TargetSchema{Namespaced: true, StatusSubresource: true})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func things(n int) []runtime.Object {
	objects := make([]runtime.Object, 0, n)
	for i := range n {
		objects = append(objects, thing("team", fmt.Sprintf("n%d", i)))
	}
	return objects
}

// planned waits for the plan of a generation.
func (b *bench) planned(s Spec) Plan {
	b.Helper()
	var found Plan
	b.eventually("the plan is made", func() bool {
		var err error
		if found, err = b.engine.Plan(s); err != nil {
			b.Fatal(err)
		}
		return found.Done
	})
	return found
}

func TestAPlanCountsWhatWouldChange(t *testing.T) {
	t.Parallel()
	b := newBench(t, things(12)...)
	b.apply(spec(compile(t, "")))
	b.settled("n0", "n11")
	next := spec(creating(t))
	if first, err := b.engine.Plan(next); err != nil || first.Done {
		t.Errorf("the first question: %+v, %v", first, err)
	}
	found := b.planned(next)
	if found.Objects != 12 || found.Changes != 12 || found.Unknown != 0 || len(found.Does) != 1 || found.Does[0] != (PlanCount{"Create", 12}) || len(found.Names) != maxPlanWords {
		t.Errorf("planned is %+v", found)
	}
	if !found.Held(nil) || found.Held(&v1alpha1.Guard{MaxObjects: new(int32(12))}) {
		t.Errorf("held: %t", found.Held(nil))
	}
	if b.outside.methods["PUT"] != 0 {
		t.Errorf("requests: %v", b.outside.methods)
	}
	b.outside.mu.Lock()
	looked := b.outside.methods["GET"]
	b.outside.mu.Unlock()
	b.planned(next) // it is known
	same := spec(compile(t, ""))
	if found := b.planned(same); found.Changes != 0 || found.Held(nil) || found.Unsure(nil) {
		t.Errorf("the same: %+v", found)
	}
	b.outside.mu.Lock()
	defer b.outside.mu.Unlock()
	// Six of twelve cannot be more than half.
	if n := b.outside.methods["GET"] - looked; n > 6+planners {
		t.Errorf("%d requests for a plan that was decided after six", n)
	}
	if owners := b.fleet.Owners(); len(owners) != 1 {
		t.Errorf("watches that stay: %v", owners)
	}
}

// Without a generation that serves, everything that would be done counts.
func TestAPlanBesideNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, things(12)...)
	if found := b.planned(spec(creating(t))); found.Changes != 12 {
		t.Errorf("planned is %+v", found)
	}
	b.eventually("no watch stays", func() bool { return len(b.fleet.Owners()) == 0 })
}

// What the newer generation does not select has nobody any more.
func TestAPlanCountsWhatIsNoLongerServed(t *testing.T) {
	t.Parallel()
	var objects []runtime.Object
	for i := range 12 {
		obj := thing("team", fmt.Sprintf("n%d", i))
		obj.SetFinalizers([]string{v1alpha1.Finalizer})
		obj.SetLabels(map[string]string{"zone": "a"})
		objects = append(objects, obj)
	}
	b := newBench(t, objects...)
	b.apply(spec(compile(t, "")))
	b.settled("n0", "n11")
	next := spec(compile(t, ""))
	next.Selector = "zone=b"
	found := b.planned(next)
	if found.Objects != 12 || found.Does[0] != (PlanCount{"Abandon", 12}) {
		t.Errorf("planned is %+v", found)
	}
}

func TestAPlanThatCannotReadSaysSo(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakePassiveClock(time.Now())
	b := newBenchWith(t, func(c *Config) { c.Clock = clock }, things(12)...)
	b.outside.fail.Store(true)
	b.apply(spec(compile(t, "")))
	b.settled("n0", "n11")
	next := spec(creating(t))
	found := b.planned(next)
	if found.Changes != 0 {
		t.Errorf("planned is %+v", found)
	}
	next.Program = creating(t, "policy: {", "policy: {adoption: ByIdentity, ")
	found = b.planned(next)
	if found.Unknown != 12 || len(found.Because) != 1 || found.Held(nil) || !found.Unsure(nil) {
		t.Errorf("planned is %+v", found)
	}
	b.outside.fail.Store(false)
	if again, _ := b.engine.Plan(next); again.Unknown != 12 {
		t.Errorf("a plan is made anew at once: %+v", again)
	}
	clock.SetTime(clock.Now().Add(planAgain))
	if again, _ := b.engine.Plan(next); !again.Done || again.Unknown != 12 {
		t.Errorf("what was known is forgotten meanwhile: %+v", again)
	}
	b.eventually("the plan is made anew", func() bool {
		again, _ := b.engine.Plan(next)
		return again.Unknown == 0 && again.Changes == 12
	})
}

// A kind that cannot be watched gives no plan, and that is no permission.
func TestAPlanOfAKindThatCannotBeWatched(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.client.PrependReactor("list", "things", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("no")
	})
	if _, err := b.engine.Plan(spec(creating(t))); err != nil {
		t.Fatal(err)
	}
	b.engine.EndPlan("things") // while it waits
	if !(Plan{Done: true, Problem: "no"}).Unsure(nil) {
		t.Error("a problem counts as no change")
	}
}

func TestAPlanEndsWithItsMappingAndWithTheEngine(t *testing.T) {
	t.Parallel()
	b := newBench(t, things(12)...)
	b.outside.hold = make(chan struct{})
	b.apply(spec(compile(t, "")))
	ask := func() {
		if _, err := b.engine.Plan(spec(creating(t))); err != nil {
			t.Fatal(err)
		}
	}
	ask()
	ask() // the one before is ended first
	close(b.outside.hold)
	if err := b.engine.Remove("things"); err != nil {
		t.Fatal(err)
	}
	ask()
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := b.engine.Plan(spec(creating(t))); !errors.Is(err, ErrNotRunning) {
		t.Errorf("after the end: %v", err)
	}
}

func TestASampleStandsForAll(t *testing.T) {
	t.Parallel()
	p := Plan{Objects: 3000, Sample: 1000, Changes: 501}
	if p.Of(p.Changes) != 1503 || !p.Held(nil) {
		t.Errorf("%d of all, held: %t", p.Of(p.Changes), p.Held(nil))
	}
	p.Changes = 499
	if p.Held(nil) || p.Unsure(nil) {
		t.Error("less than half is held")
	}
	p.Unknown = 2
	if p.Held(nil) || !p.Unsure(nil) {
		t.Error("what may be more than half is sure")
	}
}
