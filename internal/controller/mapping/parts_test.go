package mapping

import (
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine"
)

func TestRival(t *testing.T) {
	t.Parallel()
	selector := func(pairs map[string]string) func(*v1alpha1.RestMapping) {
		return func(m *v1alpha1.RestMapping) { m.Spec.Target.Selector = &metav1.LabelSelector{MatchLabels: pairs} }
	}
	born := func(text string) func(*v1alpha1.RestMapping) {
		return func(m *v1alpha1.RestMapping) { m.CreationTimestamp = at(text) }
	}
	other := func(changes ...func(*v1alpha1.RestMapping)) func(*testing.T) *v1alpha1.RestMapping {
		return func(t *testing.T) *v1alpha1.RestMapping {
			t.Helper()
			return newMapping(t, append([]func(*v1alpha1.RestMapping){func(m *v1alpha1.RestMapping) { m.Name, m.UID = "other", "m-9" }}, changes...)...)
		}
	}
	kind := func(group, kind string) func(*v1alpha1.RestMapping) {
		return func(m *v1alpha1.RestMapping) { m.Spec.Target.Group, m.Spec.Target.Kind = group, kind }
	}
	const older, younger = "2026-04-01T00:00:00Z", "2026-06-01T00:00:00Z"
	cases := map[string]struct {
		mine  func(*v1alpha1.RestMapping)
		other func(*testing.T) *v1alpha1.RestMapping
		want  string
	}{
		"an older one":                         {nil, other(born(older)), "other"},
		"a younger one":                        {nil, other(born(younger)), ""},
		"as old, with a greater UID":           {nil, other(), ""},
		"as old, with a lesser UID":            {nil, other(func(m *v1alpha1.RestMapping) { m.UID = "m-0" }), "other"},
		"of another kind":                      {nil, other(born(older), kind("example.com", "Gadget")), ""},
		"of another group":                     {nil, other(born(older), kind("example.org", "Widget")), ""},
		"of another version of the kind":       {nil, other(born(older), func(m *v1alpha1.RestMapping) { m.Spec.Target.Version = "v2" }), "other"},
		"both limited, to different values":    {selector(map[string]string{"zone": "eu"}), other(born(older), selector(map[string]string{"zone": "us"})), ""},
		"both limited, to the same value":      {selector(map[string]string{"zone": "eu"}), other(born(older), selector(map[string]string{"zone": "eu"})), "other"},
		"both limited, by different labels":    {selector(map[string]string{"zone": "eu"}), other(born(older), selector(map[string]string{"size": "s"})), "other"},
		"only the other is limited":            {nil, other(born(older), selector(map[string]string{"zone": "us"})), "other"},
		"only this one is limited":             {selector(map[string]string{"zone": "eu"}), other(born(older)), "other"},
		"different in one label of several":    {selector(map[string]string{"zone": "eu", "size": "s"}), other(born(older), selector(map[string]string{"zone": "eu", "size": "m"})), ""},
		"older and limited by an empty labels": {selector(map[string]string{"zone": "eu"}), other(born(older), selector(nil)), "other"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMapping(t)
			if tc.mine != nil {
				tc.mine(m)
			}
			b := newBench(t, m, tc.other(t))
			got, err := b.r.rival(t.Context(), m)
			if err != nil || got != tc.want {
				t.Errorf("gave %q, %v; want %q", got, err, tc.want)
			}
		})
	}
}

// Of any two mappings of one kind exactly one gives way.
func TestOneOfTwoRivalsGivesWay(t *testing.T) {
	t.Parallel()
	moments := []metav1.Time{at("2026-05-01T12:00:00Z"), at("2026-05-01T12:00:01Z")}
	for _, a := range moments {
		for _, c := range moments {
			for _, uids := range [][2]string{{"a", "b"}, {"b", "a"}} {
				one := newMapping(t, func(m *v1alpha1.RestMapping) { m.CreationTimestamp, m.UID = a, types.UID(uids[0]) })
				two := newMapping(t, func(m *v1alpha1.RestMapping) { m.CreationTimestamp, m.UID = c, types.UID(uids[1]) })
				if older(one, two) == older(two, one) {
					t.Errorf("%v %s and %v %s: both or none is older", a, uids[0], c, uids[1])
				}
			}
		}
	}
}

