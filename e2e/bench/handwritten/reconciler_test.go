package main

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/time/rate"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/restmapping/operator/internal/restfake"
)

// bench is a reconciler with a REST server and an API server in memory.
type bench struct {
	*testing.T

	rest *restfake.Server
	r    *reconciler
}

func newBench(t *testing.T) *bench {
	t.Helper()
	rest := restfake.New([]restfake.Collection{{Path: "/widgets", IDField: "name", IDs: restfake.Chosen, DuplicateKey: "name"}})
	listener := httptest.NewServer(rest)
	t.Cleanup(func() { rest.Close(); listener.Close() })
	w := &Widget{ObjectMeta: metav1.ObjectMeta{Name: "w", Namespace: "n", Generation: 1}, Spec: WidgetSpec{Size: 3, Color: "red", Tags: []string{"b", "a"}}}
	api := fake.NewClientBuilder().WithScheme(newScheme()).WithStatusSubresource(&Widget{}).WithObjects(w).Build()
	return &bench{T: t, rest: rest, r: &reconciler{client: api, interval: 10 * time.Second, server: &server{
		base: listener.URL, client: listener.Client(), limiter: rate.NewLimiter(rate.Inf, 1),
	}}}
}

var key = client.ObjectKey{Namespace: "n", Name: "w"}

func (b *bench) pass() (ctrl.Result, error) {
	return b.r.Reconcile(b.Context(), ctrl.Request{NamespacedName: key})
}

// must makes a pass that succeeds, and gives the requests that it sent.
func (b *bench) must() map[string]int {
	b.Helper()
	b.rest.Forget()
	if _, err := b.pass(); err != nil {
		b.Fatal(err)
	}
	return b.rest.Counts()
}

func (b *bench) get() *Widget {
	b.Helper()
	var w Widget
	if err := b.r.client.Get(b.Context(), key, &w); err != nil {
		b.Fatal(err)
	}
	return &w
}

func (b *bench) want(what string, got, want map[string]int) {
	b.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		b.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestTheLifeOfAWidget(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.want("create", b.must(), map[string]int{"GET /widgets/{id}": 1, "POST /widgets": 1})
	w := b.get()
	if c := meta.FindStatusCondition(w.Status.Conditions, ready); c == nil || c.Status != metav1.ConditionTrue || *w.Status.Size != 3 || len(w.Finalizers) != 1 {
		t.Errorf("after the create: %+v", w)
	}
	b.want("nothing changed", b.must(), map[string]int{"GET /widgets/{id}": 1})
	if again := b.get(); again.ResourceVersion != w.ResourceVersion {
		t.Error("something was written although nothing changed")
	}
	if err := b.rest.Change("/widgets/w", func(fields map[string]any) { fields["color"] = "green" }); err != nil {
		t.Fatal(err)
	}
	b.want("drift", b.must(), map[string]int{"GET /widgets/{id}": 1, "PUT /widgets/{id}": 1})
	if o, _ := b.rest.Get("/widgets/w"); o.Fields["color"] != "red" {
		t.Errorf("drift was not put back: %v", o.Fields)
	}
	if err := b.r.client.Delete(t.Context(), b.get()); err != nil {
		t.Fatal(err)
	}
	b.want("delete", b.must(), map[string]int{"DELETE /widgets/{id}": 1})
	if err := b.r.client.Get(t.Context(), key, &Widget{}); !apierrors.IsNotFound(err) || len(b.rest.Live("")) != 0 {
		t.Errorf("something is left: %v", err)
	}
	b.want("gone", b.must(), map[string]int{})
}

func TestTheFinalizerComesFirst(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.rest.OnCommit(func(c restfake.Commit) {
		if c.Change == restfake.Created && len(b.get().Finalizers) == 0 {
			t.Error("the object was created before the finalizer was there")
		}
	})
	b.must()
}

func TestAFailureStandsInTheStatusAndIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.rest.AddRule(restfake.Rule{Method: http.MethodPost, Fault: restfake.Fault{Commit: restfake.CommitNever, Answer: restfake.AnswerInstead, Status: 503}})
	if _, err := b.pass(); err == nil {
		t.Fatal("the controller must come again")
	}
	if c := meta.FindStatusCondition(b.get().Status.Conditions, ready); c == nil || c.Status != metav1.ConditionFalse {
		t.Errorf("condition %+v", c)
	}
	b.rest.ClearRules()
	b.must()
	if c := meta.FindStatusCondition(b.get().Status.Conditions, ready); c == nil || c.Status != metav1.ConditionTrue {
		t.Errorf("condition %+v", c)
	}
}

func TestDeletingWhatIsAlreadyGone(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.must()
	if err := b.rest.Remove("/widgets/w"); err != nil {
		t.Fatal(err)
	}
	if err := b.r.client.Delete(t.Context(), b.get()); err != nil {
		t.Fatal(err)
	}
	b.want("delete", b.must(), map[string]int{"DELETE /widgets/{id}": 1})
	if err := b.r.client.Get(t.Context(), key, &Widget{}); !apierrors.IsNotFound(err) {
		t.Errorf("it is still there: %v", err)
	}
}
