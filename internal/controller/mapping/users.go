package mapping

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/internal/controller/endpoint"
	"github.com/restmapping/operator/pkg/engine"
	"github.com/restmapping/operator/pkg/engine/endpoints"
	"github.com/restmapping/operator/pkg/lifecycle"
)

// UsersOf finds the custom resources that have objects at an endpoint, whether or not their mappings run now.
func UsersOf(r *Reconciler, eng *engine.Engine, registry *endpoints.Registry) endpoint.Users {
	return users{reconciler: r, engine: eng, registry: registry}
}

type users struct {
	reconciler *Reconciler
	engine     *engine.Engine
	registry   *endpoints.Registry
}

// Of implements endpoint.Users.
func (u users) Of(ctx context.Context, ref endpoints.Ref, identity string) (endpoint.Use, error) {
	list := &v1alpha1.RestMappingList{}
	if err := u.reconciler.Client.List(ctx, list); err != nil {
		return endpoint.Use{}, fmt.Errorf("list RestMappings: %w", err)
	}
	use := endpoint.Use{}
	for i := range list.Items {
		m := &list.Items[i]
		if m.Spec.Endpoint.Kind != ref.Kind {
			continue
		}
		found, err := u.ofMapping(ctx, m, ref)
		if err != nil {
			return use, err
		}
		for _, held := range found {
			if u.has(ctx, held, ref, identity) {
				use.Add(m.Spec.Target.Kind, held.Key, held.Endpoint != "" && held.Endpoint != identity)
			}
		}
	}
	return use, nil
}

// has tells whether a custom resource needs the endpoint: it names it, or its object is at that server and the endpoint
// that it names now leads elsewhere.
func (u users) has(ctx context.Context, held engine.Held, ref endpoints.Ref, identity string) bool {
	if held.Name == ref.Name {
		return true
	}
	if held.Endpoint != identity {
		return false
	}
	named := ref
	named.Name = held.Name
	other, err := u.registry.IdentityOf(ctx, named)
	return held.Name == "" || err != nil || other != identity
}

// ofMapping asks the running mapping, and the API server for one that does not run.
func (u users) ofMapping(ctx context.Context, m *v1alpha1.RestMapping, ref endpoints.Ref) ([]engine.Held, error) {
	if found, synced := u.engine.Held(ctx, m.Name, ref.Namespace); synced {
		return found, nil
	}
	if m.Status.AcceptedGeneration == 0 {
		return nil, nil
	}
	if rival, err := u.reconciler.rival(ctx, m); err != nil || rival != "" {
		return nil, err
	}
	t, err := u.reconciler.target(ctx, m)
	if err != nil || t.problem != nil && t.problem.reason == v1alpha1.ReasonCRDNotFound {
		return nil, err
	}
	var found []engine.Held
	for _, namespace := range u.reconciler.namespaces(t) {
		if t.schema.Namespaced && ref.Namespace != "" {
			if namespace != "" && namespace != ref.Namespace {
				continue
			}
			namespace = ref.Namespace
		}
		some, err := u.listed(ctx, m, t, namespace)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	return found, nil
}

func (u users) listed(ctx context.Context, m *v1alpha1.RestMapping, t target, namespace string) ([]engine.Held, error) {
	options := metav1.ListOptions{Limit: pageSize, LabelSelector: selectorOf(m)}
	var found []engine.Held
	for {
		page, err := u.reconciler.Dynamic.Resource(t.anyVersion()).Namespace(namespace).List(ctx, options)
		if apierrors.IsNotFound(err) {
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("look for custom resources of RestMapping %s, which does not run: %w", m.Name, err)
		}
		for i := range page.Items {
			if slices.Contains(page.Items[i].GetFinalizers(), v1alpha1.Finalizer) {
				found = append(found, heldBy(m, &page.Items[i]))
			}
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return found, nil
		}
	}
}

// heldBy: with an expression instead of a name it is only known where the object is.
func heldBy(m *v1alpha1.RestMapping, object *unstructured.Unstructured) engine.Held {
	held := engine.Held{Name: m.Spec.Endpoint.Name}
	held.Key.Namespace, held.Key.Name = object.GetNamespace(), object.GetName()
	if record, err := lifecycle.DecodeRecord(object.GetAnnotations()[v1alpha1.RecordAnnotation]); err == nil && record != nil {
		held.Endpoint = record.Endpoint
	}
	return held
}
