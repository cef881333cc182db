package mapping

import (
	"context"
	"fmt"
	"slices"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/outputs"
	"github.com/restmapping/operator/pkg/mapping"
)

// need is one right that the operator must have for a kind.
type need struct{ verb, subresource string }

// needs are the rights for a managed kind. The operator never creates, replaces or deletes a custom resource.
var needs = []need{{"get", ""}, {"list", ""}, {"watch", ""}, {"patch", ""}, {"patch", "status"}}

// referenceNeeds are the rights for a kind that is only referred to.
var referenceNeeds = []need{{"list", ""}, {"watch", ""}}

// denial is what the operator may not do, as "verb resource", and the rules that would allow it.
type denial struct{ rights, rules []string }

// deniedOf asks for the rights for a mapping's own kind, and for those that it refers to.
func (r *Reconciler) deniedOf(ctx context.Context, t target, references []reference) (denial, error) {
	var d denial
	var err error
	if d.rights, err = r.denied(ctx, t, needs); err != nil {
		return d, err
	}
	if len(d.rights) > 0 {
		d.rules = append(d.rules, rule(t))
	}
	for _, ref := range references {
		if ref.problem != nil {
			continue
		}
		missing, err := r.denied(ctx, ref.target, referenceNeeds)
		if err != nil {
			return d, err
		}
		if len(missing) > 0 {
			d.rights, d.rules = append(d.rights, missing...), append(d.rules, referenceRule(ref.target))
		}
	}
	return d, nil
}

// denied asks for each right and gives those that are missing.
func (r *Reconciler) denied(ctx context.Context, t target, needs []need) ([]string, error) {
	var missing []string
	for _, namespace := range r.namespaces(t) {
		for _, n := range needs {
			allowed, err := r.allowed(ctx, t, namespace, n)
			if err != nil {
				return nil, err
			}
			if !allowed {
				missing = append(missing, n.describe(t, namespace))
			}
		}
	}
	return missing, nil
}

// deniedOutputs are the kinds of output that the operator may not write, with the rules that would let it.
func (r *Reconciler) deniedOutputs(ctx context.Context, t target, program *mapping.Program) (missing, rules []string, err error) {
	for _, kind := range outputKinds(program) {
		at := target{gvr: corev1.SchemeGroupVersion.WithResource(outputs.Resource(kind)), schema: t.schema}
		before := len(missing)
		for _, namespace := range r.namespaces(at) {
			for _, verb := range outputs.Verbs() {
				n := need{verb, ""}
				allowed, err := r.allowed(ctx, at, namespace, n)
				if err != nil {
					return nil, nil, err
				}
				if !allowed {
					missing = append(missing, n.describe(at, namespace))
				}
			}
		}
		if len(missing) > before {
			rules = append(rules, outputs.Rule(kind)+" (chart value "+outputs.ChartValue(kind)+")")
		}
	}
	return missing, rules, nil
}

func outputKinds(program *mapping.Program) []v1alpha1.OutputKind {
	var kinds []v1alpha1.OutputKind
	for _, output := range program.Outputs() {
		if !slices.Contains(kinds, output.Kind) {
			kinds = append(kinds, output.Kind)
		}
	}
	return kinds
}

// namespaces are those whose custom resources are served; "" for all, and for a kind that knows none.
func (r *Reconciler) namespaces(t target) []string {
	if len(r.Namespaces) == 0 || !t.schema.Namespaced {
		return []string{""}
	}
	return r.Namespaces
}

func (r *Reconciler) allowed(ctx context.Context, t target, namespace string, n need) (bool, error) {
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Namespace: namespace, Verb: n.verb, Group: t.gvr.Group, Version: t.gvr.Version, Resource: t.gvr.Resource, Subresource: n.subresource,
		},
	}}
	got, err := r.Access.Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask for the right to %s: %w", n.describe(t, namespace), err)
	}
	return got.Status.Allowed, nil
}

func (n need) describe(t target, namespace string) string {
	text := n.verb + " " + t.gvr.Resource
	if n.subresource != "" {
		text += "/" + n.subresource
	}
	if namespace != "" {
		text += " in namespace " + namespace
	}
	return text
}

// rule is the RBAC rule that gives all rights for a kind.
func rule(t target) string {
	return fmt.Sprintf(`{apiGroups: [%q], resources: [%q, %q], verbs: ["get", "list", "watch", "patch", "update"]}`,
		t.gvr.Group, t.gvr.Resource, t.gvr.Resource+"/status")
}

// referenceRule is the RBAC rule that lets a kind be referred to.
func referenceRule(t target) string {
	return fmt.Sprintf(`{apiGroups: [%q], resources: [%q], verbs: ["get", "list", "watch"]}`, t.gvr.Group, t.gvr.Resource)
}
