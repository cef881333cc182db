package endpoint

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/endpoints"
)

var own = endpoints.Ref{Kind: endpoints.KindRestEndpoint, Namespace: name.Namespace, Name: name.Name}

func (b *bench) resolve() error {
	_, err := b.registry.Resolve(context.WithoutCancel(b.t.Context()), own)
	return err
}

// delete asks for the deletion and gives what one look makes of it; nil when the endpoint is gone.
func (b *bench) delete() *v1alpha1.RestEndpoint {
	b.t.Helper()
	if err := b.client.Delete(b.t.Context(), b.get()); err != nil {
		b.t.Fatal(err)
	}
	return b.look()
}

func (b *bench) look() *v1alpha1.RestEndpoint {
	b.t.Helper()
	if _, err := b.reconciler.Reconcile(b.t.Context(), reconcile.Request{NamespacedName: name}); err != nil {
		b.t.Fatal(err)
	}
	e := &v1alpha1.RestEndpoint{}
	if err := b.client.Get(b.t.Context(), name, e); apierrors.IsNotFound(err) {
		return nil
	} else if err != nil {
		b.t.Fatal(err)
	}
	return e
}

func used(count, elsewhere int) Use {
	use := Use{}
	for i := range count {
		use.Add("Thing", types.NamespacedName{Namespace: "team-a", Name: string(rune('a' + i))}, i < elsewhere)
	}
	return use
}

// An endpoint that nobody uses carries nothing, so that it can go also when the operator is gone.
func TestOnlyAnEndpointInUseIsHeld(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(v1alpha1.EndpointSpec{BaseURL: "http://127.0.0.1:1"})
	if e, _ := b.reconcile(); len(e.Finalizers) > 0 {
		t.Errorf("finalizers %v before anybody used it", e.Finalizers)
	}
	if err := b.resolve(); err != nil {
		t.Fatal(err)
	}
	if e, _ := b.reconcile(); !slices.Equal(e.Finalizers, []string{v1alpha1.EndpointFinalizer}) {
		t.Errorf("finalizers %v", e.Finalizers)
	}
}

func TestADeletionWaitsForTheCustomResources(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(v1alpha1.EndpointSpec{BaseURL: "http://127.0.0.1:1"})
	if err := b.resolve(); !errors.As(err, new(*endpoints.EndpointNotFoundError)) && err != nil {
		t.Fatal(err)
	}
	b.reconcile()
	b.use = used(5, 0)
	for range 3 {
		e := b.get()
		if e.DeletionTimestamp == nil {
			e = b.delete()
		} else {
			e = b.look()
		}
		if e == nil {
			t.Fatal("it is gone although it is in use")
		}
		ready := meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Reason != v1alpha1.ReasonInUse {
			t.Fatalf("conditions %+v", e.Status.Conditions)
		}
		for _, want := range []string{"waits for 5 custom resources", "Thing team-a/a, Thing team-a/b, Thing team-a/c and 2 more", "Orphan"} {
			if !strings.Contains(ready.Message, want) {
				t.Errorf("%q does not say %q", ready.Message, want)
			}
		}
	}
	if len(b.told) != 1 || !strings.HasPrefix(b.told[0], "Warning InUse ") {
		t.Errorf("events %q, want one", b.told)
	}
	b.use = Use{}
	if e := b.look(); e != nil {
		t.Errorf("it is still there: %v", e.Finalizers)
	}
}

// What cannot be known is not taken for "nobody".
func TestADeletionWaitsWhileItIsNotKnownWhoUsesIt(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(v1alpha1.EndpointSpec{BaseURL: "http://127.0.0.1:1"})
	_ = b.resolve()
	b.reconcile()
	b.unknown = errors.New("list things: forbidden")
	e := b.delete()
	if e == nil {
		t.Fatal("it is gone")
	}
	if message, ok := says(e.Status.Conditions, v1alpha1.ConditionReady, v1alpha1.ReasonInUse); !ok || !strings.Contains(message, "not known") || !strings.Contains(message, "forbidden") {
		t.Errorf("conditions %+v", e.Status.Conditions)
	}
	b.unknown = nil
	if b.look() != nil {
		t.Error("it is still there")
	}
}

func TestAnEndpointSaysWhoseObjectsAreElsewhere(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.create(v1alpha1.EndpointSpec{BaseURL: "http://127.0.0.1:1"})
	b.reconcile()
	b.use = used(3, 2)
	if e, _ := b.reconcile(); meta.FindStatusCondition(e.Status.Conditions, v1alpha1.ConditionTargetIdentityChanged) != nil {
		t.Error("nothing changed, and it was looked up")
	}
	e := b.get()
	e.Generation, e.Spec.BaseURL = 2, "http://127.0.0.1:2"
	if err := b.client.Update(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	stands := func() string {
		e, result := b.reconcile()
		message, ok := says(e.Status.Conditions, v1alpha1.ConditionTargetIdentityChanged, v1alpha1.ReasonTargetIdentityChanged)
		if ok && result.RequeueAfter == 0 {
			t.Error("it is not looked at again")
		}
		return message
	}
	if message := stands(); !strings.Contains(message, "2 custom resources have their objects there: Thing team-a/a, Thing team-a/b;") {
		t.Errorf("it says %q", message)
	}
	b.unknown = errors.New("not now")
	if stands() == "" {
		t.Error("what is not known was taken for nobody")
	}
	b.unknown, b.use = nil, Use{}
	if message := stands(); message != "" {
		t.Errorf("it still says %q", message)
	}
	if len(b.told) != 1 || !strings.HasPrefix(b.told[0], "Warning TargetIdentityChanged ") {
		t.Errorf("events %q, want one", b.told)
	}
}
