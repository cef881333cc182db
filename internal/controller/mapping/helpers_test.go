package mapping

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/yaml"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine"
)

const widgetCRD = `
metadata: {name: widgets.example.com, uid: crd-1, generation: 1}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns: [{name: Size, type: integer, jsonPath: .spec.size}]
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
          status:
            type: object
            properties:
              observedGeneration: {type: integer, format: int64}
              conditions:
                type: array
                items:
                  type: object
                  properties:
                    type: {type: string}
                    status: {type: string}
                    reason: {type: string}
                    message: {type: string}
                    lastTransitionTime: {type: string, format: date-time}
                    observedGeneration: {type: integer, format: int64}
`

const widgetMapping = `
metadata: {name: widgets, uid: m-1, generation: 3, creationTimestamp: "2026-05-01T12:00:00Z", finalizers: [restmapping.dev/mapping-in-use]}
spec:
  target: {group: example.com, version: v1, kind: Widget}
  endpoint: {kind: RestEndpoint, name: main}
  identifiers: [{name: id, value: self.metadata.name}]
  operations:
    read: {path: "/widgets/{id}"}
    create: {method: PUT, path: "/widgets/{id}"}
  fields: [{from: spec.size, to: size}]
`

var widgetsGVR = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

func decode[T any](tb testing.TB, text string) *T {
	tb.Helper()
	value := new(T)
	if err := yaml.UnmarshalStrict([]byte(text), value); err != nil {
		tb.Fatalf("YAML of the test: %v", err)
	}
	return value
}

func newCRD(tb testing.TB, changes ...func(*apiextensionsv1.CustomResourceDefinition)) *apiextensionsv1.CustomResourceDefinition {
	tb.Helper()
	crd := decode[apiextensionsv1.CustomResourceDefinition](tb, widgetCRD)
	for _, change := range changes {
		change(crd)
	}
	return crd
}

func newMapping(tb testing.TB, changes ...func(*v1alpha1.RestMapping)) *v1alpha1.RestMapping {
	tb.Helper()
	m := decode[v1alpha1.RestMapping](tb, widgetMapping)
	for _, change := range changes {
		change(m)
	}
	return m
}

// fakeEngine notes what it is asked for.
type fakeEngine struct {
	specs   map[string]engine.Spec
	states  map[string]engine.State
	removed []string
	fail    error
	// plan is what every new generation would change; planned are the generations that were asked about.
	plan    engine.Plan
	planned []int64
	// next is the state of a mapping that begins to run.
	next engine.State
}

// Apply implements Engine.
func (e *fakeEngine) Apply(spec engine.Spec) error {
	if e.fail != nil {
		return e.fail
	}
	e.specs[spec.Name] = spec
	if _, running := e.states[spec.Name]; !running {
		e.states[spec.Name] = e.next
	}
	return nil
}

// Plan implements Engine.
func (e *fakeEngine) Plan(spec engine.Spec) (engine.Plan, error) {
	e.planned = append(e.planned, spec.Program.Generation())
	return e.plan, e.fail
}

// EndPlan implements Engine.
func (e *fakeEngine) EndPlan(string) {}

// Remove implements Engine.
func (e *fakeEngine) Remove(name string) error {
	e.removed = append(e.removed, name)
	delete(e.specs, name)
	delete(e.states, name)
	return e.fail
}

// State implements Engine.
func (e *fakeEngine) State(name string) (engine.State, bool) {
	s, ok := e.states[name]
	if spec, applied := e.specs[name]; applied && spec.Program != nil {
		s.Generation = spec.Program.Generation()
	}
	return s, ok
}

// Subscribe implements Engine.
func (e *fakeEngine) Subscribe(func(string)) func() { return func() {} }

// fakeAccess denies what stands in denied, as "verb resource namespace".
type fakeAccess struct {
	authorizationv1client.SelfSubjectAccessReviewInterface
	denied []string
	asked  []string
	fail   error
}

