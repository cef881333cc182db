package httpapi

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"github.com/restmapping/operator/pkg/rest"
)

// Credential is how the endpoint knows the operator. At most one kind is set; the zero value is none.
type Credential struct {
	Bearer  *Bearer
	Basic   *Basic
	Headers []SecretHeader
	APIKey  *APIKey
	OAuth2  *OAuth2
	Session *Session
	Token   *TokenSource
}

// Bearer sends "Authorization: Bearer <token>" (RFC 6750).
type Bearer struct {
	Token Secret
}

// Basic sends "Authorization: Basic" (RFC 7617). The user name is hidden as well, because it may come from a Secret.
type Basic struct {
	Username Secret
	Password Secret
}

// SecretHeader is a header whose value is the literal prefix and then the secret.
type SecretHeader struct {
	Name   string
	Prefix string
	Value  Secret
}

// APIKeyLocation says where an API key goes.
type APIKeyLocation string

// The places of an API key.
const (
	InHeader APIKeyLocation = "Header"
	InQuery  APIKeyLocation = "Query"
	InCookie APIKeyLocation = "Cookie"
)

// APIKey is a key in a header, in the query or in a cookie.
type APIKey struct {
	In    APIKeyLocation
	Name  string
	Value Secret
}

// validate names the first thing that would make a request impossible or ambiguous.
func (c Credential) validate() error {
	if c.kinds() > 1 {
		return &ConfigError{Field: "credential", Message: "give exactly one of bearer, basic, headers, apiKey, oauth2, session and token"}
	}
	if c.Basic != nil && strings.Contains(c.Basic.Username.Reveal(), ":") {
		return &ConfigError{
			Field:   "credential.basic",
			Message: "the user name holds a colon, which basic authentication cannot carry",
		}
	}
	if c.APIKey != nil {
		if err := c.APIKey.validate(); err != nil {
			return err
		}
	}
	if c.OAuth2 != nil {
		if err := c.OAuth2.validate(); err != nil {
			return err
		}
	}
	if c.Session != nil {
		if err := c.Session.validate(); err != nil {
			return err
		}
	}
	for _, h := range c.headers() {
		if err := h.validate(c.field()); err != nil {
			return err
		}
	}
	return nil
}

func (k APIKey) validate() error {
	switch {
	case k.In != InHeader && k.In != InQuery && k.In != InCookie:
		return &ConfigError{Field: "credential.apiKey.in", Message: "must be Header, Query or Cookie"}
	case k.Name == "":
		return &ConfigError{Field: "credential.apiKey.name", Message: "must not be empty"}
	case k.Value.Empty():
		return &ConfigError{Field: "credential.apiKey", Message: "the secret is empty: put a value under the key it names"}
	case k.In == InCookie && !validHeaderName(k.Name):
		return &ConfigError{Field: "credential.apiKey.name", Message: "is not the name of a cookie (RFC 6265, section 4.1.1)"}
	case k.In == InCookie && !validCookieValue(k.Value.Reveal()):
		return &ConfigError{
			Field:   "credential.apiKey",
			Message: "the secret holds a character that a cookie cannot carry, such as a space, a comma, a semicolon, a quote or a line break",
		}
	}
	return nil
}

func (h SecretHeader) validate(field string) error {
	if problem := headerNameProblem(h.Name); problem != "" {
		return &ConfigError{Field: field, Message: fmt.Sprintf("header %q %s", h.Name, problem)}
	}
	if h.Value.Empty() {
		return &ConfigError{Field: field, Message: "the secret is empty: put a value under the key it names"}
	}
	if !validHeaderValue(h.Prefix + h.Value.Reveal()) {
		return &ConfigError{
			Field:   field,
			Message: "the secret holds a line break or a control character: write it without, for example with printf instead of echo",
		}
	}
	return nil
}

func (c Credential) kinds() int {
	count := 0
	for _, set := range []bool{
		c.Bearer != nil, c.Basic != nil, len(c.Headers) > 0, c.APIKey != nil, c.OAuth2 != nil, c.Session != nil, c.Token != nil,
	} {
		if set {
			count++
		}
	}
	return count
}

func (c Credential) field() string {
	switch {
	case c.Bearer != nil:
		return "credential.bearer"
	case c.Basic != nil:
		return "credential.basic"
	case c.APIKey != nil:
		return "credential.apiKey"
	default:
		return "credential.headers"
	}
}

// headers lists what the credential adds to the header, whatever its kind.
func (c Credential) headers() []SecretHeader {
	switch {
	case c.Bearer != nil:
		// An empty token is caught by validate: the prefix is not part of the value.
		return []SecretHeader{{Name: "Authorization", Prefix: "Bearer ", Value: c.Bearer.Token}}
	case c.Basic != nil:
		pair := c.Basic.Username.Reveal() + ":" + c.Basic.Password.Reveal()
		encoded := base64.StdEncoding.EncodeToString([]byte(pair))
		return []SecretHeader{{Name: "Authorization", Prefix: "Basic ", Value: NewSecret(encoded)}}
	case c.APIKey != nil && c.APIKey.In == InHeader:
		return []SecretHeader{{Name: c.APIKey.Name, Value: c.APIKey.Value}}
	default:
		return c.Headers
	}
}

// applyHeaders sets the credential's headers; whatever stood there under the same name is gone.
func (c Credential) applyHeaders(header http.Header) {
	for _, h := range c.headers() {
		deleteHeader(header, h.Name)
		header.Set(h.Name, h.Prefix+h.Value.Reveal())
	}
	if c.APIKey != nil && c.APIKey.In == InCookie {
		setCookie(header, c.APIKey.Name, c.APIKey.Value.Reveal())
	}
}

// query is what the credential adds to the query.
func (c Credential) query() []rest.Parameter {
	if c.APIKey == nil || c.APIKey.In != InQuery {
		return nil
	}
	return []rest.Parameter{{Name: c.APIKey.Name, Value: c.APIKey.Value.Reveal()}}
}
