package endpoints

import (
	"cmp"
	"fmt"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/httpapi"
)

// sessionOf gives the literal parts.
func sessionOf(auth *v1alpha1.SessionAuth) *httpapi.Session {
	s := &httpapi.Session{
		Method: string(cmp.Or(auth.Login.Method, v1alpha1.SessionPost)),
		Path:   auth.Login.Path,
		Form:   auth.Login.Encoding == v1alpha1.SessionForm,
		Token:  httpapi.SessionSource(auth.Token.From),
		Cookie: auth.Token.Cookie,
	}
	for _, field := range auth.Login.Fields {
		f := httpapi.SessionField{Name: field.Name, Hidden: field.ValueRef != nil}
		if field.Value != nil {
			f.Literal = *field.Value
		}
		s.Fields = append(s.Fields, f)
	}
	if auth.Token.Header != nil {
		s.Header = &httpapi.SessionHeader{Name: auth.Token.Header.Name, Prefix: auth.Token.Header.Prefix}
	}
	if auth.CSRF != nil {
		s.CSRF = &httpapi.SessionCSRF{From: httpapi.SessionSource(auth.CSRF.From), Header: auth.CSRF.Header}
	}
	for _, status := range auth.ExpiredStatus {
		s.ExpiredStatus = append(s.ExpiredStatus, int(status))
	}
	if auth.TTL != nil {
		s.TTL = auth.TTL.Duration
	}
	return s
}

func sessionUses(auth *v1alpha1.SessionAuth, into *httpapi.Session) []secretUse {
	var uses []secretUse
	for i, field := range auth.Login.Fields {
		if field.ValueRef != nil {
			uses = append(uses, secretUse{
				fmt.Sprintf("spec.auth.session.login.fields[%d].valueRef", i), *field.ValueRef,
				func(s httpapi.Secret) { into.Fields[i].Secret = s },
			})
		}
	}
	return uses
}
