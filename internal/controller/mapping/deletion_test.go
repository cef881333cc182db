package mapping

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine"
)

// pages answers lists page by page, each with one custom resource that is held.
func (b *bench) pages(count int) {
	asked := 0
	b.dynamic.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		asked++
		item := unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget"}}
		item.SetName(fmt.Sprint("w", asked))
		item.SetFinalizers([]string{v1alpha1.Finalizer})
		list := &unstructured.UnstructuredList{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "WidgetList"}, Items: []unstructured.Unstructured{item}}
		if asked < count {
			list.SetContinue(fmt.Sprint("after-", asked))
		}
		return true, list, nil
	})
}

func TestAllPagesAreCounted(t *testing.T) {
	t.Parallel()
	m := newMapping(t, deleted)
	b := newBench(t, newCRD(t), m)
	b.pages(4)
	if got, err := b.r.held(t.Context(), m); err != nil || got != 4 {
		t.Errorf("gave %d, %v", got, err)
	}
}

// Whatever fails on the way, the finalizer stays until all is done.
func TestADeletionThatFailsIsTriedAgain(t *testing.T) {
	t.Parallel()
	cases := map[string]func(b *bench){
		"removing the finalizer": func(b *bench) { b.fail = failing("patch") },
		"stopping the mapping":   func(b *bench) { b.engine.fail = errAPIServer },
		"looking for rivals":     func(b *bench) { b.fail = failing("list RestMappingList") },
		"looking for the CRD":    func(b *bench) { b.fail = failing("list *v1.CustomResourceDefinitionList") },
		"counting":               func(b *bench) { b.listFails(errAPIServer) },
	}
	for name, spoil := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, newCRD(t), newMapping(t, deleted))
			spoil(b)
			if _, err := b.reconcile("widgets"); !errors.Is(err, errAPIServer) {
				t.Errorf("gave %v", err)
			}
			if got := b.mapping("widgets").Finalizers; !slices.Equal(got, []string{v1alpha1.MappingFinalizer}) {
				t.Errorf("finalizers %v", got)
			}
		})
	}
}

func TestADeletionThatFailsWhileInUse(t *testing.T) {
	t.Parallel()
	cases := map[string]func(b *bench){
		"writing the status":  func(b *bench) { b.fail = failing("status") },
		"serving on":          func(b *bench) { b.engine.fail = errAPIServer },
		"looking for the CRD": func(b *bench) { b.fail = failing("list *v1.CustomResourceDefinitionList") },
	}
	for name, spoil := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, newCRD(t), newMapping(t, deleted))
			b.engine.states["widgets"] = engine.State{Synced: true, Held: 1}
			spoil(b)
			if _, err := b.reconcile("widgets"); !errors.Is(err, errAPIServer) {
				t.Errorf("gave %v", err)
			}
			if _, runs := b.engine.states["widgets"]; !runs {
				t.Error("it was stopped while custom resources need it")
			}
		})
	}
}

// What goes while we look at it is no error.
func TestAMappingThatGoesMeanwhile(t *testing.T) {
	t.Parallel()
	gone := apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("restmappings").GroupResource(), "widgets")
	cases := map[string]struct {
		call   string
		change func(*v1alpha1.RestMapping)
	}{
		"before its finalizer is removed": {"patch", deleted},
		"before its status is written":    {"status", func(*v1alpha1.RestMapping) {}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, newCRD(t), newMapping(t, tc.change))
			b.fail = func(call string) error {
				if call == tc.call {
					return gone
				}
				return nil
			}
			if _, err := b.reconcile("widgets"); err != nil {
				t.Errorf("gave %v", err)
			}
		})
	}
}

// A mapping that gave way holds nothing: the older one serves the custom resources.
func TestADeletedRivalGoesAtOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, newCRD(t), newMapping(t, deleted))
	b.addRival()
	b.widget("one", nil, v1alpha1.Finalizer)
	if _, err := b.reconcile("widgets"); err != nil {
		t.Fatal(err)
	}
	if err := b.client.Get(t.Context(), client.ObjectKey{Name: "widgets"}, &v1alpha1.RestMapping{}); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
}

func TestTheEndpointIsPrinted(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		endpoint v1alpha1.EndpointReference
		want     string
	}{
		"by its name":        {v1alpha1.EndpointReference{Kind: "RestEndpoint", Name: "main"}, "RestEndpoint/main"},
		"by an expression":   {v1alpha1.EndpointReference{Kind: "ClusterRestEndpoint", NameExpression: "self.spec.server"}, "ClusterRestEndpoint/(self.spec.server)"},
		"of another cluster": {v1alpha1.EndpointReference{Kind: "ClusterRestEndpoint", Name: "x"}, "ClusterRestEndpoint/x"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMapping(t, func(m *v1alpha1.RestMapping) { m.Spec.Endpoint = tc.endpoint })
			newReport(m).summarise()
			wantEqual(t, "endpoint", tc.want, m.Status.Endpoint)
		})
	}
}

func TestCountsFitTheirType(t *testing.T) {
	t.Parallel()
	wantEqual(t, "a count", int32(7), count32(7))
	wantEqual(t, "more than fits", int32(math.MaxInt32), count32(math.MaxInt))
}

func TestNumbersGoWithTheMapping(t *testing.T) {
	t.Parallel()
	s := situations()["no CRD"]
	s.mapping = func(m *v1alpha1.RestMapping) {
		m.Status.Summary, m.Status.Objects = "1/1", &v1alpha1.ObjectCounts{Total: 1, Ready: 1}
		m.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: "Old", LastTransitionTime: at("2026-05-01T12:00:00Z")}}
	}
	m, _ := s.bench(t).mustReconcile("widgets")
	if m.Status.Summary != "" || m.Status.Objects != nil {
		t.Errorf("status %+v", m.Status)
	}
	wantEqual(t, "conditions", s.want, conditionsOf(m))
}
