package mapping

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine"
	"github.com/restmapping/operator/pkg/engine/fleet"
	"github.com/restmapping/operator/pkg/mapping"
)

// conditionsOf gives the conditions as "type status reason", in the order of the alphabet.
func conditionsOf(m *v1alpha1.RestMapping) []string {
	texts := make([]string, 0, len(m.Status.Conditions))
	for _, c := range m.Status.Conditions {
		texts = append(texts, fmt.Sprintf("%s %s %s", c.Type, c.Status, c.Reason))
	}
	slices.Sort(texts)
	return texts
}

// kstatusOf is what kubectl wait, Flux and others conclude.
func kstatusOf(t *testing.T, m *v1alpha1.RestMapping) status.Status {
	t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(m)
	if err != nil {
		t.Fatal(err)
	}
	result, err := status.Compute(&unstructured.Unstructured{Object: content})
	if err != nil {
		t.Fatal(err)
	}
	return result.Status
}

// situation is one state of things around a mapping, and what its status must say of it.
type situation struct {
	crd     func(*apiextensionsv1.CustomResourceDefinition)
	mapping func(*v1alpha1.RestMapping)
	noCRD   bool
	others  []client.Object
	denied  []string
	// running is the engine's state before, next after Apply.
	running *engine.State
	next    engine.State

	want    []string
	kstatus status.Status
	says    []string
	again   time.Duration
	// runs tells whether the engine serves the mapping afterwards, removed whether it was told to stop.
	runs, removed bool
}

func invalid(m *v1alpha1.RestMapping) { m.Spec.Fields[0].From = "spec.nothing" }

func forbidden() error {
	return apierrors.NewForbidden(schema.GroupResource{Group: "example.com", Resource: "widgets"}, "", errors.New("no"))
}

func watchError(err error) *fleet.WatchError {
	return &fleet.WatchError{Key: fleet.Key{GVR: widgetsGVR}, Err: err}
}

