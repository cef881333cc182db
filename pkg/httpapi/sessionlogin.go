package httpapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/restmapping/operator/pkg/rest"
)

// loginBytes is the longest answer to a login that is read.
const loginBytes = 1 << 20

// sessionLogin is the login of a client with Session.
type sessionLogin struct {
	server  loginServer
	session Session
	expired []int
}

func newSessionLogin(c *Client, s Session, limit time.Duration) *sessionLogin {
	expired := s.ExpiredStatus
	if len(expired) == 0 {
		expired = []int{http.StatusUnauthorized}
	}
	return &sessionLogin{
		server: loginServer{
			client: c, name: "the login " + s.Method + " " + s.Path + " at " + c.target.host(), field: "baseURL", hidden: s.secrets(), limit: limit,
		},
		session: s, expired: expired,
	}
}

func (l *sessionLogin) refuses(status int) bool { return slices.Contains(l.expired, status) }

func (l *sessionLogin) gaveUp(ctx context.Context) error { return l.server.silent(ctx, ctx.Err()) }

func (l *sessionLogin) fetch(ctx context.Context) (*grant, error) {
	client := l.server.client
	out, err := l.request()
	if err != nil {
		return nil, &LoginError{Message: l.server.name + ": " + err.Error() + ": check auth.session.login", Err: err}
	}
	// The login goes to the same server, so it takes a token of the same bucket.
	if err := client.limits.bucket.Wait(ctx); err != nil {
		return nil, l.server.silent(ctx, context.DeadlineExceeded)
	}
	started := client.now()
	span := client.begin(ctx, out, call{operation: loginOperation, route: l.session.Path})
	answer, err := client.sender.RoundTrip(out.WithContext(ctx))
	if err != nil {
		span.close(0, noAnswer)
		return nil, l.server.silent(ctx, err)
	}
	span.close(answer.StatusCode, "")
	// Closing an answer that was read, or that nobody wants, is a formality.
	defer func() { _ = answer.Body.Close() }()
	body, err := readLogin(answer.Body)
	if err != nil && !errors.Is(err, errTooLarge) {
		return nil, l.server.silent(ctx, err)
	}
	facts := client.loginAnswer(answer)
	if err != nil {
		return nil, l.server.answered(facts, "", "a body of more than 1 MiB: is auth.session.login.path right?")
	}
	return l.grant(started, answer, facts, body)
}

func (l *sessionLogin) request() (*http.Request, error) {
	body, contentType, err := l.session.encode()
	if err != nil {
		return nil, errors.New("the fields cannot be written as JSON")
	}
	return l.server.client.build(rest.Request{
		Method: l.session.Method, Route: l.session.Path, Path: l.session.Path, ContentType: contentType, Body: body,
	})
}

func readLogin(body io.Reader) ([]byte, error) {
	var data bytes.Buffer
	if _, err := data.ReadFrom(io.LimitReader(body, loginBytes+1)); err != nil {
		return nil, err
	}
	if data.Len() > loginBytes {
		return nil, errTooLarge
	}
	return data.Bytes(), nil
}

// grant takes out of an answer what was declared.
func (l *sessionLogin) grant(started time.Time, answer *http.Response, facts loginAnswer, body []byte) (*grant, error) {
	if !l.accepted(facts.status) {
		return nil, l.refused(facts, body)
	}
	made := &grant{fetched: started}
	if l.session.TTL > 0 {
		made.until(started.Add(l.session.TTL))
	}
	token, err := l.find("auth.session.token.from", l.session.Token, answer, facts, body, made)
	if err != nil {
		return nil, err
	}
	if l.session.Header != nil {
		made.headers = []SecretHeader{{Name: l.session.Header.Name, Prefix: l.session.Header.Prefix, Value: token}}
	} else {
		made.cookies = []secretCookie{{l.session.Cookie, token}}
	}
	if csrf := l.session.CSRF; csrf != nil {
		value, err := l.find("auth.session.csrf.from", csrf.From, answer, facts, body, made)
		if err != nil {
			return nil, err
		}
		made.headers = append(made.headers, SecretHeader{Name: csrf.Header, Value: value})
		if csrf.From.Cookie != "" {
			made.cookies = append(made.cookies, secretCookie{csrf.From.Cookie, value})
		}
	}
	if problem := made.problem(); problem != "" {
		return nil, l.server.answered(facts, "", "it gave "+problem+": check auth.session.token.from")
	}
	return made, nil
}

