package endpoint

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/endpoints"
)

// useInterval is how often an endpoint that is being deleted looks whether it is still needed.
const useInterval = 5 * time.Second

// eventRecorder writes events: that of a manager.
type eventRecorder interface {
	Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any)
}

// hold sets the finalizer once a custom resource uses the endpoint: it must outlive the objects that are made there,
// since nobody could delete them without it. An endpoint that nobody uses can always be deleted.
func (r *reconciler[T]) hold(ctx context.Context, object T, ref endpoints.Ref) error {
	if !r.registry.Used(ref) || controllerutil.ContainsFinalizer(object, v1alpha1.EndpointFinalizer) {
		return nil
	}
	return r.patchFinalizer(ctx, object, func(o client.Object) { controllerutil.AddFinalizer(o, v1alpha1.EndpointFinalizer) })
}

// remove lets an endpoint go when nobody needs it any more, and says until then who does.
func (r *reconciler[T]) remove(ctx context.Context, object T, ref endpoints.Ref) (reconcile.Result, error) {
	if !controllerutil.ContainsFinalizer(object, v1alpha1.EndpointFinalizer) {
		return reconcile.Result{}, nil
	}
	use, err := r.users.Of(ctx, ref, r.identity(object))
	if err == nil && use.Total == 0 {
		return reconcile.Result{}, r.patchFinalizer(ctx, object, func(o client.Object) {
			controllerutil.RemoveFinalizer(o, v1alpha1.EndpointFinalizer)
		})
	}
	message := use.waiting(ref)
	if err != nil {
		message = fmt.Sprintf("%s is being deleted, and it is not known whether custom resources have objects at its server: %v", ref, err)
	}
	// Ready stays what it was for those that are deleted now: the registry goes on serving them.
	found := finding{reason: v1alpha1.ReasonInUse, message: cut(message)}
	if err := r.report(ctx, object, found); err != nil {
		return reconcile.Result{}, fmt.Errorf("write the status of %s: %w", ref, err)
	}
	return reconcile.Result{RequeueAfter: useInterval}, nil
}

// stranded notes whether custom resources have their objects at a server to which the endpoint led before. It looks again
// when the spec changed, and while there are some: nothing else makes any.
func (r *reconciler[T]) stranded(ctx context.Context, object T, ref endpoints.Ref, f *finding) {
	status := r.kind.status(object)
	known := false
	for _, c := range status.Conditions {
		known = known || c.Type == v1alpha1.ConditionTargetIdentityChanged
	}
	if !known && status.ObservedGeneration == object.GetGeneration() {
		return
	}
	use, err := r.users.Of(ctx, ref, r.identity(object))
	switch {
	case err != nil:
		// It is asked again with the next look, since what is known stays.
		f.keepMoved = known
	case use.Elsewhere > 0:
		f.moved = cut(use.moved(ref))
	}
}

func (r *reconciler[T]) identity(object T) string {
	identity, err := endpoints.Identity(r.kind.spec(object).BaseURL)
	if err != nil {
		return ""
	}
	return identity
}

// patchFinalizer changes the finalizers if nobody else changed the endpoint meanwhile.
func (r *reconciler[T]) patchFinalizer(ctx context.Context, object T, change func(client.Object)) error {
	before, ok := object.DeepCopyObject().(T)
	if !ok {
		return fmt.Errorf("a copy of %s is of another type", r.kind.name)
	}
	change(object)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := client.IgnoreNotFound(r.client.Patch(ctx, object, patch)); err != nil {
		return fmt.Errorf("change the finalizers of %s %s: %w", r.kind.name, client.ObjectKeyFromObject(object), err)
	}
	return nil
}

// tell writes an event for what a person should see when it begins.
func (r *reconciler[T]) tell(object T, before, after []metav1.Condition) {
	for kind, reason := range map[string]string{
		v1alpha1.ConditionReady: v1alpha1.ReasonInUse, v1alpha1.ConditionTargetIdentityChanged: v1alpha1.ReasonTargetIdentityChanged,
	} {
		if message, stands := says(after, kind, reason); stands {
			if _, stood := says(before, kind, reason); !stood {
				r.events.Eventf(object, nil, corev1.EventTypeWarning, reason, "Look", "%s", message)
			}
		}
	}
}

func says(conditions []metav1.Condition, kind, reason string) (message string, ok bool) {
	for _, c := range conditions {
		if c.Type == kind && c.Reason == reason {
			return c.Message, true
		}
	}
	return "", false
}