func TestServable(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(*apiextensionsv1.CustomResourceDefinition)
		reason string
		says   string
	}{
		"it is served": {func(*apiextensionsv1.CustomResourceDefinition) {}, "", ""},
		"its version is switched off": {func(crd *apiextensionsv1.CustomResourceDefinition) {
			crd.Spec.Versions[0].Served = false
			crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: "v2", Served: true}, apiextensionsv1.CustomResourceDefinitionVersion{Name: "v3", Served: true})
		}, v1alpha1.ReasonVersionNotServed, "only v2, v3"},
		"it is being deleted": {func(crd *apiextensionsv1.CustomResourceDefinition) {
			now := at("2026-05-01T13:00:00Z")
			crd.DeletionTimestamp = &now
		}, v1alpha1.ReasonCRDTerminating, "is being deleted"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := servable(newCRD(t, tc.change), newMapping(t).Spec.Target)
			if tc.reason == "" && got != nil || tc.reason != "" && (got == nil || got.reason != tc.reason || !strings.Contains(got.message, tc.says)) {
				t.Errorf("gave %+v", got)
			}
		})
	}
}

// The cache holds CRDs without what is large; the rest must be there.
func TestStripSchemas(t *testing.T) {
	t.Parallel()
	crd := newCRD(t, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}"}
		crd.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
	})
	want := newCRD(t, func(crd *apiextensionsv1.CustomResourceDefinition) {
		crd.Spec.Versions[0].Schema, crd.Spec.Versions[0].AdditionalPrinterColumns = nil, nil
	})
	got, err := StripSchemas(crd)
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "CRD", any(want), got)
	m := newMapping(t)
	if got, err := StripSchemas(m); err != nil || got != any(m) {
		t.Errorf("another object became %v, %v", got, err)
	}
}

func TestSelectorOf(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		selector *metav1.LabelSelector
		want     string
	}{
		"none":              {nil, ""},
		"one that is empty": {&metav1.LabelSelector{}, ""},
		"labels":            {&metav1.LabelSelector{MatchLabels: map[string]string{"b": "2", "a": "1"}}, "a=1,b=2"},
		"expressions":       {&metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"x", "y"}}}}, "a notin (x,y)"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantEqual(t, "selector", tc.want, selectorOf(newMapping(t, func(m *v1alpha1.RestMapping) { m.Spec.Target.Selector = tc.selector })))
		})
	}
}

func deleted(m *v1alpha1.RestMapping) {
	now := at("2026-05-01T13:00:00Z")
	m.DeletionTimestamp, m.Status.AcceptedGeneration = &now, 3
}

func TestADeletedMappingWaitsForItsCustomResources(t *testing.T) {
	t.Parallel()
	b := newBench(t, newCRD(t), newMapping(t, deleted))
	b.engine.states["widgets"] = engine.State{Synced: true, Objects: 3, Held: 2}
	m, result := b.mustReconcile("widgets")
	wantText(t, "conditions", strings.Join(conditionsOf(m), ", "), "Ready False InUse", "Reconciling True InUse")
	for _, c := range m.Status.Conditions {
		if c.Type == v1alpha1.ConditionReady {
			wantText(t, "Ready", c.Message, "2 custom resources", "policy.deletion", "Orphan")
		}
	}
	wantEqual(t, "the next look", 20*time.Second, result.RequeueAfter)
	if _, serves := b.engine.specs["widgets"]; !serves || len(b.engine.removed) > 0 {
		t.Error("it does not go on serving")
	}
	b.engine.states["widgets"] = engine.State{Synced: true, Objects: 1}
	if _, err := b.reconcile("widgets"); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "removed", []string{"widgets"}, b.engine.removed)
	if err := b.client.Get(t.Context(), client.ObjectKey{Name: "widgets"}, m); !apierrors.IsNotFound(err) {
		t.Errorf("the mapping is still there: %v", err)
	}
}

