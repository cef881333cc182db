package endpoints

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/tokens"
	"github.com/restmapping/operator/pkg/engine/vault"
	"github.com/restmapping/operator/pkg/httpapi"
)

// material is all of an endpoint that is secret.
type material struct {
	credential  *httpapi.Credential
	certificate *httpapi.ClientCertificate
	proxy       *httpapi.Proxy
	// vaultToken is how the endpoint is known to Vault, and vaulted what was read there.
	vaultToken *httpapi.Secret
	vaulted    *vaulted
}

// materialOf gives the material with its literal parts set, and every reference to a secret value that the endpoint makes.
func materialOf(spec v1alpha1.EndpointSpec) (material, []secretUse) {
	m := material{vaultToken: &httpapi.Secret{}}
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
	if spec.Vault != nil && spec.Vault.TokenRef != nil {
		uses = append(uses, secretUse{
			"spec.vault.tokenRef", *spec.Vault.TokenRef,
			func(s httpapi.Secret) { *m.vaultToken = s },
		})
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

// readMaterial reads every secret value that the endpoint refers to.
// known is the client of Vault that there is already, or nil.
func (r *Registry) readMaterial(ctx context.Context, d definition, known *vault.Client) (material, error) {
	m, uses := materialOf(d.spec)
	for _, use := range uses {
		if use.ref.Vault != nil {
			continue
		}
		value, err := r.value(ctx, d.ref, use)
		if err != nil {
			return material{}, fmt.Errorf("%s: %s: %w", d.ref, use.field, err)
		}
		use.put(value)
	}
	if d.spec.Auth != nil && d.spec.Auth.ServiceAccountToken != nil {
		m.credential.Token = r.tokenSource(d.ref, "spec.auth.serviceAccountToken", *d.spec.Auth.ServiceAccountToken)
	}
	var err error
	m.vaulted, err = r.readVault(ctx, d, fromVault(uses), *m.vaultToken, known)
	return m, err
}

// tokenSource gets tokens of a ServiceAccount of the endpoint's namespace, or of the operator's.
func (r *Registry) tokenSource(ref Ref, field string, auth v1alpha1.ServiceAccountTokenAuth) *httpapi.TokenSource {
	wish := tokens.Request{
		Namespace: ref.secretsNamespace(r.operatorNamespace), Account: auth.ServiceAccountName,
		Audiences: auth.Audiences, Seconds: auth.ExpirationSeconds,
	}
	return &httpapi.TokenSource{
		Name: fmt.Sprintf("%s: the token of ServiceAccount %s/%s", field, wish.Namespace, wish.Account),
		Fetch: func(ctx context.Context) (httpapi.Token, error) {
			token, err := r.tokens.Token(ctx, wish)
			if err != nil {
				return token, fmt.Errorf("%s: %w", field, err)
			}
			return token, nil
		},
	}
}