func situations() map[string]situation {
	never := time.Duration(0)
	return map[string]situation{
		"all is well": {
			next:    engine.State{Synced: true, Objects: 5, Ready: 3, Stalled: 1},
			want:    []string{"Accepted True Compiled", "Ready True Serving", "TargetCompatible True Compatible", "Watching True Watching"},
			kstatus: status.CurrentStatus, says: []string{"serving"}, again: never, runs: true,
		},
		"no CRD": {
			noCRD: true,
			want: []string{
				"Accepted Unknown Progressing", "Ready False CRDNotFound", "Stalled True CRDNotFound", "TargetCompatible False CRDNotFound", "Watching Unknown Progressing",
			},
			kstatus: status.FailedStatus, says: []string{"group example.com", "kind Widget", "apply it"}, removed: true,
		},
		"the CRD is being deleted": {
			crd: func(crd *apiextensionsv1.CustomResourceDefinition) {
				now := at("2026-05-01T13:00:00Z")
				crd.DeletionTimestamp, crd.Finalizers = &now, []string{"customresourcecleanup.apiextensions.k8s.io"}
			},
			running: &engine.State{Synced: true},
			want: []string{
				"Accepted True Compiled", "Ready False CRDTerminating", "Reconciling True CRDTerminating", "TargetCompatible False CRDTerminating", "Watching True Watching",
			},
			kstatus: status.InProgressStatus, says: []string{"objects outside are not deleted because of that"}, runs: true,
		},
		"the CRD is being deleted, and the operator was started since": {
			crd: func(crd *apiextensionsv1.CustomResourceDefinition) {
				now := at("2026-05-01T13:00:00Z")
				crd.DeletionTimestamp, crd.Finalizers = &now, []string{"customresourcecleanup.apiextensions.k8s.io"}
			},
			next: engine.State{Synced: true, HeldSince: "2026-05-01T13:00:01Z", HeldBecause: "a person has to say so"},
			want: []string{
				"Accepted True Compiled", "Ready False CRDTerminating", "Stalled True CRDTerminating", "TargetCompatible False CRDTerminating", "Watching True Watching",
			},
			kstatus: status.FailedStatus, says: []string{"objects outside are not deleted because of that", "a person has to say so"}, runs: true,
		},
		"deletions are held": {
			next:    engine.State{Synced: true, Objects: 5, HeldSince: "2026-05-01T13:00:01Z", HeldBecause: "a person has to say so"},
			want:    []string{"Accepted True Compiled", "Ready False DeletionHeld", "Stalled True DeletionHeld", "TargetCompatible True Compatible", "Watching True Watching"},
			kstatus: status.FailedStatus, says: []string{"a person has to say so"}, runs: true,
		},
		"the version is not served": {
			crd: func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Name = "v2" },
			want: []string{
				"Accepted Unknown Progressing", "Ready False VersionNotServed", "Stalled True VersionNotServed", "TargetCompatible False VersionNotServed", "Watching Unknown Progressing",
			},
			kstatus: status.FailedStatus, says: []string{"v1", "only v2", "spec.target.version"}, removed: true,
		},
		"the CRD has no status subresource": {
			crd: func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Versions[0].Subresources = nil },
			want: []string{
				"Accepted Unknown Progressing", "Ready False StatusSchemaMissing", "Stalled True StatusSchemaMissing", "TargetCompatible False StatusSchemaMissing", "Watching Unknown Progressing",
			},
			kstatus: status.FailedStatus, says: []string{"subresources: {status: {}}", "docs/spec/restmapping.md"}, removed: true,
		},
		"an older mapping serves the same": {
			others: []client.Object{&v1alpha1.RestMapping{ObjectMeta: metav1.ObjectMeta{Name: "first", UID: "m-0", CreationTimestamp: at("2026-04-01T00:00:00Z")}, Spec: v1alpha1.RestMappingSpec{Target: v1alpha1.Target{Group: "example.com", Version: "v2", Kind: "Widget"}}}},
			want: []string{
				"Accepted Unknown Progressing", "Ready False TargetConflict", "Stalled True TargetConflict", "TargetCompatible False TargetConflict", "Watching Unknown Progressing",
			},
			kstatus: status.FailedStatus, says: []string{"RestMapping first is older", "selectors"}, removed: true,
		},
		"it does not compile": {
			mapping: invalid,
			want: []string{
				"Accepted False InvalidExpressions", "Ready False InvalidExpressions", "Stalled True InvalidExpressions", "TargetCompatible True Compatible", "Watching Unknown Progressing",
			},
			kstatus: status.FailedStatus, says: []string{"spec.fields[0].from", "nothing"},
		},
		"it does not compile, and the former goes on": {
			mapping: func(m *v1alpha1.RestMapping) { invalid(m); m.Status.AcceptedGeneration = 2 },
			running: &engine.State{Synced: true, Objects: 2, Ready: 2, Generation: 2},
			want: []string{
				"Accepted False InvalidExpressions", "Ready False ServingPrevious", "Stalled True ServingPrevious", "TargetCompatible True Compatible", "Watching True Watching",
			},
			kstatus: status.FailedStatus, says: []string{"generation 3 is not accepted", "generation 2 goes on serving", "spec.fields[0].from"}, runs: true,
		},
		"rights are missing": {
			denied: []string{"patch widgets/status.example.com", "watch widgets.example.com"},
			want: []string{
				"Accepted True Compiled", "Ready False RBACMissing", "Stalled True RBACMissing", "TargetCompatible True Compatible", "Watching False RBACMissing",
			},
			kstatus: status.FailedStatus, again: 20 * time.Second, removed: true,
			says: []string{"may not watch widgets, patch widgets/status", `{apiGroups: ["example.com"], resources: ["widgets", "widgets/status"], verbs: ["get", "list", "watch", "patch", "update"]}`, "restmapping.dev/aggregate-to-operator"},
		},
		"rights for an output are missing": {
			mapping: withOutput, denied: []string{"create secrets."},
			want: []string{
				"Accepted True Compiled", "Ready False RBACMissing", "Stalled True RBACMissing", "TargetCompatible True Compatible", "Watching False RBACMissing",
			},
			kstatus: status.FailedStatus, again: 20 * time.Second,
			says: []string{"may not create secrets", `{apiGroups: [""], resources: ["secrets"], verbs: ["get", "list", "watch", "create", "update"]}`, "outputs.secrets"},
		},
		"rights for a new output are missing, and the former goes on": {
			mapping: withOutput, denied: []string{"create secrets."}, running: &engine.State{Synced: true, Objects: 2, Ready: 2},
			want: []string{
				"Accepted True Compiled", "Ready False RBACMissing", "Stalled True RBACMissing", "TargetCompatible True Compatible", "Watching False RBACMissing",
			},
			kstatus: status.FailedStatus, again: 20 * time.Second, says: []string{"may not create secrets"}, runs: true,
		},
		"it is reading the custom resources": {
			next: engine.State{},
			want: []string{
				"Accepted True Compiled", "Ready False Syncing", "Reconciling True Syncing", "TargetCompatible True Compatible", "Watching Unknown Syncing",
			},
			kstatus: status.InProgressStatus, says: []string{"reading the custom resources"}, runs: true,
		},
		"the watch is forbidden": {
			running: &engine.State{WatchError: watchError(forbidden())},
			want: []string{
				"Accepted True Compiled", "Ready False RBACMissing", "Reconciling True RBACMissing", "TargetCompatible True Compatible", "Watching False RBACMissing",
			},
			kstatus: status.InProgressStatus, again: 20 * time.Second, says: []string{"list and watch widgets.example.com"}, runs: true,
		},
		"the watch fails": {
			running: &engine.State{WatchError: watchError(errAPIServer)},
			want: []string{
				"Accepted True Compiled", "Ready False WatchFailed", "Reconciling True WatchFailed", "TargetCompatible True Compatible", "Watching False WatchFailed",
			},
			kstatus: status.InProgressStatus, again: 20 * time.Second, says: []string{"does not answer", "tried again"}, runs: true,
		},
	}
}

