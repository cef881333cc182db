package endpoints

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/httpapi"
)

// material is all of an endpoint that comes from Secrets.
type material struct {
	credential  *httpapi.Credential
	certificate *httpapi.ClientCertificate
	proxy       *httpapi.Proxy
}

// materialOf gives the material with its literal parts set, and every reference to a Secret that the endpoint makes.
func materialOf(spec v1alpha1.EndpointSpec) (material, []secretUse) {
	var m material
	var uses []secretUse
	m.credential, uses = credentialOf(spec.Auth)
	if spec.TLS != nil && spec.TLS.ClientCertificate != nil {
		m.certificate = &httpapi.ClientCertificate{}
		uses = append(uses, certificateUses(spec.TLS.ClientCertificate.SecretRef, m.certificate)...)
	}
	if spec.Proxy != nil {
		m.proxy = &httpapi.Proxy{URL: spec.Proxy.URL}
		if basic := spec.Proxy.Basic; basic != nil {
			m.proxy.Basic = &httpapi.Basic{Username: httpapi.NewSecret(basic.Username)}
			uses = append(uses, basicUses("spec.proxy.basic", basic, m.proxy.Basic)...)
		}
	}
	return m, uses
}

func certificateUses(ref v1alpha1.SecretReference, into *httpapi.ClientCertificate) []secretUse {
	const field = "spec.tls.clientCertificate.secretRef"
	return []secretUse{
		{
			field,
			v1alpha1.SecretKeyReference{Name: ref.Name, Key: corev1.TLSCertKey},
			func(s httpapi.Secret) { into.Certificate = s },
		},
		{
			field,
			v1alpha1.SecretKeyReference{Name: ref.Name, Key: corev1.TLSPrivateKeyKey},
			func(s httpapi.Secret) { into.Key = s },
		},
	}
}

// readMaterial reads every Secret that the endpoint refers to.
func (r *Registry) readMaterial(ctx context.Context, d definition) (material, error) {
	m, uses := materialOf(d.spec)
	namespace := d.ref.secretsNamespace(r.operatorNamespace)
	for _, use := range uses {
		value, err := r.secrets.Get(ctx, namespace, use.ref.Name, use.ref.Key)
		if err != nil {
			return material{}, fmt.Errorf("%s: %s: %w", d.ref, use.field, err)
		}
		use.put(value)
	}
	return m, nil
}
