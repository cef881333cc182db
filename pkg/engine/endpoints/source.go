package endpoints

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/httpapi"
)

// source is where a secret value is: exactly one is set.
type source struct {
	secret types.NamespacedName
	file   string
}

// sourceOf says where a reference leads. The namespace is never chosen by who writes the endpoint.
func (r *Registry) sourceOf(owner Ref, ref v1alpha1.SecretKeyReference) source {
	if ref.File != "" {
		return source{file: ref.File}
	}
	return source{secret: types.NamespacedName{Namespace: owner.secretsNamespace(r.operatorNamespace), Name: ref.Name}}
}

func (r *Registry) version(ctx context.Context, s source) (string, error) {
	if s.file != "" {
		return r.files.Version(s.file)
	}
	return r.secrets.Version(ctx, s.secret.Namespace, s.secret.Name)
}

// value reads what a reference leads to. A file is the administrator's: whoever may write a RestEndpoint must not learn
// what is in one by sending it to a server of theirs.
func (r *Registry) value(ctx context.Context, owner Ref, use secretUse) (httpapi.Secret, error) {
	s := r.sourceOf(owner, use.ref)
	if s.file == "" {
		return r.secrets.Get(ctx, s.secret.Namespace, s.secret.Name, use.ref.Key)
	}
	if owner.Kind != KindClusterRestEndpoint {
		return httpapi.Secret{}, &InvalidEndpointError{Endpoint: owner, Field: use.field + ".file", Message: "only a ClusterRestEndpoint reads files"}
	}
	return r.files.Get(s.file)
}