func withOutput(m *v1alpha1.RestMapping) {
	m.Spec.Outputs = []v1alpha1.Output{{Name: "access", Kind: v1alpha1.OutputSecret, Data: map[string]v1alpha1.Expression{"a": "'x'"}}}
}

func (s situation) bench(t *testing.T) *bench {
	t.Helper()
	objects := slices.Clone(s.others)
	if !s.noCRD {
		crd := newCRD(t)
		if s.crd != nil {
			s.crd(crd)
		}
		objects = append(objects, crd)
	}
	m := newMapping(t)
	if s.mapping != nil {
		s.mapping(m)
	}
	b := newBench(t, append(objects, m)...)
	b.access.denied, b.engine.next = s.denied, s.next
	if s.running != nil {
		b.engine.states["widgets"] = *s.running
	}
	return b
}

func TestTheStatusSaysHowFarAMappingHasCome(t *testing.T) {
	t.Parallel()
	for name, s := range situations() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := s.bench(t)
			m, result := b.mustReconcile("widgets")
			wantEqual(t, "conditions", s.want, conditionsOf(m))
			wantEqual(t, "kstatus", s.kstatus, kstatusOf(t, m))
			wantEqual(t, "the next look", s.again, result.RequeueAfter)
			for _, c := range m.Status.Conditions {
				if c.Type == v1alpha1.ConditionReady {
					wantText(t, "Ready", c.Message, s.says...)
				}
				if c.ObservedGeneration != 3 || c.Message == "" {
					t.Errorf("condition %+v", c)
				}
			}
			if m.Status.ObservedGeneration != 3 {
				t.Errorf("observedGeneration is %d", m.Status.ObservedGeneration)
			}
			if _, runs := b.engine.states["widgets"]; runs != s.runs || slices.Contains(b.engine.removed, "widgets") != s.removed {
				t.Errorf("runs: %t, removed: %v", runs, b.engine.removed)
			}
			b.writes = nil
			b.mustReconcile("widgets")
			if len(b.writes) > 0 {
				t.Errorf("nothing changed, and %v was written", b.writes)
			}
		})
	}
}

func TestAServingMappingTellsItsNumbers(t *testing.T) {
	t.Parallel()
	s := situations()["all is well"]
	b := s.bench(t)
	m, _ := b.mustReconcile("widgets")
	wantEqual(t, "objects", &v1alpha1.ObjectCounts{Total: 5, Ready: 3, Stalled: 1}, m.Status.Objects)
	wantEqual(t, "summary", "3/5", m.Status.Summary)
	wantEqual(t, "endpoint", "RestEndpoint/main", m.Status.Endpoint)
	wantEqual(t, "accepted generation", int64(3), m.Status.AcceptedGeneration)
	wantEqual(t, "create safety", v1alpha1.SafetyUpsert, m.Status.CreateSafety)
	got := b.engine.specs["widgets"]
	if got.GVR != widgetsGVR || !got.Namespaced || got.Incarnation != "crd-1/1" || got.Selector != "" || got.Settled || got.Program == nil {
		t.Errorf("spec %+v", got)
	}
	b.mustReconcile("widgets")
	if !b.engine.specs["widgets"].Settled {
		t.Error("a mapping that was served before is not known to be")
	}
}

