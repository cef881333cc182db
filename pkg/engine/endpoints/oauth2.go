package endpoints

import (
	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/httpapi"
)

// oauth2Of gives the literal parts.
func oauth2Of(auth *v1alpha1.OAuth2Auth) *httpapi.OAuth2 {
	return &httpapi.OAuth2{
		TokenURL: auth.TokenURL, ClientID: auth.ClientID, Scopes: auth.Scopes, Audience: auth.Audience,
		Parameters: parameters(auth.EndpointParams), Style: httpapi.AuthStyle(auth.AuthStyle),
	}
}

func oauth2Uses(auth *v1alpha1.OAuth2Auth, into *httpapi.OAuth2) []secretUse {
	uses := []secretUse{{
		"spec.auth.oauth2.clientSecretRef", auth.ClientSecretRef,
		func(s httpapi.Secret) { into.ClientSecret = s },
	}}
	if auth.ClientIDRef != nil {
		uses = append(uses, secretUse{
			"spec.auth.oauth2.clientIDRef", *auth.ClientIDRef,
			func(s httpapi.Secret) { into.ClientIDSecret = s },
		})
	}
	return uses
}
