package endpoint

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/endpoints"
)

// kind is all that differs between the two kinds of endpoint.
type kind[T client.Object] struct {
	name   v1alpha1.EndpointKind
	empty  func() T
	spec   func(T) *v1alpha1.EndpointSpec
	status func(T) *v1alpha1.EndpointStatus
}

func namespaced() kind[*v1alpha1.RestEndpoint] {
	return kind[*v1alpha1.RestEndpoint]{
		name:   endpoints.KindRestEndpoint,
		empty:  func() *v1alpha1.RestEndpoint { return &v1alpha1.RestEndpoint{} },
		spec:   func(e *v1alpha1.RestEndpoint) *v1alpha1.EndpointSpec { return &e.Spec },
		status: func(e *v1alpha1.RestEndpoint) *v1alpha1.EndpointStatus { return &e.Status },
	}
}

func clusterScoped() kind[*v1alpha1.ClusterRestEndpoint] {
	return kind[*v1alpha1.ClusterRestEndpoint]{
		name:   endpoints.KindClusterRestEndpoint,
		empty:  func() *v1alpha1.ClusterRestEndpoint { return &v1alpha1.ClusterRestEndpoint{} },
		spec:   func(e *v1alpha1.ClusterRestEndpoint) *v1alpha1.EndpointSpec { return &e.Spec.EndpointSpec },
		status: func(e *v1alpha1.ClusterRestEndpoint) *v1alpha1.EndpointStatus { return &e.Status },
	}
}