func TestAnInvalidMappingListsItsErrors(t *testing.T) {
	t.Parallel()
	s := situations()["it does not compile, and the former goes on"]
	b := s.bench(t)
	m, _ := b.mustReconcile("widgets")
	if len(m.Status.ExpressionErrors) != 1 || m.Status.ExpressionErrors[0].Field != "spec.fields[0].from" {
		t.Errorf("errors %+v", m.Status.ExpressionErrors)
	}
	wantEqual(t, "accepted generation", int64(2), m.Status.AcceptedGeneration)
	b.engine.plan = engine.Plan{Done: true}
	m.Spec.Fields[0].From, m.Generation = "spec.size", 4
	if err := b.client.Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	m, _ = b.mustReconcile("widgets")
	if len(m.Status.ExpressionErrors) != 0 || m.Status.AcceptedGeneration != 4 {
		t.Errorf("status %+v", m.Status)
	}
}

// The rights are asked for when a mapping starts, and again when something is forbidden; not at every look.
func TestRightsAreNotAskedForAtEveryLook(t *testing.T) {
	t.Parallel()
	s := situations()["all is well"]
	b := s.bench(t)
	b.mustReconcile("widgets")
	wantEqual(t, "questions", []string{"get widgets.example.com", "list widgets.example.com", "watch widgets.example.com", "patch widgets.example.com", "patch widgets/status.example.com"}, b.access.asked)
	b.access.asked = nil
	b.mustReconcile("widgets")
	wantEqual(t, "questions", []string(nil), b.access.asked)
	b.engine.states["widgets"] = engine.State{Synced: true, Denied: true}
	b.access.denied = []string{"patch widgets.example.com"}
	m, _ := b.mustReconcile("widgets")
	wantText(t, "conditions", strings.Join(conditionsOf(m), ", "), "Ready False RBACMissing", "Watching False RBACMissing")
	if _, runs := b.engine.states["widgets"]; runs {
		t.Error("a mapping without rights runs")
	}
}

func TestRightsAreAskedForInTheServedNamespaces(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		scope    apiextensionsv1.ResourceScope
		endpoint v1alpha1.EndpointKind
		want     string
	}{
		"a namespaced kind": {apiextensionsv1.NamespaceScoped, "RestEndpoint", "may not list widgets in namespace blue, list widgets in namespace green;"},
		"a cluster kind":    {apiextensionsv1.ClusterScoped, "ClusterRestEndpoint", "may not list widgets;"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, newCRD(t, func(crd *apiextensionsv1.CustomResourceDefinition) { crd.Spec.Scope = tc.scope }),
				newMapping(t, func(m *v1alpha1.RestMapping) { m.Spec.Endpoint.Kind = tc.endpoint }))
			b.r.Namespaces = []string{"blue", "green"}
			b.access.denied = []string{"list widgets.example.com blue", "list widgets.example.com green", "list widgets.example.com"}
			m, _ := b.mustReconcile("widgets")
			for _, c := range m.Status.Conditions {
				if c.Type == v1alpha1.ConditionWatching {
					wantText(t, "Watching", c.Message, tc.want)
				}
			}
		})
	}
}

func TestErrorsOfTheAPIServerMeanBackoff(t *testing.T) {
	t.Parallel()
	cases := map[string]func(b *bench){
		"reading the mapping":   func(b *bench) { b.fail = failing("get RestMapping") },
		"listing mappings":      func(b *bench) { b.fail = failing("list RestMappingList") },
		"listing CRDs":          func(b *bench) { b.fail = failing("list *v1.CustomResourceDefinitionList") },
		"reading a schema":      func(b *bench) { b.fail = failing("get *v1.CustomResourceDefinition") },
		"writing the status":    func(b *bench) { b.fail = failing("status") },
		"asking for rights":     func(b *bench) { b.access.fail = errAPIServer },
		"starting the mapping":  func(b *bench) { b.engine.fail = errAPIServer },
		"setting the finalizer": func(b *bench) { b.fail = failing("patch") },
	}
	for name, spoil := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, newCRD(t), newMapping(t, func(m *v1alpha1.RestMapping) { m.Finalizers = nil }))
			spoil(b)
			if _, err := b.reconcile("widgets"); !errors.Is(err, errAPIServer) {
				t.Errorf("gave %v", err)
			}
			b.fail, b.access.fail, b.engine.fail = func(string) error { return nil }, nil, nil
			m, _ := b.mustReconcile("widgets")
			wantText(t, "conditions", strings.Join(conditionsOf(m), ", "), "Ready True Serving")
		})
	}
}

