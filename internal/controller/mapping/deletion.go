package mapping

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/restmapping/operator/api/v1alpha1"
)

// remove lets a mapping go when no custom resource needs it any more. Nothing is ever deleted outside because a mapping
// was: it goes on serving until its custom resources have gone.
func (r *Reconciler) remove(ctx context.Context, m *v1alpha1.RestMapping) (ctrl.Result, error) {
	if !controllerutil.ContainsFinalizer(m, v1alpha1.MappingFinalizer) {
		return ctrl.Result{}, r.Engine.Remove(m.Name)
	}
	held, err := r.held(ctx, m)
	if err != nil {
		return ctrl.Result{}, err
	}
	if held > 0 {
		rep, err := r.advance(ctx, m)
		if err != nil {
			return ctrl.Result{}, err
		}
		rep.inUse(held)
		if err := r.write(ctx, m, rep); err != nil {
			return ctrl.Result{}, err
		}
		return ctrl.Result{RequeueAfter: deniedRetry}, nil
	}
	if err := r.Engine.Remove(m.Name); err != nil {
		return ctrl.Result{}, err
	}
	before := m.DeepCopy()
	controllerutil.RemoveFinalizer(m, v1alpha1.MappingFinalizer)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := client.IgnoreNotFound(r.Client.Patch(ctx, m, patch)); err != nil {
		return ctrl.Result{}, fmt.Errorf("remove finalizer of RestMapping %s: %w", m.Name, err)
	}
	return ctrl.Result{}, nil
}

func (r *report) inUse(held int) {
	r.reason, r.stalled, r.working = v1alpha1.ReasonInUse, false, true
	r.message = fmt.Sprintf("it is being deleted, and %d custom resources still have objects outside; delete them first (set policy.deletion to Orphan before that to leave the objects in place)", held)
}

// held counts the custom resources that still carry our finalizer. A mapping that never served holds none.
func (r *Reconciler) held(ctx context.Context, m *v1alpha1.RestMapping) (int, error) {
	if state, running := r.Engine.State(m.Name); running && state.Synced {
		return state.Held, nil
	}
	if m.Status.AcceptedGeneration == 0 {
		return 0, nil
	}
	rival, err := r.rival(ctx, m)
	if err != nil || rival != "" {
		return 0, err
	}
	t, err := r.target(ctx, m)
	if err != nil || t.problem != nil && t.problem.reason == v1alpha1.ReasonCRDNotFound {
		return 0, err
	}
	return r.count(ctx, m, t)
}

// pageSize bounds one page of a count.
const pageSize = 500

// count asks in the served namespaces alone: the operator may have no rights elsewhere.
func (r *Reconciler) count(ctx context.Context, m *v1alpha1.RestMapping, t target) (int, error) {
	total := 0
	for _, namespace := range r.namespaces(t) {
		n, err := r.countIn(ctx, m, t, namespace)
		if err != nil {
			return 0, err
		}
		total += n
	}
	return total, nil
}

func (r *Reconciler) countIn(ctx context.Context, m *v1alpha1.RestMapping, t target, namespace string) (int, error) {
	options := metav1.ListOptions{Limit: pageSize, LabelSelector: selectorOf(m)}
	total := 0
	for {
		page, err := r.Dynamic.Resource(t.anyVersion()).Namespace(namespace).List(ctx, options)
		if apierrors.IsNotFound(err) {
			return total, nil
		}
		if err != nil {
			return 0, fmt.Errorf("count the custom resources of RestMapping %s: %w", m.Name, err)
		}
		for i := range page.Items {
			if slices.Contains(page.Items[i].GetFinalizers(), v1alpha1.Finalizer) {
				total++
			}
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return total, nil
		}
	}
}
