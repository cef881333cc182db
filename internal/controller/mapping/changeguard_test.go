package mapping

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine"
)

// edited is a mapping of so many custom resources, served in generation 3 and edited to generation 4.
func edited(t *testing.T, objects int, edit func(*v1alpha1.RestMapping)) *bench {
	t.Helper()
	b := newBench(t, newCRD(t), newMapping(t))
	b.engine.next = engine.State{Synced: true, Objects: objects}
	b.mustReconcile("widgets")
	b.edit(4, edit)
	return b
}

// otherPath is an edit after which every object is elsewhere.
func otherPath(m *v1alpha1.RestMapping) { m.Spec.Operations.Read.Path = "/things/{id}" }

func (b *bench) annotate(value string) {
	b.Helper()
	b.edit(b.mapping("widgets").Generation, func(m *v1alpha1.RestMapping) {
		m.Annotations = map[string]string{v1alpha1.AcknowledgeChangeAnnotation: value}
	})
}

func many() engine.Plan {
	return engine.Plan{
		Done: true, Objects: 20, Sample: 20, Changes: 11, Unknown: 1, Does: []engine.PlanCount{{What: "Update", Count: 11}},
		Because: []engine.PlanCount{{What: "EndpointNotReady", Count: 1}}, Fields: []string{"color", "size"}, Names: []string{"team/one"},
	}
}

func TestAChangeOfManyObjectsWaitsForAPerson(t *testing.T) {
	t.Parallel()
	b := edited(t, 20, otherPath)
	m, _ := b.mustReconcile("widgets")
	wantText(t, "before the plan is made", strings.Join(conditionsOf(m), ", "), "Ready False PlanPending", "Accepted False PlanPending", "Reconciling True PlanPending")
	wantEqual(t, "served", int64(3), b.served())
	b.engine.plan = many()
	m, result := b.mustReconcile("widgets")
	wantText(t, "conditions", strings.Join(conditionsOf(m), ", "), "Ready False ChangeHeld", "Accepted False ChangeHeld", "Stalled True ChangeHeld", "Watching True Watching")
	_, message := condition(m, v1alpha1.ConditionReady)
	wantText(t, "Ready", message, "generation 4 would change 11 of 20 objects outside (11 Update; fields color, size; among them team/one)", "1 could not be looked at (1 EndpointNotReady)",
		"generation 3 goes on serving", "kubectl annotate restmapping widgets restmapping.dev/acknowledge-change=4 --overwrite")
	if b.served() != 3 || m.Status.AcceptedGeneration != 3 || result.RequeueAfter != 0 || m.Status.Objects.Total != 20 {
		t.Errorf("generation %d serves; status %+v; again %v", b.served(), m.Status, result.RequeueAfter)
	}
	wantEqual(t, "plan", &v1alpha1.ChangePlan{
		Generation: 4, Objects: 20, Changes: 11, Unknown: 1, Operations: []string{"Update"}, Fields: []string{"color", "size"}, Names: []string{"team/one"},
	}, m.Status.ChangePlan)
	b.writes = nil
	b.mustReconcile("widgets")
	if len(b.writes) > 0 {
		t.Errorf("nothing changed, and %v was written", b.writes)
	}
	b.annotate("3") // of another generation
	b.mustReconcile("widgets")
	wantEqual(t, "served on another generation's word", int64(3), b.served())
	b.annotate("4")
	m, _ = b.mustReconcile("widgets")
	if b.served() != 4 || m.Status.AcceptedGeneration != 4 || m.Status.ChangePlan != nil {
		t.Errorf("generation %d serves; status %+v", b.served(), m.Status)
	}
	wantText(t, "conditions", strings.Join(conditionsOf(m), ", "), "Ready True Serving", "Accepted True Compiled")
	// Another edit is judged anew, whatever was acknowledged before.
	b.edit(5, func(m *v1alpha1.RestMapping) { m.Spec.Operations.Read.Path = "/others/{id}" })
	b.mustReconcile("widgets")
	wantEqual(t, "served", int64(4), b.served())
}

// Another process serves what was accepted, and goes on holding.
func TestARestartGoesOnHolding(t *testing.T) {
	t.Parallel()
	b := edited(t, 20, otherPath)
	b.engine.plan = many()
	b.mustReconcile("widgets")
	b.restart()
	m, _ := b.mustReconcile("widgets")
	reason, _ := condition(m, v1alpha1.ConditionReady)
	if b.served() != 3 || reason != v1alpha1.ReasonChangeHeld {
		t.Errorf("generation %d serves: %s", b.served(), reason)
	}
}

// Taking an edit back is no change, and needs no word.
func TestAnEditThatIsTakenBackServes(t *testing.T) {
	t.Parallel()
	b := edited(t, 20, otherPath)
	b.engine.plan = many()
	b.mustReconcile("widgets")
	b.edit(5, func(m *v1alpha1.RestMapping) { m.Spec.Operations.Read.Path = "/widgets/{id}" })
	m, _ := b.mustReconcile("widgets")
	if b.served() != 5 || m.Status.ChangePlan != nil {
		t.Errorf("generation %d serves; status %+v", b.served(), m.Status)
	}
}