func TestADeletedMappingOfOthersRunsNoMore(t *testing.T) {
	t.Parallel()
	b := newBench(t, newMapping(t, deleted, func(m *v1alpha1.RestMapping) { m.Finalizers = []string{"example.com/other"} }))
	b.engine.states["widgets"] = engine.State{Synced: true, Held: 2}
	if _, err := b.reconcile("widgets"); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "removed", []string{"widgets"}, b.engine.removed)
}

func TestHeld(t *testing.T) {
	t.Parallel()
	running := func(s engine.State) func(*bench) {
		return func(b *bench) { b.engine.states["widgets"] = s }
	}
	cases := map[string]struct {
		mapping func(*v1alpha1.RestMapping)
		noCRD   bool
		with    func(*bench)
		want    int
	}{
		"the engine knows":             {with: running(engine.State{Synced: true, Held: 7}), want: 7},
		"the engine does not know yet": {with: running(engine.State{Held: 7}), want: 2},
		"it does not run":              {want: 2},
		"it never served":              {mapping: func(m *v1alpha1.RestMapping) { m.Status.AcceptedGeneration = 0 }, want: 0},
		"the CRD is gone":              {noCRD: true, want: 0},
		"another mapping serves them":  {with: func(b *bench) { b.addRival() }, want: 0},
		"only some are selected": {mapping: func(m *v1alpha1.RestMapping) {
			m.Spec.Target.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"zone": "eu"}}
		}, want: 1},
		"the version is no longer served":          {mapping: func(m *v1alpha1.RestMapping) { m.Spec.Target.Version = "v0" }, want: 2},
		"the kind has just gone":                   {with: func(b *bench) { b.listFails(apierrors.NewNotFound(widgetsGVR.GroupResource(), "")) }, want: 0},
		"only the served namespaces may be listed": {with: func(b *bench) { b.r.Namespaces = []string{"team", "blue"}; b.listOnlyIn("team", "blue") }, want: 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMapping(t, deleted)
			if tc.mapping != nil {
				tc.mapping(m)
			}
			objects := []client.Object{m}
			if !tc.noCRD {
				objects = append(objects, newCRD(t))
			}
			b := newBench(t, objects...)
			b.widget("one", map[string]string{"zone": "eu"}, v1alpha1.Finalizer)
			b.widget("two", map[string]string{"zone": "us"}, "example.com/other", v1alpha1.Finalizer)
			b.widget("three", map[string]string{"zone": "eu"}, "example.com/other")
			if tc.with != nil {
				tc.with(b)
			}
			got, err := b.r.held(t.Context(), m)
			if err != nil || got != tc.want {
				t.Errorf("gave %d, %v; want %d", got, err, tc.want)
			}
		})
	}
}

func (b *bench) addRival() {
	b.Helper()
	rival := newMapping(b, func(m *v1alpha1.RestMapping) {
		m.Name, m.UID, m.CreationTimestamp = "rival", "m-0", at("2026-04-01T00:00:00Z")
	})
	if err := b.client.Create(b.Context(), rival); err != nil {
		b.Fatal(err)
	}
}

func (b *bench) listFails(err error) {
	b.dynamic.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, err })
}

// listOnlyIn forbids lists outside of these namespaces, as the rights of a namespaced installation do.
func (b *bench) listOnlyIn(namespaces ...string) {
	b.dynamic.PrependReactor("list", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		for _, namespace := range namespaces {
			if action.GetNamespace() == namespace {
				return false, nil, nil
			}
		}
		return true, nil, forbidden()
	})
}

func TestACountThatFailsKeepsTheMapping(t *testing.T) {
	t.Parallel()
	b := newBench(t, newCRD(t), newMapping(t, deleted))
	b.listFails(errAPIServer)
	if _, err := b.reconcile("widgets"); err == nil {
		t.Error("no error")
	}
	if got := b.mapping("widgets").Finalizers; len(got) != 1 {
		t.Errorf("finalizers %v", got)
	}
}

