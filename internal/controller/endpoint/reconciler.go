package endpoint

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/endpoints"
)

// workers is how many endpoints of a kind are looked at together, so that servers that hang do not hold up the others.
const workers = 16

// reconciler looks after the endpoints of one kind.
type reconciler[T client.Object] struct {
	kind     kind[T]
	client   client.Client
	registry *endpoints.Registry
	users    Users
	events   eventRecorder
	clock    clock.PassiveClock
}

// SetupWithManager adds the reconcilers of both kinds. The registry must read from the manager's cache.
func SetupWithManager(mgr ctrl.Manager, registry *endpoints.Registry, users Users) error {
	return errors.Join(setup(mgr, registry, users, namespaced()), setup(mgr, registry, users, clusterScoped()))
}

func setup[T client.Object](mgr ctrl.Manager, registry *endpoints.Registry, users Users, k kind[T]) error {
	r := &reconciler[T]{
		kind: k, client: mgr.GetClient(), registry: registry, users: users,
		events: mgr.GetEventRecorder("restmapping-operator"), clock: clock.RealClock{},
	}
	// No predicate: the event of an own write leads to one more look, which costs no request and puts right what was
	// written on top of a cache that had not caught up.
	err := ctrl.NewControllerManagedBy(mgr).
		Named(strings.ToLower(string(k.name))).
		For(k.empty()).
		WatchesRawSource(source.Func(r.follow)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the controller of %s: %w", k.name, err)
	}
	return nil
}

// follow queues an endpoint when the registry tells that it changed, for example because its Secret did, or that its server
// began or ceased to be left alone, and when a custom resource uses it for the first time.
func (r *reconciler[T]) follow(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	listen := func(ref endpoints.Ref) {
		if ref.Kind == r.kind.name {
			queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: ref.Namespace, Name: ref.Name}})
		}
	}
	context.AfterFunc(ctx, r.registry.Subscribe(listen))
	context.AfterFunc(ctx, r.registry.SubscribeFlow(listen))
	context.AfterFunc(ctx, r.registry.SubscribeUse(listen))
	return nil
}

// Reconcile looks at one endpoint and reports what it found.
func (r *reconciler[T]) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	ref := endpoints.Ref{Kind: r.kind.name, Namespace: request.Namespace, Name: request.Name}
	object := r.kind.empty()
	if err := r.client.Get(ctx, request.NamespacedName, object); err != nil {
		if apierrors.IsNotFound(err) {
			return reconcile.Result{}, r.forget(ctx, ref)
		}
		return reconcile.Result{}, fmt.Errorf("read %s: %w", ref, err)
	}
	if object.GetDeletionTimestamp() != nil {
		return r.remove(ctx, object, ref)
	}
	if err := r.hold(ctx, object, ref); err != nil {
		return reconcile.Result{}, err
	}
	found, err := look(ctx, r.registry, ref)
	if err != nil {
		return reconcile.Result{}, err
	}
	r.stranded(ctx, object, ref, &found)
	if err := r.report(ctx, object, found); err != nil {
		return reconcile.Result{}, fmt.Errorf("write the status of %s: %w", ref, err)
	}
	return reconcile.Result{RequeueAfter: found.after(r.kind.spec(object).Probe)}, nil
}

// forget lets the registry see that the endpoint is gone.
func (r *reconciler[T]) forget(ctx context.Context, ref endpoints.Ref) error {
	_, err := r.registry.Refresh(ctx, ref)
	if gone := (*endpoints.EndpointNotFoundError)(nil); errors.As(err, &gone) {
		return nil
	}
	// Created again meanwhile: its own event comes.
	return err
}

// report writes the status if it is another than the one that stands there.
func (r *reconciler[T]) report(ctx context.Context, object T, found finding) error {
	before, ok := object.DeepCopyObject().(T)
	if !ok {
		return fmt.Errorf("a copy of %s is of another type", r.kind.name)
	}
	status := r.kind.status(object)
	found.apply(status, object.GetGeneration(), r.clock.Now())
	if equality.Semantic.DeepEqual(r.kind.status(before), status) {
		return nil
	}
	if err := r.client.Status().Patch(ctx, object, client.MergeFrom(before)); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.tell(object, r.kind.status(before).Conditions, status.Conditions)
	return nil
}

// The reconcilers are what controller-runtime expects.
var (
	_ reconcile.Reconciler = (*reconciler[*v1alpha1.RestEndpoint])(nil)
	_ reconcile.Reconciler = (*reconciler[*v1alpha1.ClusterRestEndpoint])(nil)
)
