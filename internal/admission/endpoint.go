package admission

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/endpoints"
)

// Endpoints refuses endpoints of one kind from which no client could ever be made. Secrets and servers are not asked: they
// may come later.
type Endpoints[T client.Object] struct {
	Kind v1alpha1.EndpointKind
	// Spec gives what is judged of an endpoint.
	Spec func(T) v1alpha1.EndpointSpec
}

// RestEndpoints judges those of namespaces.
func RestEndpoints() Endpoints[*v1alpha1.RestEndpoint] {
	return Endpoints[*v1alpha1.RestEndpoint]{v1alpha1.KindRestEndpoint, func(e *v1alpha1.RestEndpoint) v1alpha1.EndpointSpec { return e.Spec }}
}

// ClusterRestEndpoints judges those of the cluster.
func ClusterRestEndpoints() Endpoints[*v1alpha1.ClusterRestEndpoint] {
	return Endpoints[*v1alpha1.ClusterRestEndpoint]{
		v1alpha1.KindClusterRestEndpoint,
		func(e *v1alpha1.ClusterRestEndpoint) v1alpha1.EndpointSpec { return e.Spec.EndpointSpec },
	}
}

// ValidateCreate implements admission.Validator.
func (v Endpoints[T]) ValidateCreate(_ context.Context, e T) (admission.Warnings, error) {
	return nil, v.judge(e)
}

// ValidateUpdate implements admission.Validator.
func (v Endpoints[T]) ValidateUpdate(_ context.Context, before, e T) (admission.Warnings, error) {
	if e.GetDeletionTimestamp() != nil || equality.Semantic.DeepEqual(v.Spec(before), v.Spec(e)) {
		return nil, nil
	}
	return nil, v.judge(e)
}

// ValidateDelete implements admission.Validator.
func (v Endpoints[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) { return nil, nil }

func (v Endpoints[T]) judge(e T) error {
	ref := endpoints.Ref{Kind: v.Kind, Namespace: e.GetNamespace(), Name: e.GetName()}
	err := endpoints.Check(ref, v.Spec(e))
	if err == nil {
		return nil
	}
	wrong := &field.Error{Type: field.ErrorTypeInvalid, Field: "spec", BadValue: field.OmitValueType{}, Detail: err.Error()}
	if invalid := (*endpoints.InvalidEndpointError)(nil); errors.As(err, &invalid) {
		wrong.Field, wrong.Detail = invalid.Field, invalid.Message
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: v1alpha1.Group, Kind: string(v.Kind)}, e.GetName(), field.ErrorList{wrong})
}
