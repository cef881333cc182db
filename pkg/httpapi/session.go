package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Session logs in with a request below the base URL, and sends what that gave until the server refuses it.
type Session struct {
	Method string
	// Path is below the base URL, percent-encoded.
	Path string
	// Form sends the fields as a form instead of a JSON object.
	Form   bool
	Fields []SessionField
	// Token is where the answer has it. It goes into Header or Cookie, exactly one of which is set.
	Token  SessionSource
	Header *SessionHeader
	Cookie string
	// CSRF is nil for none.
	CSRF *SessionCSRF
	// ExpiredStatus are those that mean "log in again"; 401 by default.
	ExpiredStatus []int
	// TTL is how long a session is used at most; zero until it is refused.
	TTL time.Duration
}

// SessionField is a field of the login request: literal, or a secret.
type SessionField struct {
	Name    string
	Literal string
	Secret  Secret
	// Hidden tells that it is Secret which counts.
	Hidden bool
}

func (f SessionField) value() string {
	if f.Hidden {
		return f.Secret.Reveal()
	}
	return f.Literal
}

// SessionSource is a place in the answer to a login. Exactly one is set.
type SessionSource struct {
	// Body is a JSON pointer, a path with dots, or "." for all of it.
	Body   string
	Header string
	Cookie string
}

// SessionHeader is a header that carries the token behind a literal prefix.
type SessionHeader struct {
	Name   string
	Prefix string
}

// SessionCSRF is a second value of the login's answer that goes into a header. From a cookie, it is sent back as that
// cookie as well, because servers compare the two.
type SessionCSRF struct {
	From   SessionSource
	Header string
}

func (s Session) validate() error {
	wrong := func(field, message string) error {
		return &ConfigError{Field: "credential.session" + field, Message: message}
	}
	if s.Method != http.MethodPost && s.Method != http.MethodPut {
		return wrong(".login.method", "must be POST or PUT")
	}
	for i, f := range s.Fields {
		switch {
		case f.Name == "":
			return wrong(fmt.Sprintf(".login.fields[%d]", i), "the name must not be empty")
		case f.Hidden && f.Secret.Empty():
			return wrong(fmt.Sprintf(".login.fields[%d]", i), "the secret is empty: put a value under the key it names")
		}
	}
	if problem := s.Token.problem(); problem != "" {
		return wrong(".token.from", problem)
	}
	if (s.Header != nil) == (s.Cookie != "") {
		return wrong(".token", "give exactly one of header and cookie")
	}
	if s.Header != nil {
		if problem := headerNameProblem(s.Header.Name); problem != "" {
			return wrong(".token.header.name", problem)
		}
		if !validHeaderValue(s.Header.Prefix) {
			return wrong(".token.header.prefix", "holds a line break or a control character")
		}
	} else if !validHeaderName(s.Cookie) {
		return wrong(".token.cookie", "is not the name of a cookie (RFC 6265, section 4.1.1)")
	}
	return s.validateCSRF()
}

func (s Session) validateCSRF() error {
	if s.CSRF == nil {
		return nil
	}
	if problem := s.CSRF.From.problem(); problem != "" {
		return &ConfigError{Field: "credential.session.csrf.from", Message: problem}
	}
	if problem := headerNameProblem(s.CSRF.Header); problem != "" {
		return &ConfigError{Field: "credential.session.csrf.header", Message: problem}
	}
	return nil
}

func (s SessionSource) problem() string {
	set := 0
	for _, place := range []string{s.Body, s.Header, s.Cookie} {
		if place != "" {
			set++
		}
	}
	if set != 1 {
		return "give exactly one of body, header and cookie"
	}
	return ""
}

// secrets are what stands in a login request, in every form that is sent.
func (s Session) secrets() []Secret {
	var all []Secret
	for _, f := range s.Fields {
		if !f.Hidden {
			continue
		}
		value := f.Secret.Reveal()
		forms := []string{value, url.QueryEscape(value)}
		if quoted, err := json.Marshal(value); err == nil {
			forms = append(forms, strings.Trim(string(quoted), `"`))
		}
		for _, form := range forms {
			all = append(all, NewSecret(form))
		}
	}
	return all
}

// encode gives the body of the login request and its media type.
func (s Session) encode() (body []byte, contentType string, err error) {
	if s.Form {
		form := url.Values{}
		for _, f := range s.Fields {
			form.Add(f.Name, f.value())
		}
		return []byte(form.Encode()), "application/x-www-form-urlencoded", nil
	}
	object := map[string]string{}
	for _, f := range s.Fields {
		object[f.Name] = f.value()
	}
	body, err = json.Marshal(object)
	return body, "application/json", err
}