// Create implements SelfSubjectAccessReviewInterface.
func (a *fakeAccess) Create(_ context.Context, review *authorizationv1.SelfSubjectAccessReview, _ metav1.CreateOptions) (*authorizationv1.SelfSubjectAccessReview, error) {
	at := review.Spec.ResourceAttributes
	resource := at.Resource
	if at.Subresource != "" {
		resource += "/" + at.Subresource
	}
	question := strings.TrimSpace(fmt.Sprintf("%s %s.%s %s", at.Verb, resource, at.Group, at.Namespace))
	a.asked = append(a.asked, question)
	review.Status.Allowed = !slices.Contains(a.denied, question)
	return review, a.fail
}

// bench is a reconciler on an API server in memory.
type bench struct {
	*testing.T
	client  client.Client
	engine  *fakeEngine
	access  *fakeAccess
	dynamic *dynamicfake.FakeDynamicClient
	r       *Reconciler
	// fail may fail a call of the client: "get", "list", "patch" or "status", with the kind.
	fail func(call string) error
	// schemaReads counts how often a schema was read; writes are the writes.
	schemaReads int
	writes      []string
}

func newBench(t *testing.T, objects ...client.Object) *bench {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(apiextensionsv1.AddToScheme(scheme), v1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	b := &bench{
		T: t, access: &fakeAccess{}, fail: func(string) error { return nil },
		engine:  &fakeEngine{specs: map[string]engine.Spec{}, states: map[string]engine.State{}, next: engine.State{Synced: true}},
		dynamic: dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{widgetsGVR: "WidgetList"}),
	}
	live := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.RestMapping{}).
		WithIndex(&apiextensionsv1.CustomResourceDefinition{}, kindIndex, func(object client.Object) []string {
			crd, _ := object.(*apiextensionsv1.CustomResourceDefinition)
			return []string{kindKey(crd.Spec.Group, crd.Spec.Names.Kind)}
		}).Build()
	b.client = interceptor.NewClient(live, b.functions())
	b.r = &Reconciler{Client: b.client, Live: b.client, Dynamic: b.dynamic, Access: b.access, Engine: b.engine}
	return b
}

func (b *bench) functions() interceptor.Funcs {
	kind := func(object any) string { return strings.TrimPrefix(fmt.Sprintf("%T", object), "*v1alpha1.") }
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if _, isCRD := object.(*apiextensionsv1.CustomResourceDefinition); isCRD {
				b.schemaReads++
			}
			if err := b.fail("get " + kind(object)); err != nil {
				return err
			}
			return c.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if err := b.fail("list " + kind(list)); err != nil {
				return err
			}
			return c.List(ctx, list, options...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			b.writes = append(b.writes, "metadata")
			if err := b.fail("patch"); err != nil {
				return err
			}
			return c.Patch(ctx, object, patch, options...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			b.writes = append(b.writes, sub)
			if err := b.fail(sub); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, object, patch, options...)
		},
	}
}

func (b *bench) reconcile(name string) (ctrl.Result, error) {
	b.Helper()
	return b.r.Reconcile(b.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}})
}

// mustReconcile reconciles without an error and gives the mapping afterwards.
func (b *bench) mustReconcile(name string) (*v1alpha1.RestMapping, ctrl.Result) {
	b.Helper()
	result, err := b.reconcile(name)
	if err != nil {
		b.Fatalf("reconcile: %v", err)
	}
	return b.mapping(name), result
}

func (b *bench) mapping(name string) *v1alpha1.RestMapping {
	b.Helper()
	m := &v1alpha1.RestMapping{}
	if err := b.client.Get(b.Context(), client.ObjectKey{Name: name}, m); err != nil {
		b.Fatal(err)
	}
	return m
}

// widget puts a custom resource at the API server.
func (b *bench) widget(name string, labels map[string]string, finalizers ...string) {
	b.Helper()
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget"}}
	obj.SetName(name)
	obj.SetNamespace("team")
	obj.SetLabels(labels)
	obj.SetFinalizers(finalizers)
	if _, err := b.dynamic.Resource(widgetsGVR).Namespace("team").Create(b.Context(), obj, metav1.CreateOptions{}); err != nil {
		b.Fatal(err)
	}
}

func wantText(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s does not say %q: %s", what, part, text)
		}
	}
}

func wantEqual(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func at(text string) metav1.Time {
	moment, err := time.Parse(time.RFC3339, text)
	if err != nil {
		panic(err)
	}
	return metav1.NewTime(moment)
}

var errAPIServer = errors.New("the API server does not answer")