// Not to know is no permission: it waits, is asked again, and can be acknowledged.
func TestWhatCannotBePlannedWaits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		plan engine.Plan
		says string
	}{
		"the endpoint is away": {
			engine.Plan{Done: true, Objects: 20, Sample: 20, Changes: 1, Unknown: 10, Does: []engine.PlanCount{{What: "Update", Count: 1}}, Because: []engine.PlanCount{{What: "EndpointUnreachable", Count: 10}}},
			"at 10 of 20 objects outside cannot be found out now (10 EndpointUnreachable); it would change 1 of 20",
		},
		"nothing can be watched": {engine.Plan{Done: true, Problem: "no rights"}, "cannot be found out what generation 4 would change outside: no rights"},
	} {
		b := edited(t, 20, otherPath)
		b.engine.plan = tc.plan
		m, result := b.mustReconcile("widgets")
		wantText(t, name, strings.Join(conditionsOf(m), ", "), "Ready False ChangeUnknown", "Reconciling True ChangeUnknown")
		_, message := condition(m, v1alpha1.ConditionReady)
		wantText(t, name, message, tc.says, "it is tried again", "restmapping.dev/acknowledge-change=4")
		if b.served() != 3 || result.RequeueAfter != planRetry {
			t.Errorf("%s: generation %d serves; again %v", name, b.served(), result.RequeueAfter)
		}
		b.engine.plan = engine.Plan{Done: true, Objects: 20, Sample: 20}
		b.mustReconcile("widgets")
		wantEqual(t, name+": served once it is known", int64(4), b.served())
	}
}

func TestAChangeThatIsNotTooMuchIsServed(t *testing.T) {
	t.Parallel()
	off := &v1alpha1.Guard{Mode: v1alpha1.GuardOff}
	all := engine.Plan{Done: true, Objects: 20, Sample: 20, Changes: 20}
	for name, tc := range map[string]struct {
		objects int
		plan    engine.Plan
		edit    func(*v1alpha1.RestMapping)
		asked   bool
	}{
		"few objects":      {10, all, otherPath, false},
		"few changes":      {20, engine.Plan{Done: true, Objects: 20, Sample: 20, Changes: 10}, otherPath, true},
		"half of them":     {30, engine.Plan{Done: true, Objects: 30, Sample: 30, Changes: 15}, otherPath, true},
		"few are unknown":  {20, engine.Plan{Done: true, Objects: 20, Sample: 20, Unknown: 10}, otherPath, true},
		"the guard is off": {20, all, func(m *v1alpha1.RestMapping) { otherPath(m); m.Spec.Policy.ChangeGuard = off }, false},
		"another threshold": {20, all, func(m *v1alpha1.RestMapping) {
			otherPath(m)
			m.Spec.Policy.ChangeGuard = &v1alpha1.Guard{MaxObjects: new(int32(30))}
		}, false},
		"acknowledged beforehand": {20, all, func(m *v1alpha1.RestMapping) {
			otherPath(m)
			m.Annotations = map[string]string{v1alpha1.AcknowledgeChangeAnnotation: "4"}
		}, false},
		"what is shown": {20, all, func(m *v1alpha1.RestMapping) {
			m.Spec.Ready = &v1alpha1.ReadyRule{Expression: "true"}
			m.Spec.Rules = []v1alpha1.Rule{{Expression: "true", Message: "never"}}
			m.Spec.Sync.Interval = metav1.Duration{Duration: time.Hour}
		}, false},
	} {
		b := edited(t, tc.objects, tc.edit)
		b.engine.plan = tc.plan
		b.mustReconcile("widgets")
		if b.served() != 4 || (len(b.engine.planned) > 0) != tc.asked {
			t.Errorf("%s: generation %d serves, asked %v", name, b.served(), b.engine.planned)
		}
	}
}

// Few objects are served now, and another selector may bring many.
func TestAnotherSelectorIsPlannedHoweverFewThereAre(t *testing.T) {
	t.Parallel()
	b := edited(t, 1, func(m *v1alpha1.RestMapping) {
		m.Spec.Target.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"zone": "a"}}
	})
	b.engine.plan = many()
	b.mustReconcile("widgets")
	wantEqual(t, "served", int64(3), b.served())
}

// Before all custom resources are known, nobody knows how many there are.
func TestAPlanWaitsForTheCustomResources(t *testing.T) {
	t.Parallel()
	b := edited(t, 0, otherPath)
	b.engine.states["widgets"] = engine.State{}
	m, _ := b.mustReconcile("widgets")
	wantText(t, "conditions", strings.Join(conditionsOf(m), ", "), "Ready False PlanPending")
	if b.served() != 3 || len(b.engine.planned) > 0 {
		t.Errorf("generation %d serves, asked %v", b.served(), b.engine.planned)
	}
}

// Nothing was accepted that could go on: then all that the generation would do counts.
func TestAGenerationBesideNothingIsPlanned(t *testing.T) {
	t.Parallel()
	b := editedWhileAway(t, otherPath, func(m *v1alpha1.RestMapping) { m.Status.AcceptedSpec = "" })
	b.engine.plan = many()
	m, _ := b.mustReconcile("widgets")
	reason, message := condition(m, v1alpha1.ConditionReady)
	if b.served() != 0 || reason != v1alpha1.ReasonChangeHeld || strings.Contains(message, "goes on serving") {
		t.Errorf("generation %d serves: %s %s", b.served(), reason, message)
	}
}