// accepted: a login page for people answers a good login with a redirect to the next page, which nobody needs.
func (l *sessionLogin) accepted(status int) bool {
	if status == http.StatusFound || status == http.StatusSeeOther {
		return l.session.Token.Body == ""
	}
	return status >= http.StatusOK && status < http.StatusMultipleChoices
}

func (l *sessionLogin) refused(facts loginAnswer, body []byte) error {
	remedy := facts.remedy("auth.session.login.path")
	if remedy == "" {
		remedy = "check auth.session.login.fields and the Secrets they name"
	}
	return l.server.answered(facts, loginWords(body), remedy)
}

// find reads one place of the answer.
func (l *sessionLogin) find(
	field string, from SessionSource, answer *http.Response, facts loginAnswer, body []byte, made *grant,
) (Secret, error) {
	var value, missing string
	switch {
	case from.Header != "":
		value, missing = answer.Header.Get(from.Header), fmt.Sprintf("no header %q", from.Header)
	case from.Cookie != "":
		missing = fmt.Sprintf("no cookie %q", from.Cookie)
		for _, cookie := range answer.Cookies() {
			if cookie.Name == from.Cookie && cookie.MaxAge >= 0 {
				value = cookieValue(cookie)
				made.untilCookie(cookie)
			}
		}
	default:
		value, missing = bodyValue(body, from.Body), "no text at "+from.Body+" of the body"
	}
	if value == "" {
		return Secret{}, l.server.answered(facts, "", "there is "+missing+": check "+field)
	}
	return NewSecret(value), nil
}

// cookieValue is as the server wrote it: quotes belong to the value (RFC 6265, section 5.2).
func cookieValue(cookie *http.Cookie) string {
	if cookie.Quoted {
		return `"` + cookie.Value + `"`
	}
	return cookie.Value
}

// untilCookie: Max-Age goes before Expires (RFC 6265, section 4.1.2.2).
func (g *grant) untilCookie(cookie *http.Cookie) {
	switch {
	case cookie.MaxAge > 0:
		g.until(g.fetched.Add(time.Duration(cookie.MaxAge) * time.Second))
	case !cookie.Expires.IsZero():
		g.until(cookie.Expires)
	}
}

// bodyValue reads a JSON pointer (RFC 6901), a path with dots, or all of the body.
func bodyValue(body []byte, path string) string {
	document, err := decodeJSON(body)
	if path == "." {
		if whole, ok := document.(string); ok && err == nil {
			return whole
		}
		return strings.TrimSpace(text(body))
	}
	if err != nil {
		return ""
	}
	for _, step := range pathSteps(path) {
		document = stepInto(document, step)
	}
	switch value := document.(type) {
	case string:
		return value
	case int64, uint64:
		return fmt.Sprint(value)
	default:
		return ""
	}
}

func pathSteps(path string) []string {
	if !strings.HasPrefix(path, "/") {
		return strings.Split(path, ".")
	}
	steps := strings.Split(path[1:], "/")
	for i, step := range steps {
		steps[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
	}
	return steps
}

func stepInto(document any, step string) any {
	switch value := document.(type) {
	case map[string]any:
		return value[step]
	case []any:
		for i, item := range value {
			if step == fmt.Sprint(i) {
				return item
			}
		}
	}
	return nil
}

// loginWords is what a server says about a failed login, where servers usually say it.
func loginWords(body []byte) string {
	for _, path := range []string{"message", "error_description", "detail", "error.message", "error", "title"} {
		if words := bodyValue(body, path); words != "" {
			return words
		}
	}
	return ""
}