func TestProgramsKeepOneSchemaForEachVersion(t *testing.T) {
	t.Parallel()
	var p programs
	t1 := target{gvr: widgetsGVR, uid: "crd-1", generation: 1}
	p.keepSchema(t1)
	t2 := t1
	t2.generation = 2
	p.keepSchema(t2)
	if _, ok := p.schema(t1); ok {
		t.Error("the schema of the former generation stays")
	}
	if _, ok := p.schema(t2); !ok || len(p.schemas) != 1 {
		t.Errorf("schemas %v", p.schemas)
	}
	for i := range 3 * maxSchemas {
		p.keepSchema(target{gvr: widgetsGVR, uid: string(rune('a' + i)), generation: 1})
		if len(p.schemas) > maxSchemas {
			t.Fatalf("%d schemas are kept", len(p.schemas))
		}
	}
}

func TestProgramsForgetWhatIsGone(t *testing.T) {
	t.Parallel()
	b := newBench(t, newCRD(t), newMapping(t))
	b.mustReconcile("widgets")
	if len(b.r.programs.results) != 1 {
		t.Fatal("it is not known")
	}
	m := b.mapping("widgets")
	m.Finalizers = nil
	if err := b.client.Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if err := b.client.Delete(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if _, err := b.reconcile("widgets"); err != nil {
		t.Fatal(err)
	}
	if len(b.r.programs.results) != 0 {
		t.Error("it is still known")
	}
}

// A mapping that is deleted and made again may have the same generation and another content.
func TestANamesakeIsCompiledAnew(t *testing.T) {
	t.Parallel()
	b := newBench(t, newCRD(t), newMapping(t))
	b.mustReconcile("widgets")
	first := b.engine.specs["widgets"].Program
	namesake := newMapping(t, func(m *v1alpha1.RestMapping) { m.UID = "m-2" })
	crd := target{gvr: widgetsGVR, uid: "crd-1", generation: 1}
	crd.schema, _ = b.r.programs.schema(crd)
	if got, err := b.r.programs.compile(namesake, crd, nil); err != nil || got == first {
		t.Errorf("gave the former program, %v", err)
	}
}

func TestWhoIsToLookAgain(t *testing.T) {
	t.Parallel()
	m := newMapping(t)
	b := newBench(t, m,
		newMapping(t, func(m *v1alpha1.RestMapping) { m.Name, m.UID = "same-kind", "m-2" }),
		newMapping(t, func(m *v1alpha1.RestMapping) { m.Name, m.UID, m.Spec.Target.Kind = "other-kind", "m-3", "Gadget" }))
	cases := map[string]struct {
		got  []reconcile.Request
		want []reconcile.Request
	}{
		"after a change of a mapping":   {b.r.rivals(t.Context(), m), []reconcile.Request{request("same-kind")}},
		"after a change of a CRD":       {b.r.mappingsOf(t.Context(), newCRD(t)), []reconcile.Request{request("same-kind"), request("widgets")}},
		"after something else, rivals":  {b.r.rivals(t.Context(), newCRD(t)), nil},
		"after something else, of CRDs": {b.r.mappingsOf(t.Context(), m), nil},
	}
	for name, tc := range cases {
		wantEqual(t, name, tc.want, tc.got)
	}
	b.fail = failing("list RestMappingList")
	wantEqual(t, "when mappings cannot be listed", []reconcile.Request(nil), b.r.rivals(t.Context(), m))
}

// delays is a queue that notes what is added and when.
type delays struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	added map[reconcile.Request]time.Duration
}

func (d *delays) AddAfter(r reconcile.Request, after time.Duration) { d.added[r] = after }

func TestAChangeOfStateIsToldAMomentLater(t *testing.T) {
	t.Parallel()
	d := &delays{added: map[reconcile.Request]time.Duration{}}
	gather().Generic(t.Context(), event.TypedGenericEvent[string]{Object: "widgets"}, d)
	wantEqual(t, "added", map[reconcile.Request]time.Duration{request("widgets"): time.Second}, d.added)
}

func TestLongMessagesAreCut(t *testing.T) {
	t.Parallel()
	m := newMapping(t)
	rep := newReport(m)
	rep.incompatible(problem{v1alpha1.ReasonCRDNotFound, strings.Repeat("ü", 40_000)})
	rep.summarise()
	for _, c := range m.Status.Conditions {
		if len(c.Message) > 32768 {
			t.Errorf("the message of %s has %d bytes", c.Type, len(c.Message))
		}
	}
}
