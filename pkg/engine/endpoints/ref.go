package endpoints

import (
	"fmt"

	"github.com/restmapping/operator/api/v1alpha1"
)

// The kinds of endpoint.
const (
	KindRestEndpoint        = v1alpha1.KindRestEndpoint
	KindClusterRestEndpoint = v1alpha1.KindClusterRestEndpoint
)

// Ref is a reference to an endpoint.
type Ref struct {
	// Kind is RestEndpoint or ClusterRestEndpoint.
	Kind v1alpha1.EndpointKind
	// Namespace is that of the custom resource which uses the endpoint, empty for a cluster-scoped one. In what the
	// registry itself tells (Subscribe, Endpoint.Ref) it is the endpoint's own, empty for a ClusterRestEndpoint.
	Namespace string
	Name      string
}

// Own is the reference as the endpoint's own: a ClusterRestEndpoint is the same for every namespace.
func (r Ref) Own() Ref {
	if r.Kind == KindClusterRestEndpoint {
		r.Namespace = ""
	}
	return r
}

// String names the endpoint in messages: "RestEndpoint team-a/gitea".
func (r Ref) String() string {
	if r.Namespace == "" {
		return fmt.Sprintf("%s %s", r.Kind, r.Name)
	}
	return fmt.Sprintf("%s %s/%s", r.Kind, r.Namespace, r.Name)
}

// Facts are what expressions may know of an endpoint.
type Facts struct {
	Name   string
	Labels map[string]string
	Values map[string]string
}

// secretsNamespace is where the Secrets of an endpoint are.
func (r Ref) secretsNamespace(operatorNamespace string) string {
	if r.Kind == KindClusterRestEndpoint {
		return operatorNamespace
	}
	return r.Namespace
}

// definition is one endpoint as it stands in the cluster, whichever its kind.
type definition struct {
	ref        Ref
	uid        string
	generation int64
	labels     map[string]string
	spec       v1alpha1.EndpointSpec
	allowed    *v1alpha1.AllowedNamespaces
	// allowedCIDRs are those of a ClusterRestEndpoint.
	allowedCIDRs []v1alpha1.CIDR
	// deleting tells that it goes when the last custom resource does.
	deleting bool
}

func (d definition) facts() Facts {
	return Facts{Name: d.ref.Name, Labels: d.labels, Values: d.spec.Values}
}
