package mapping

import (
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/restmapping/operator/api/v1alpha1"
)

// boxCRD is of the kind that widgets refer to in these tests.
func boxCRD(t *testing.T) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	return newCRD(t, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Name, crd.UID, crd.Spec.Names.Kind, crd.Spec.Names.Plural = "boxes.example.com", "crd-2", "Box", "boxes"
	})
}

// inBox lets a mapping refer to boxes.
func inBox(m *v1alpha1.RestMapping) {
	m.Spec.References = []v1alpha1.Reference{{
		Name: "box", Target: v1alpha1.ReferenceTarget{Group: "example.com", Version: "v1", Kind: "Box"}, NameExpression: "'main'",
	}}
	m.Spec.Fields[0] = v1alpha1.Field{Value: "refs.box.spec.size", To: "size"}
}

// boxes is the mapping of boxes.
func boxes(m *v1alpha1.RestMapping) { m.Name, m.UID, m.Spec.Target.Kind = "boxes", "m-2", "Box" }

func condition(m *v1alpha1.RestMapping, kind string) (reason, message string) {
	for _, c := range m.Status.Conditions {
		if c.Type == kind {
			return c.Reason, c.Message
		}
	}
	return "", ""
}

func TestAReferencedKindIsGivenToTheEngine(t *testing.T) {
	t.Parallel()
	b := newBench(t, newCRD(t), boxCRD(t), newMapping(t, inBox))
	b.mustReconcile("widgets")
	got := b.engine.specs["widgets"].References
	if len(got) != 1 || got[0].Input != "box" || got[0].GVR.Resource != "boxes" || !got[0].Namespaced || got[0].Incarnation != "crd-2/1" {
		t.Errorf("references: %+v", got)
	}
	b.schemaReads = 0
	b.mustReconcile("widgets")
	if b.schemaReads != 0 {
		t.Errorf("%d schemas were read again", b.schemaReads)
	}
}

func TestAReferencedKindThatIsMissingStopsWhatWasNeverAccepted(t *testing.T) {
	t.Parallel()
	b := newBench(t, newCRD(t), newMapping(t, inBox))
	m, _ := b.mustReconcile("widgets")
	reason, message := condition(m, v1alpha1.ConditionAccepted)
	wantEqual(t, "reason", v1alpha1.ReasonCRDNotFound, reason)
	wantText(t, "message", message, "spec.references[0].target: no CustomResourceDefinition has group example.com and kind Box")
	if _, runs := b.engine.specs["widgets"]; runs {
		t.Error("it runs")
	}
}

// Its custom resources must be able to go.
func TestAReferencedKindThatHasGoneDoesNotStopWhatWasAccepted(t *testing.T) {
	t.Parallel()
	b := newBench(t, newCRD(t), newMapping(t, inBox, func(m *v1alpha1.RestMapping) { m.Status.AcceptedGeneration = m.Generation }))
	m, _ := b.mustReconcile("widgets")
	reason, _ := condition(m, v1alpha1.ConditionReady)
	wantEqual(t, "reason", v1alpha1.ReasonCRDNotFound, reason)
	spec, runs := b.engine.specs["widgets"]
	if !runs || len(spec.References) != 1 || !spec.References[0].GVR.Empty() {
		t.Errorf("runs: %t, with %+v", runs, spec.References)
	}
}

func TestAChangeOfAReferencedKindIsCompiled(t *testing.T) {
	t.Parallel()
	b := newBench(t, newCRD(t), boxCRD(t), newMapping(t, inBox))
	b.mustReconcile("widgets")
	first := b.engine.specs["widgets"]
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := b.client.Get(t.Context(), client.ObjectKey{Name: "boxes.example.com"}, crd); err != nil {
		t.Fatal(err)
	}
	crd.Generation = 2
	if err := b.client.Update(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	b.mustReconcile("widgets")
	second := b.engine.specs["widgets"]
	if first.Program == second.Program || second.References[0].Incarnation != "crd-2/2" {
		t.Errorf("not compiled anew: %+v", second.References)
	}
}

func TestRightsForAReferencedKind(t *testing.T) {
	t.Parallel()
	b := newBench(t, newCRD(t), boxCRD(t), newMapping(t, inBox))
	b.access.denied = []string{"watch boxes.example.com"}
	m, _ := b.mustReconcile("widgets")
	reason, message := condition(m, v1alpha1.ConditionWatching)
	wantEqual(t, "reason", v1alpha1.ReasonRBACMissing, reason)
	wantText(t, "message", message, `may not watch boxes; grant {apiGroups: ["example.com"], resources: ["boxes"], verbs: ["get", "list", "watch"]} in`)
}

// Whoever may hold objects outside that belong to a kind's must be known before one of those is deleted.
func TestReferrers(t *testing.T) {
	t.Parallel()
	no := false
	accepted := func(m *v1alpha1.RestMapping) { m.Status.AcceptedGeneration = 1 }
	cases := map[string]struct {
		change func(*v1alpha1.RestMapping)
		crd    bool
		want   []string
	}{
		"one that was accepted":       {accepted, true, []string{"widgets"}},
		"one that never was":          {func(*v1alpha1.RestMapping) {}, true, nil},
		"one whose kind is gone":      {accepted, false, nil},
		"one that does not block":     {func(m *v1alpha1.RestMapping) { accepted(m); m.Spec.References[0].BlockDeletion = &no }, true, nil},
		"one that refers to others":   {func(m *v1alpha1.RestMapping) { accepted(m); m.Spec.References[0].Target.Kind = "Bag" }, true, nil},
		"one that an older one beats": {func(m *v1alpha1.RestMapping) { accepted(m); m.CreationTimestamp = at("2026-05-02T12:00:00Z") }, true, []string{"older"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := newMapping(t, boxes)
			b := newBench(t, boxCRD(t), parent, newMapping(t, inBox, tc.change))
			if tc.crd {
				if err := b.client.Create(t.Context(), newCRD(t)); err != nil {
					t.Fatal(err)
				}
			}
			if name == "one that an older one beats" {
				older := newMapping(t, inBox, accepted, func(m *v1alpha1.RestMapping) { m.Name, m.UID = "older", "m-3" })
				if err := b.client.Create(t.Context(), older); err != nil {
					t.Fatal(err)
				}
				accepted(older)
				if err := b.client.Status().Update(t.Context(), older); err != nil {
					t.Fatal(err)
				}
			}
			b.mustReconcile("boxes")
			wantEqual(t, "referrers", tc.want, b.engine.specs["boxes"].Referrers)
		})
	}
}

func TestWhoIsToLookAgainBecauseOfAReference(t *testing.T) {
	t.Parallel()
	child := newMapping(t, inBox)
	b := newBench(t, child, newMapping(t, boxes))
	both := []reconcile.Request{request("boxes"), request("widgets")}
	wantEqual(t, "after a change of the child's mapping", both[:1], b.r.rivals(t.Context(), child))
	wantEqual(t, "after a change of the parent's CRD", both, b.r.mappingsOf(t.Context(), boxCRD(t)))
	wantEqual(t, "after a change of the child's CRD", both, b.r.mappingsOf(t.Context(), newCRD(t)))
}
