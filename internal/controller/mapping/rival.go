package mapping

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/api/v1alpha1"
)

// rival gives the name of an older mapping that serves custom resources which this one would serve too: two would undo
// each other's work for ever.
func (r *Reconciler) rival(ctx context.Context, m *v1alpha1.RestMapping) (string, error) {
	list := &v1alpha1.RestMappingList{}
	if err := r.Client.List(ctx, list); err != nil {
		return "", fmt.Errorf("list RestMappings: %w", err)
	}
	for i := range list.Items {
		other := &list.Items[i]
		if other.UID != m.UID && sameKind(m, other) && older(other, m) && !disjoint(m.Spec.Target.Selector, other.Spec.Target.Selector) {
			return other.Name, nil
		}
	}
	return "", nil
}

func sameKind(a, b *v1alpha1.RestMapping) bool {
	return a.Spec.Target.Group == b.Spec.Target.Group && a.Spec.Target.Kind == b.Spec.Target.Kind
}

func older(a, b *v1alpha1.RestMapping) bool {
	if a.CreationTimestamp.Equal(&b.CreationTimestamp) {
		return a.UID < b.UID
	}
	return a.CreationTimestamp.Before(&b.CreationTimestamp)
}

// disjoint tells whether no object can match both selectors: some label would need two values. When in doubt it says
// no.
func disjoint(a, b *metav1.LabelSelector) bool {
	if a == nil || b == nil {
		return false
	}
	for key, value := range a.MatchLabels {
		if other, ok := b.MatchLabels[key]; ok && other != value {
			return true
		}
	}
	return false
}
