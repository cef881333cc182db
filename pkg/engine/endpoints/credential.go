package endpoints

import (
	"fmt"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/httpapi"
)

// secretUse is one reference to a secret value in an endpoint, and where its value goes.
type secretUse struct {
	field string
	ref   v1alpha1.SecretKeyReference
	put   func(httpapi.Secret)
}

// credentialOf gives a credential with its literal parts set, and the references that fill the rest.
func credentialOf(auth *v1alpha1.Auth) (*httpapi.Credential, []secretUse) {
	credential := &httpapi.Credential{}
	switch {
	case auth == nil:
		return credential, nil
	case auth.Bearer != nil:
		credential.Bearer = &httpapi.Bearer{}
		return credential, []secretUse{{
			"spec.auth.bearer.tokenRef", auth.Bearer.TokenRef,
			func(s httpapi.Secret) { credential.Bearer.Token = s },
		}}
	case auth.Basic != nil:
		credential.Basic = &httpapi.Basic{Username: httpapi.NewSecret(auth.Basic.Username)}
		return credential, basicUses("spec.auth.basic", auth.Basic, credential.Basic)
	case auth.APIKey != nil:
		credential.APIKey = &httpapi.APIKey{In: httpapi.APIKeyLocation(auth.APIKey.In), Name: auth.APIKey.Name}
		return credential, []secretUse{{
			"spec.auth.apiKey.valueRef", auth.APIKey.ValueRef,
			func(s httpapi.Secret) { credential.APIKey.Value = s },
		}}
	case auth.OAuth2 != nil:
		credential.OAuth2 = oauth2Of(auth.OAuth2)
		return credential, oauth2Uses(auth.OAuth2, credential.OAuth2)
	case auth.Session != nil:
		credential.Session = sessionOf(auth.Session)
		return credential, sessionUses(auth.Session, credential.Session)
	case auth.ServiceAccountToken != nil:
		// Its source is set by the registry: it is no Secret.
		return credential, nil
	default:
		credential.Headers = make([]httpapi.SecretHeader, len(auth.Headers))
		return credential, headerUses(auth.Headers, credential.Headers)
	}
}

func basicUses(field string, basic *v1alpha1.BasicAuth, into *httpapi.Basic) []secretUse {
	uses := []secretUse{{
		field + ".passwordRef", basic.PasswordRef,
		func(s httpapi.Secret) { into.Password = s },
	}}
	if basic.UsernameRef != nil {
		uses = append(uses, secretUse{
			field + ".usernameRef", *basic.UsernameRef,
			func(s httpapi.Secret) { into.Username = s },
		})
	}
	return uses
}

func headerUses(headers []v1alpha1.SecretHeader, into []httpapi.SecretHeader) []secretUse {
	uses := make([]secretUse, 0, len(headers))
	for i, header := range headers {
		into[i] = httpapi.SecretHeader{Name: header.Name, Prefix: header.Prefix}
		uses = append(uses, secretUse{
			fmt.Sprintf("spec.auth.headers[%d].valueRef", i), header.ValueRef,
			func(s httpapi.Secret) { into[i].Value = s },
		})
	}
	return uses
}
