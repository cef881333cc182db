package mapping

import (
	"context"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/mapping"
)

// reference is a kind that a mapping refers to, as the cluster has it.
type reference struct {
	target
	declared *v1alpha1.Reference
	field    string
}

// references finds the kinds that a mapping refers to. What is missing stands in the reference's problem.
func (r *Reconciler) references(ctx context.Context, m *v1alpha1.RestMapping) ([]reference, error) {
	found := make([]reference, 0, len(m.Spec.References))
	for i := range m.Spec.References {
		declared := &m.Spec.References[i]
		want := v1alpha1.Target{Group: declared.Target.Group, Version: declared.Target.Version, Kind: declared.Target.Kind}
		t, err := r.kind(ctx, want)
		if err != nil {
			return nil, err
		}
		if t.problem != nil && t.problem.reason == v1alpha1.ReasonCRDTerminating {
			// Its objects are still there, and those that refer to them have to let theirs go.
			if t, err = r.withSchema(ctx, t.name, withoutProblem(t)); err != nil {
				return nil, err
			}
		}
		if t.problem != nil {
			t.gvr.Resource, t.gvr.Group, t.gvr.Version = "", "", ""
		}
		found = append(found, reference{target: t, declared: declared, field: fmt.Sprintf("spec.references[%d].target", i)})
	}
	return found, nil
}

func withoutProblem(t target) target {
	t.problem = nil
	return t
}

// missing gives the first reference whose kind is not there, nil when all are.
func missing(references []reference) *reference {
	for i := range references {
		if references[i].problem != nil {
			return &references[i]
		}
	}
	return nil
}

// schemas are what expressions are typed by. A mapping that was accepted once goes on without a kind that has gone since:
// its custom resources say that they wait, and can still be deleted.
func schemas(m *v1alpha1.RestMapping, references []reference) []mapping.ReferenceSchema {
	accepted := m.Status.AcceptedGeneration == m.Generation
	out := make([]mapping.ReferenceSchema, len(references))
	for i, ref := range references {
		out[i] = mapping.ReferenceSchema{Name: ref.declared.Name, Namespaced: ref.schema.Namespaced, Schema: ref.schema.Schema}
		if ref.problem != nil {
			out[i].Schema = nil
			if !accepted {
				out[i].Problem = ref.problem.message
			}
		}
	}
	return out
}

// referrers gives the mappings whose custom resources may refer to those of this one and hold objects outside. One that
// was never accepted, or whose kind is gone, holds none.
func (r *Reconciler) referrers(ctx context.Context, m *v1alpha1.RestMapping) ([]string, error) {
	list := &v1alpha1.RestMappingList{}
	if err := r.Client.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list RestMappings: %w", err)
	}
	var names []string
	for i := range list.Items {
		other := &list.Items[i]
		if !refersTo(other, m) || other.Status.AcceptedGeneration == 0 {
			continue
		}
		serves, err := r.mayServe(ctx, other)
		if err != nil {
			return nil, err
		}
		if serves {
			names = append(names, other.Name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// mayServe tells that the mapping's kind exists, and that no older mapping serves it.
func (r *Reconciler) mayServe(ctx context.Context, m *v1alpha1.RestMapping) (bool, error) {
	crds := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := r.Client.List(ctx, crds, client.MatchingFields{kindIndex: kindKey(m.Spec.Target.Group, m.Spec.Target.Kind)}); err != nil {
		return false, fmt.Errorf("list CustomResourceDefinitions: %w", err)
	}
	if len(crds.Items) == 0 {
		return false, nil
	}
	rival, err := r.rival(ctx, m)
	return rival == "", err
}

// refersTo tells that custom resources of one mapping may keep those of another from being deleted outside.
func refersTo(from, to *v1alpha1.RestMapping) bool {
	return slices.ContainsFunc(from.Spec.References, func(ref v1alpha1.Reference) bool {
		blocks := ref.BlockDeletion == nil || *ref.BlockDeletion
		return blocks && ref.Target.Group == to.Spec.Target.Group && ref.Target.Kind == to.Spec.Target.Kind
	})
}

// names tells that a mapping names a kind, as the one that it serves or as one that it refers to.
func names(m *v1alpha1.RestMapping, group, kind string) bool {
	return m.Spec.Target.Group == group && m.Spec.Target.Kind == kind ||
		slices.ContainsFunc(m.Spec.References, func(ref v1alpha1.Reference) bool {
			return ref.Target.Group == group && ref.Target.Kind == kind
		})
}
