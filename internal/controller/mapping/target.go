package mapping

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine"
	"github.com/restmapping/operator/pkg/mapping"
)

// kindIndex finds CRDs by group and kind.
const kindIndex = "spec.kind"

// target is the kind that a mapping serves, as the cluster has it.
type target struct {
	name        string
	gvr         schema.GroupVersionResource
	uid         string
	generation  int64
	terminating bool
	// served are the versions that the CRD serves.
	served []string
	schema mapping.TargetSchema
	// problem is why the mapping cannot serve it; nil when it can.
	problem *problem
}

type problem struct{ reason, message string }

// target finds the kind that a mapping serves, and checks that it can hold what the operator reports.
func (r *Reconciler) target(ctx context.Context, m *v1alpha1.RestMapping) (target, error) {
	t, err := r.kind(ctx, m.Spec.Target)
	if err != nil || t.problem != nil {
		return t, err
	}
	if missing := mapping.CheckTarget(t.schema); len(missing) > 0 {
		t.problem = &problem{v1alpha1.ReasonStatusSchemaMissing, fmt.Sprintf(
			"version %s of CustomResourceDefinition %s cannot hold what the operator reports: %s; docs/spec/restmapping.md has the block to paste",
			t.gvr.Version, t.name, strings.Join(missing, "; "))}
	}
	return t, nil
}

// kind finds the CRD of a kind in the cache and, when it has changed, its schema at the API server.
func (r *Reconciler) kind(ctx context.Context, want v1alpha1.Target) (target, error) {
	list := &apiextensionsv1.CustomResourceDefinitionList{}
	if err := r.Client.List(ctx, list, client.MatchingFields{kindIndex: kindKey(want.Group, want.Kind)}); err != nil {
		return target{}, fmt.Errorf("list CustomResourceDefinitions: %w", err)
	}
	if len(list.Items) == 0 {
		return target{problem: &problem{v1alpha1.ReasonCRDNotFound, fmt.Sprintf(
			"no CustomResourceDefinition has group %s and kind %s; apply it, and the mapping starts by itself", want.Group, want.Kind)}}, nil
	}
	crd := &list.Items[0]
	t := target{
		name: crd.Name, gvr: schema.GroupVersionResource{Group: want.Group, Version: want.Version, Resource: crd.Spec.Names.Plural},
		uid: string(crd.UID), generation: crd.Generation, terminating: crd.DeletionTimestamp != nil, served: servedBy(crd),
	}
	t.schema.Namespaced = crd.Spec.Scope == apiextensionsv1.NamespaceScoped
	if t.problem = servable(crd, want); t.problem != nil {
		return t, nil
	}
	return r.withSchema(ctx, crd.Name, t)
}

func servable(crd *apiextensionsv1.CustomResourceDefinition, want v1alpha1.Target) *problem {
	if crd.DeletionTimestamp != nil {
		return &problem{v1alpha1.ReasonCRDTerminating, fmt.Sprintf(
			"CustomResourceDefinition %s is being deleted, and waits for its custom resources; their objects outside are not deleted because of that", crd.Name)}
	}
	served := servedBy(crd)
	if slices.Contains(served, want.Version) {
		return nil
	}
	return &problem{v1alpha1.ReasonVersionNotServed, fmt.Sprintf(
		"CustomResourceDefinition %s does not serve version %s, only %s; correct spec.target.version", crd.Name, want.Version, strings.Join(served, ", "))}
}

func servedBy(crd *apiextensionsv1.CustomResourceDefinition) []string {
	var served []string
	for _, v := range crd.Spec.Versions {
		if v.Served {
			served = append(served, v.Name)
		}
	}
	return served
}

// anyVersion is the target in a version that can be listed: the mapping's own, or another when that is no longer served.
func (t target) anyVersion() schema.GroupVersionResource {
	gvr := t.gvr
	if len(t.served) > 0 && !slices.Contains(t.served, gvr.Version) {
		gvr.Version = t.served[0]
	}
	return gvr
}

// withSchema reads the schema once for each state of the CRD.
func (r *Reconciler) withSchema(ctx context.Context, name string, t target) (target, error) {
	if known, ok := r.programs.schema(t); ok {
		t.schema = known
	} else {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := r.Live.Get(ctx, client.ObjectKey{Name: name}, crd); err != nil {
			return t, fmt.Errorf("get CustomResourceDefinition %s: %w", name, err)
		}
		t.schema = schemaOf(crd, t.gvr.Version)
		r.programs.keepSchema(t)
	}
	return t, nil
}

func schemaOf(crd *apiextensionsv1.CustomResourceDefinition, version string) mapping.TargetSchema {
	out := mapping.TargetSchema{Namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped}
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		if v.Name != version {
			continue
		}
		out.StatusSubresource = v.Subresources != nil && v.Subresources.Status != nil
		if v.Schema != nil {
			out.Schema = v.Schema.OpenAPIV3Schema
		}
	}
	return out
}

// StripSchemas is the cache's transform for CRDs: their schemas are large, and are read one at a time when needed.
func StripSchemas(object any) (any, error) {
	crd, ok := object.(*apiextensionsv1.CustomResourceDefinition)
	if !ok {
		return object, nil
	}
	crd.ManagedFields, crd.Annotations = nil, nil
	for i := range crd.Spec.Versions {
		v := &crd.Spec.Versions[i]
		v.Schema, v.AdditionalPrinterColumns = nil, nil
	}
	return crd, nil
}

func kindKey(group, kind string) string { return kind + "." + group }

// specOf is what the engine is to run.
func (r *Reconciler) specOf(ctx context.Context, c candidate) (engine.Spec, error) {
	m, t := c.m, c.target
	spec := engine.Spec{
		Name: m.Name, GVR: t.gvr, Selector: selectorOf(m), Namespaced: t.schema.Namespaced, Program: c.program,
		Incarnation:  t.incarnation(),
		Settled:      m.Status.AcceptedGeneration == m.Generation,
		HeldSince:    heldSince(m),
		Acknowledged: m.Annotations[v1alpha1.AcknowledgeDeletionsAnnotation],
	}
	for _, ref := range c.references {
		spec.References = append(spec.References, engine.ReferenceSpec{
			Input: ref.declared.Name, GVR: ref.gvr, Namespaced: ref.schema.Namespaced, Incarnation: ref.incarnation(),
		})
	}
	var err error
	spec.Referrers, err = r.referrers(ctx, m)
	return spec, err
}

// incarnation tells one state of a CRD from another. A watch that stood before a change of the schema goes on giving
// objects as the schema was: it is made anew.
func (t target) incarnation() string { return fmt.Sprintf("%s/%d", t.uid, t.generation) }

func heldSince(m *v1alpha1.RestMapping) string {
	if m.Status.HeldDeletions == nil {
		return ""
	}
	return m.Status.HeldDeletions.Since
}

// selectorOf is the target's selector as the API server takes it: empty for all. One that cannot be used does not
// compile, and so is never asked for.
func selectorOf(m *v1alpha1.RestMapping) string {
	selector, err := metav1.LabelSelectorAsSelector(m.Spec.Target.Selector)
	if err != nil || m.Spec.Target.Selector == nil {
		return ""
	}
	return selector.String()
}
