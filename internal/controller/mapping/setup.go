package mapping

import (
	"context"
	"fmt"
	"slices"

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
		For(&v1alpha1.RestMapping{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		Watches(&v1alpha1.RestMapping{}, handler.EnqueueRequestsFromMapFunc(r.rivals), builder.WithPredicates(firstAccepted())).
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

// rivals enqueues the other mappings of the same kind, of which one may take over, and those of the kinds that are
// referred to: they must know whom to wait for.
func (r *Reconciler) rivals(ctx context.Context, object client.Object) []reconcile.Request {
	m, ok := object.(*v1alpha1.RestMapping)
	if !ok {
		return nil
	}
	return requestsOf(r.list(ctx), func(other *v1alpha1.RestMapping) bool {
		return other.Name != m.Name && (sameKind(m, other) || refersTo(m, other))
	})
}

// mappingsOf enqueues the mappings that name a CRD's kind, and those that such a mapping refers to.
func (r *Reconciler) mappingsOf(ctx context.Context, object client.Object) []reconcile.Request {
	crd, ok := object.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return nil
	}
	group, kind := crd.Spec.Group, crd.Spec.Names.Kind
	var serving []*v1alpha1.RestMapping
	list := r.list(ctx)
	for i := range list {
		if list[i].Spec.Target.Group == group && list[i].Spec.Target.Kind == kind {
			serving = append(serving, &list[i])
		}
	}
	return requestsOf(list, func(m *v1alpha1.RestMapping) bool {
		return names(m, group, kind) || slices.ContainsFunc(serving, func(s *v1alpha1.RestMapping) bool { return refersTo(s, m) })
	})
}

// firstAccepted passes changes of the specification, and of whether any was ever accepted: from then on a mapping counts
// among those that refer to others.
func firstAccepted() predicate.Predicate {
	changed := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*v1alpha1.RestMapping)
		after, same := e.ObjectNew.(*v1alpha1.RestMapping)
		return ok && same && (before.Status.AcceptedGeneration == 0) != (after.Status.AcceptedGeneration == 0)
	}}
	return predicate.Or(predicate.GenerationChangedPredicate{}, changed)
}

func (r *Reconciler) list(ctx context.Context) []v1alpha1.RestMapping {
	list := &v1alpha1.RestMappingList{}
	if err := r.Client.List(ctx, list); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list RestMappings")
		return nil
	}
	return list.Items
}

func requestsOf(list []v1alpha1.RestMapping, wanted func(*v1alpha1.RestMapping) bool) []reconcile.Request {
	var out []reconcile.Request
	for i := range list {
		if wanted(&list[i]) {
			out = append(out, request(list[i].Name))
		}
	}
	return out
}
