package endpoints

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// checkNamespace refuses a namespace that a ClusterRestEndpoint does not allow. A cluster-scoped custom resource has
// none: whoever may write those is an administrator already.
func (r *Registry) checkNamespace(ctx context.Context, d definition, namespace string) error {
	if d.ref.Kind != KindClusterRestEndpoint || namespace == "" {
		return nil
	}
	denied := &NamespaceNotAllowedError{Endpoint: d.ref, Namespace: namespace}
	if d.allowed == nil {
		return denied
	}
	if slices.Contains(d.allowed.Names, namespace) {
		return nil
	}
	if d.allowed.Selector == nil {
		return denied
	}
	selector, err := metav1.LabelSelectorAsSelector(d.allowed.Selector)
	if err != nil {
		return &InvalidEndpointError{Endpoint: d.ref, Field: "spec.allowedNamespaces.selector", Message: err.Error(), Err: err}
	}
	return r.checkSelector(ctx, selector, denied)
}

func (r *Registry) checkSelector(ctx context.Context, selector labels.Selector, denied *NamespaceNotAllowedError) error {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := r.reader.Get(ctx, types.NamespacedName{Name: denied.Namespace}, namespace)
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("%s: read the labels of namespace %q for spec.allowedNamespaces.selector: %w", denied.Endpoint, denied.Namespace, err)
	}
	// A namespace that is gone is not taken, not even by an empty selector.
	if err != nil || !selector.Matches(labels.Set(namespace.Labels)) {
		return denied
	}
	return nil
}
