package mapping

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/restmapping/operator/api/v1alpha1"
)

// Violations gives the messages of the rules that a custom resource breaks which is about to be stored, each with the mapping
// that says so. It is asked of the generation that was accepted, by every replica; a kind that no accepted mapping serves in this
// version breaks none. A rule that cannot be evaluated is a warning: the pass over the custom resource says more.
func (r *Reconciler) Violations(ctx context.Context, object *unstructured.Unstructured) (broken, warnings []string, err error) {
	if namespace := object.GetNamespace(); namespace != "" && len(r.Namespaces) > 0 && !slices.Contains(r.Namespaces, namespace) {
		return nil, nil, nil
	}
	list := &v1alpha1.RestMappingList{}
	if err := r.Client.List(ctx, list); err != nil {
		return nil, nil, fmt.Errorf("list RestMappings: %w", err)
	}
	for i := range list.Items {
		m := accepted(&list.Items[i])
		if m == nil || !serves(m, object) {
			continue
		}
		c, err := r.judge(ctx, m, newReport(m))
		if err != nil {
			return nil, nil, err
		}
		if c.program == nil {
			continue
		}
		violations, err := c.program.SelfRules(ctx, object.Object)
		if err != nil {
			warnings = append(warnings, fmt.Sprintf("RestMapping %s: %v", m.Name, err))
		}
		for _, v := range violations {
			broken = append(broken, fmt.Sprintf("%s (%s, RestMapping %s)", v.Message, v.Reason, m.Name))
		}
	}
	return broken, warnings, nil
}

// accepted is the generation of a mapping that serves; nil when none does, when it is not known, or when none of its rules could
// be broken.
func accepted(m *v1alpha1.RestMapping) *v1alpha1.RestMapping {
	if m.Status.AcceptedGeneration == 0 || m.DeletionTimestamp != nil {
		return nil
	}
	if m.Status.AcceptedGeneration != m.Generation {
		m = former(m)
	}
	if m == nil || len(m.Spec.Rules) == 0 {
		return nil
	}
	return m
}

// serves tells that a mapping serves a custom resource, in the version in which it is written.
func serves(m *v1alpha1.RestMapping, object *unstructured.Unstructured) bool {
	kind, target := object.GroupVersionKind(), m.Spec.Target
	if kind.Group != target.Group || kind.Kind != target.Kind || kind.Version != target.Version {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(target.Selector)
	return err == nil && (target.Selector == nil || selector.Matches(labels.Set(object.GetLabels())))
}
