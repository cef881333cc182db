package mapping

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/restmapping/operator/api/v1alpha1"
)

// changesBuffer is how many changes of the engine's state may wait. More are dropped: each only says that there is
// something to see, and what waits says so already.
const changesBuffer = 1024

// concurrent is how many mappings are worked on at once. Stopping one waits for its passes, which may hang in a server
// for as long as the drain time; that must not keep the others from starting.
const concurrent = 16

// SetupWithManager registers the controller with a manager.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	byKind := func(object client.Object) []string {
		crd, ok := object.(*apiextensionsv1.CustomResourceDefinition)
		if !ok {
			return nil
		}
		return []string{kindKey(crd.Spec.Group, crd.Spec.Names.Kind)}
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &apiextensionsv1.CustomResourceDefinition{}, kindIndex, byKind); err != nil {
		return fmt.Errorf("index CustomResourceDefinitions: %w", err)
	}
	changes := make(chan event.TypedGenericEvent[string], changesBuffer)
	unsubscribe := r.Engine.Subscribe(func(name string) {
		select {
		case changes <- event.TypedGenericEvent[string]{Object: name}:
		default:
		}
	})
	context.AfterFunc(ctx, unsubscribe)
	return ctrl.NewControllerManagedBy(mgr).Named("restmapping").
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrent}).
		For(&v1alpha1.RestMapping{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.RestMapping{}, handler.EnqueueRequestsFromMapFunc(r.rivals), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&apiextensionsv1.CustomResourceDefinition{}, handler.EnqueueRequestsFromMapFunc(r.mappingsOf)).
		WatchesRawSource(source.TypedChannel(changes, gather())).
		Complete(r)
}

// gather enqueues a mapping whose state changed, a moment later, so that a burst of changes is told once.
func gather() handler.TypedEventHandler[string, reconcile.Request] {
	return handler.TypedFuncs[string, reconcile.Request]{
		GenericFunc: func(_ context.Context, e event.TypedGenericEvent[string], q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
			q.AddAfter(request(e.Object), coalesce)
		},
	}
}

func request(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// rivals enqueues the other mappings of the same kind: one of them may take over.
func (r *Reconciler) rivals(ctx context.Context, object client.Object) []reconcile.Request {
	m, ok := object.(*v1alpha1.RestMapping)
	if !ok {
		return nil
	}
	return r.requests(ctx, func(other *v1alpha1.RestMapping) bool { return other.Name != m.Name && sameKind(m, other) })
}

// mappingsOf enqueues the mappings of a CRD's kind.
func (r *Reconciler) mappingsOf(ctx context.Context, object client.Object) []reconcile.Request {
	crd, ok := object.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return nil
	}
	return r.requests(ctx, func(m *v1alpha1.RestMapping) bool {
		return m.Spec.Target.Group == crd.Spec.Group && m.Spec.Target.Kind == crd.Spec.Names.Kind
	})
}

func (r *Reconciler) requests(ctx context.Context, wanted func(*v1alpha1.RestMapping) bool) []reconcile.Request {
	list := &v1alpha1.RestMappingList{}
	if err := r.Client.List(ctx, list); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list RestMappings")
		return nil
	}
	var out []reconcile.Request
	for i := range list.Items {
		if wanted(&list.Items[i]) {
			out = append(out, request(list.Items[i].Name))
		}
	}
	return out
}
