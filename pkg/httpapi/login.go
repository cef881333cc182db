package httpapi

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/restmapping/operator/pkg/rest"
)

// LoginError says why there is no token or session, so that nothing was sent to the endpoint. It holds no secret.
type LoginError struct {
	// Message names the server, what it said and what to do about it.
	Message string
	// Refused tells that the server does not take the credential.
	Refused bool
	// RetryAfter is the login server's own wish.
	RetryAfter time.Duration
	// Err is the cause, if the login got no answer.
	Err error
}

// Error implements error.
func (e *LoginError) Error() string { return e.Message }

// Unwrap gives the cause.
func (e *LoginError) Unwrap() error { return e.Err }

// loggedIn sends a request with the token of the client's keeper. A read that is refused is sent once more with a new
// token. A write is sent once whatever happens: its refusal is a fact for those above, and the next one has a new token.
func (a *attempt) loggedIn(ctx context.Context, out *http.Request) rest.Exchange {
	keeper := a.client.keeper
	token, err := keeper.get(ctx)
	if err != nil {
		return a.notLoggedIn(err)
	}
	token.authorize(out.Header)
	exchange := a.run(ctx, out)
	if !a.note(token, exchange) || !keeper.drop(token) || writes(a.req) {
		return exchange
	}
	if token, err = keeper.get(ctx); err != nil {
		return a.notLoggedIn(err)
	}
	if a.client.limits.bucket.Wait(ctx) != nil {
		return exchange
	}
	if out, err = a.client.build(a.req); err != nil {
		return a.refused(err)
	}
	token.authorize(out.Header)
	exchange = a.run(ctx, out)
	a.note(token, exchange)
	return exchange
}

// note remembers that a token was accepted, and reports whether it was refused.
func (a *attempt) note(token *grant, exchange rest.Exchange) (refused bool) {
	if exchange.Response == nil {
		return false
	}
	if a.client.keeper.login.refuses(exchange.Response.Status) {
		return true
	}
	token.worked.Store(true)
	return false
}

func (a *attempt) notLoggedIn(err error) rest.Exchange {
	exchange := rest.Exchange{Failure: a.failure(rest.NotSent, err, "not sent: %s", err.Error())}
	if refusal := (*LoginError)(nil); errors.As(err, &refusal) {
		exchange.RetryAfter = refusal.RetryAfter
	}
	return exchange
}

// loginServer words what went wrong with a login.
type loginServer struct {
	client *Client
	// name is how messages call it, and field where its address stands.
	name, field string
	// hidden are the secrets that were sent.
	hidden []Secret
	limit  time.Duration
}

// silent: no answer came.
func (s loginServer) silent(ctx context.Context, err error) error {
	hint, cause := explain(ctx, err, s.client, s.field)
	if errors.Is(context.Cause(ctx), errLoginTimeout) {
		hint, cause = fmt.Sprintf("no answer within %s: is it up, reachable and quick enough?", s.limit), context.DeadlineExceeded
	}
	return &LoginError{Message: s.name + ": " + hint, Err: cause}
}

// answered: an answer came that is no token.
func (s loginServer) answered(answer loginAnswer, said, remedy string) error {
	message := fmt.Sprintf("%s answered %d", s.name, answer.status)
	if said != "" {
		message += " (" + s.show(said) + ")"
	} else if answer.media != "" && answer.media != "application/json" {
		message += " with " + s.show(answer.media)
	}
	return &LoginError{Message: message + ": " + remedy, Refused: answer.refused(), RetryAfter: answer.retryAfter}
}

// show makes a server's words fit for a message: no secret, no control character, not endless.
func (s loginServer) show(words string) string {
	words = redact(words, append(s.hidden, s.client.keeper.secrets()...))
	return cut(strings.Join(strings.FieldsFunc(words, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }), " "))
}

// loginAnswer is what a message may say of an answer.
type loginAnswer struct {
	status     int
	media      string
	retryAfter time.Duration
}

func (c *Client) loginAnswer(answer *http.Response) loginAnswer {
	media, _, err := mime.ParseMediaType(answer.Header.Get("Content-Type"))
	if err != nil {
		media = ""
	}
	return loginAnswer{
		status: answer.StatusCode, media: media,
		retryAfter: retryAfter(answer.Header.Get("Retry-After"), c.now()),
	}
}

// refused: what is not an overload or a defect of the server is its word on the credential.
func (a loginAnswer) refused() bool {
	return a.status >= http.StatusBadRequest && a.status < http.StatusInternalServerError &&
		a.status != http.StatusTooManyRequests && a.status != http.StatusRequestTimeout
}

// remedy is what helps whatever the way to log in; empty when that depends.
func (a loginAnswer) remedy(field string) string {
	switch {
	case a.status >= http.StatusMultipleChoices && a.status < http.StatusBadRequest:
		return "a redirect, which is not followed: set " + field + " to where it points"
	case a.status == http.StatusTooManyRequests:
		return "it is asked too often: wait"
	case a.status >= http.StatusInternalServerError:
		return "it is tried again: look at that server if it lasts"
	case a.status == http.StatusNotFound, a.status == http.StatusMethodNotAllowed:
		return "is " + field + " right?"
	}
	return ""
}
