package mapping

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine"
)

// editedBadly is a mapping that was served, then edited so that it does not compile, while no operator ran.
func editedBadly(t *testing.T, change func(*v1alpha1.RestMapping)) *bench {
	t.Helper()
	return editedWhileAway(t, func(m *v1alpha1.RestMapping) { m.Spec.Fields[0].From = "spec.nothing" }, change)
}

// editedWhileAway is a mapping that was served, then edited while no operator ran; tamper changes what was kept of it.
func editedWhileAway(t *testing.T, edit, tamper func(*v1alpha1.RestMapping)) *bench {
	t.Helper()
	b := newBench(t, newCRD(t), newMapping(t))
	m, _ := b.mustReconcile("widgets")
	if m.Status.AcceptedSpec == "" {
		t.Fatal("nothing was kept")
	}
	b.edit(4, edit)
	if tamper != nil {
		m = b.mapping("widgets")
		tamper(m)
		if err := b.client.Status().Update(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	b.restart()
	return b
}

// edit makes another generation of the mapping.
func (b *bench) edit(generation int64, change func(*v1alpha1.RestMapping)) {
	b.Helper()
	m := b.mapping("widgets")
	m.Generation = generation
	change(m)
	if err := b.client.Update(b.Context(), m); err != nil {
		b.Fatal(err)
	}
}

// restart makes another process: neither the engine nor the compiler knows anything.
func (b *bench) restart() {
	b.engine.specs, b.engine.states = map[string]engine.Spec{}, map[string]engine.State{}
	b.r = &Reconciler{Client: b.client, Live: b.client, Dynamic: b.dynamic, Access: b.access, Engine: b.engine}
}

// served is the generation that the engine serves, 0 for none.
func (b *bench) served() int64 {
	if spec, runs := b.engine.specs["widgets"]; runs {
		return spec.Program.Generation()
	}
	return 0
}

func TestABadEditDoesNotStopWhatWorkedAfterARestart(t *testing.T) {
	t.Parallel()
	b := editedBadly(t, nil)
	m, _ := b.mustReconcile("widgets")
	got := b.engine.specs["widgets"]
	if got.Program == nil || got.Program.Generation() != 3 || !got.Settled || got.GVR != widgetsGVR {
		t.Fatalf("served is %+v", got)
	}
	wantText(t, "conditions", strings.Join(conditionsOf(m), ", "), "Ready False ServingPrevious", "Accepted False InvalidExpressions")
	wantEqual(t, "accepted generation", int64(3), m.Status.AcceptedGeneration)
	b.writes = nil
	b.mustReconcile("widgets")
	if len(b.writes) > 0 {
		t.Errorf("nothing changed, and %v was written", b.writes)
	}
	b.edit(5, func(m *v1alpha1.RestMapping) { m.Spec.Fields[0].From = "spec.size" })
	m, _ = b.mustReconcile("widgets")
	if b.engine.specs["widgets"].Program.Generation() != 5 || m.Status.AcceptedGeneration != 5 {
		t.Errorf("after the correction: %+v", m.Status)
	}
}

func TestWhatCannotBeRestoredIsLeft(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*v1alpha1.RestMapping){
		"nothing kept":        func(m *v1alpha1.RestMapping) { m.Status.AcceptedSpec = "" },
		"no base64":           func(m *v1alpha1.RestMapping) { m.Status.AcceptedSpec = "%%%" },
		"no gzip":             func(m *v1alpha1.RestMapping) { m.Status.AcceptedSpec = "aGVsbG8=" },
		"too long":            func(m *v1alpha1.RestMapping) { m.Status.AcceptedSpec = strings.Repeat("a", maxPacked+1) },
		"it compiles no more": func(m *v1alpha1.RestMapping) { m.Status.AcceptedSpec = pack(&m.Spec) },
		"of another kind": func(m *v1alpha1.RestMapping) {
			other := newMapping(t).Spec
			other.Target.Kind = "Gadget"
			m.Status.AcceptedSpec = pack(&other)
		},
	} {
		b := editedBadly(t, change)
		m, _ := b.mustReconcile("widgets")
		if len(b.engine.specs) > 0 {
			t.Errorf("%s: served is %+v", name, b.engine.specs)
		}
		wantText(t, name, strings.Join(conditionsOf(m), ", "), "Ready False InvalidExpressions")
	}
}

func TestNothingIsRestoredWithoutTheRights(t *testing.T) {
	t.Parallel()
	b := editedBadly(t, nil)
	b.access.denied = []string{"list widgets.example.com"}
	b.mustReconcile("widgets")
	if len(b.engine.specs) > 0 {
		t.Errorf("served is %+v", b.engine.specs)
	}
}

func TestASpecificationIsKeptAsItIs(t *testing.T) {
	t.Parallel()
	want := newMapping(t).Spec
	got, err := unpack(pack(&want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var large v1alpha1.RestMappingSpec
	noise := rand.New(rand.NewPCG(1, 2)) // it does not compress
	for range 100_000 {
		large.Rules = append(large.Rules, v1alpha1.Rule{Expression: v1alpha1.Expression(fmt.Sprint(noise.Uint64()))})
	}
	if packed := pack(&large); packed != "" {
		t.Errorf("%d bytes are kept", len(packed))
	}
}

// Whatever keeps an edit from serving, what was served before goes on, in the same process and in the next.
func TestAnEditThatCannotServeLeavesTheFormerServing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		edit   func(*v1alpha1.RestMapping)
		denied []string
		says   string
	}{
		"a version that is not served":   {func(m *v1alpha1.RestMapping) { m.Spec.Target.Version = "v9" }, nil, "TargetCompatible False VersionNotServed"},
		"an output without the rights":   {withOutput, []string{"create secrets."}, "Ready False RBACMissing"},
		"a reference without the rights": {inBox, []string{"watch boxes.example.com"}, "Ready False RBACMissing"},
		"a rival":                        {func(m *v1alpha1.RestMapping) { m.Spec.Target.Selector = nil }, nil, "Ready False ServingPrevious"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mine, others := map[string]string{"team": "a"}, map[string]string{"team": "b"}
			rival := newMapping(t, func(m *v1alpha1.RestMapping) {
				m.Name, m.UID, m.CreationTimestamp = "others", "m-9", at("2026-04-01T00:00:00Z")
				m.Spec.Target.Selector = &metav1.LabelSelector{MatchLabels: others}
			})
			b := newBench(t, newCRD(t), boxCRD(t), rival, newMapping(t, func(m *v1alpha1.RestMapping) {
				m.Spec.Target.Selector = &metav1.LabelSelector{MatchLabels: mine}
			}))
			b.mustReconcile("widgets")
			program := b.engine.specs["widgets"].Program
			b.edit(4, tc.edit)
			b.access.denied = tc.denied
			m, _ := b.mustReconcile("widgets")
			if b.engine.specs["widgets"].Program != program || len(b.engine.removed) > 0 {
				t.Errorf("after the edit generation %d serves; removed: %v", b.served(), b.engine.removed)
			}
			wantText(t, "conditions", strings.Join(conditionsOf(m), ", "), tc.says)
			b.restart()
			m, _ = b.mustReconcile("widgets")
			if b.served() != 3 || m.Status.AcceptedGeneration != 3 {
				t.Errorf("after a restart generation %d serves, accepted is %d", b.served(), m.Status.AcceptedGeneration)
			}
			wantText(t, "conditions", strings.Join(conditionsOf(m), ", "), tc.says)
		})
	}
}

// What a person says to the mapping is heard by the generation that serves.
func TestAFormerGenerationHearsAnAcknowledgement(t *testing.T) {
	t.Parallel()
	b := editedBadly(t, nil)
	b.mustReconcile("widgets")
	b.edit(4, func(m *v1alpha1.RestMapping) {
		m.Annotations = map[string]string{v1alpha1.AcknowledgeDeletionsAnnotation: "2026-01-02T03:04:05Z"}
	})
	b.mustReconcile("widgets")
	wantEqual(t, "acknowledged", "2026-01-02T03:04:05Z", b.engine.specs["widgets"].Acknowledged)
}

// A generation that never served is not one to go back to.
func TestWhatNeverServedIsNotKept(t *testing.T) {
	t.Parallel()
	b := newBench(t, newCRD(t), newMapping(t))
	b.access.denied = []string{"list widgets.example.com"}
	m, _ := b.mustReconcile("widgets")
	if m.Status.AcceptedGeneration != 0 || m.Status.AcceptedSpec != "" {
		t.Errorf("kept without having served: %+v", m.Status)
	}
}
