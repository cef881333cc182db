package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
)

const (
	finalizer = "handwritten.bench.example.com/finalizer"
	ready     = "Ready"
)

// reconciler keeps widgets in sync with the REST API.
type reconciler struct {
	client   client.Client
	server   *server
	interval time.Duration
}

// setup starts it with the manager. Its own status writes do not wake it: only the generation does.
func (r *reconciler) setup(mgr ctrl.Manager, workers int) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&Widget{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
}

// Reconcile implements reconcile.Reconciler.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var w Widget
	if err := r.client.Get(ctx, req.NamespacedName, &w); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !w.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, r.finalize(ctx, &w)
	}
	// The finalizer comes before the object outside, or a deletion in between would leave that behind.
	before := w.DeepCopy()
	if controllerutil.AddFinalizer(&w, finalizer) {
		if err := r.client.Patch(ctx, &w, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return ctrl.Result{}, fmt.Errorf("add the finalizer of %s: %w", req, err)
		}
	}
	observed, err := r.sync(ctx, objectOf(&w))
	if err := errors.Join(err, r.report(ctx, &w, observed, err)); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: time.Duration(float64(r.interval) * (0.9 + 0.2*rand.Float64()))}, nil
}

// sync makes the object outside as it is wanted.
func (r *reconciler) sync(ctx context.Context, want object) (object, error) {
	got, err := r.server.get(ctx, want.Name)
	switch {
	case errors.Is(err, errAbsent):
		return r.server.create(ctx, want)
	case err != nil || got.same(want):
		return got, err
	default:
		return r.server.update(ctx, want)
	}
}

func (r *reconciler) finalize(ctx context.Context, w *Widget) error {
	if !controllerutil.ContainsFinalizer(w, finalizer) {
		return nil
	}
	if err := r.server.remove(ctx, w.Name); err != nil {
		return errors.Join(err, r.report(ctx, w, object{}, err))
	}
	before := w.DeepCopy()
	controllerutil.RemoveFinalizer(w, finalizer)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(r.client.Patch(ctx, w, patch))
}

// report writes the status if it changed.
func (r *reconciler) report(ctx context.Context, w *Widget, observed object, problem error) error {
	before := w.DeepCopy()
	condition := metav1.Condition{Type: ready, Status: metav1.ConditionTrue, Reason: "InSync", ObservedGeneration: w.Generation}
	if problem != nil {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, "RequestFailed", problem.Error()
	} else {
		w.Status.Size = &observed.Size
	}
	w.Status.ObservedGeneration = w.Generation
	meta.SetStatusCondition(&w.Status.Conditions, condition)
	if equality.Semantic.DeepEqual(before.Status, w.Status) {
		return nil
	}
	if err := r.client.Status().Patch(ctx, w, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("write the status of %s/%s: %w", w.Namespace, w.Name, err)
	}
	return nil
}