func failing(what string) func(string) error {
	return func(call string) error {
		if call == what {
			return errAPIServer
		}
		return nil
	}
}

func TestAMappingIsHeldBeforeItServes(t *testing.T) {
	t.Parallel()
	b := newBench(t, newCRD(t), newMapping(t, func(m *v1alpha1.RestMapping) { m.Finalizers = nil }))
	m, _ := b.mustReconcile("widgets")
	wantEqual(t, "finalizers", []string{v1alpha1.MappingFinalizer}, m.Finalizers)
	wantEqual(t, "writes", []string{"metadata", "status"}, b.writes)
}

func TestAMappingThatIsGoneRunsNoMore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.engine.states["widgets"] = engine.State{}
	if _, err := b.reconcile("widgets"); err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "removed", []string{"widgets"}, b.engine.removed)
}

// Nothing is compiled, and no schema read, twice for the same generation and CRD.
func TestNothingIsCompiledTwice(t *testing.T) {
	t.Parallel()
	crd := newCRD(t)
	b := newBench(t, crd, newMapping(t))
	b.mustReconcile("widgets")
	first := b.engine.specs["widgets"].Program
	b.schemaReads = 0
	for range 3 {
		b.mustReconcile("widgets")
	}
	if b.schemaReads > 0 || b.engine.specs["widgets"].Program != first {
		t.Errorf("%d schemas were read; the program is another: %t", b.schemaReads, b.engine.specs["widgets"].Program != first)
	}
	crd.Generation = 2
	if err := b.client.Update(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	b.schemaReads = 0
	b.mustReconcile("widgets")
	if b.schemaReads != 1 || b.engine.specs["widgets"].Program == first {
		t.Errorf("after a change of the CRD %d schemas were read; the program is the former: %t", b.schemaReads, b.engine.specs["widgets"].Program == first)
	}
	// A watch that stood before the change goes on giving objects as the schema was.
	wantEqual(t, "incarnation", "crd-1/2", b.engine.specs["widgets"].Incarnation)
	second := b.engine.specs["widgets"].Program
	m := b.mapping("widgets")
	m.Generation = 4
	if err := b.client.Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	b.schemaReads = 0
	b.mustReconcile("widgets")
	if b.schemaReads != 0 || b.engine.specs["widgets"].Program == second {
		t.Errorf("after a change of the mapping %d schemas were read; the program is the former: %t", b.schemaReads, b.engine.specs["widgets"].Program == second)
	}
}

// A preview says beforehand what the status would say, and keeps nothing.
func TestPreview(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		s       situation
		warning string
		refused bool
	}{
		"all is well":         {situation{}, "", false},
		"no CRD yet":          {situation{noCRD: true}, "its expressions were not checked", false},
		"it does not compile": {situation{mapping: invalid}, "", true},
		"a reference's field that is not there": {situation{others: []client.Object{boxCRD(t)}, mapping: func(m *v1alpha1.RestMapping) {
			inBox(m)
			m.Spec.Fields[0].Value = "refs.box.spec.siz"
		}}, "", true},
		"a reference that fits": {situation{others: []client.Object{boxCRD(t)}, mapping: inBox}, "", false},
		"a reference to come":   {situation{mapping: inBox}, "what uses refs.box was not checked", false},
		"a version not served":  {situation{mapping: func(m *v1alpha1.RestMapping) { m.Spec.Target.Version = "v9" }}, "does not serve version v9", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := tc.s.bench(t)
			m := newMapping(t)
			if tc.s.mapping != nil {
				tc.s.mapping(m)
			}
			m.Name = "another"
			warnings, err := b.r.Preview(t.Context(), m)
			if text := strings.Join(warnings, "\n"); !strings.Contains(text, tc.warning) {
				t.Errorf("warnings %q do not say %q", text, tc.warning)
			}
			wrong := (*mapping.InvalidError)(nil)
			if errors.As(err, &wrong) != tc.refused {
				t.Errorf("got %v", err)
			}
			if len(b.r.programs.results) > 0 || len(b.engine.specs) > 0 || len(b.writes) > 0 {
				t.Error("something was kept or started")
			}
		})
	}
}
