package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// TokenSource gives bearer tokens that are made elsewhere, such as by the cluster for one of its ServiceAccounts.
type TokenSource struct {
	// Name is how messages call it.
	Name string
	// Fetch makes a token. Its error must hold no secret; it is kept as the cause of what a request says.
	Fetch func(ctx context.Context) (Token, error)
}

// Token is a bearer token with its end, zero when that is not known.
type Token struct {
	Value   Secret
	Expires time.Time
}

// Ready reports whether what a request would carry is at hand, and fetches it from a TokenSource if it is not. A client
// without one is ready. The error is a *LoginError.
func (c *Client) Ready(ctx context.Context) error {
	if c.credential.Token == nil {
		return nil
	}
	_, err := c.keeper.get(ctx)
	return err
}

// sourceLogin is the login of a client with a TokenSource.
type sourceLogin struct {
	source TokenSource
	now    func() time.Time
	limit  time.Duration
}

func (*sourceLogin) refuses(status int) bool { return status == http.StatusUnauthorized }

func (l *sourceLogin) gaveUp(ctx context.Context) error {
	return &LoginError{Message: l.source.Name + ": " + l.patience(ctx), Err: ctx.Err()}
}

func (l *sourceLogin) patience(ctx context.Context) string {
	if errors.Is(context.Cause(ctx), errLoginTimeout) {
		return fmt.Sprintf("no answer within %s", l.limit)
	}
	return "given up while waiting for it"
}

func (l *sourceLogin) fetch(ctx context.Context) (*grant, error) {
	started := l.now()
	token, err := l.source.Fetch(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return nil, l.gaveUp(ctx)
		}
		return nil, &LoginError{Message: err.Error(), Err: err}
	}
	made := &grant{
		headers: []SecretHeader{{Name: "Authorization", Prefix: "Bearer ", Value: token.Value}},
		fetched: started,
	}
	made.until(token.Expires)
	if problem := made.problem(); problem != "" {
		return nil, &LoginError{Message: l.source.Name + ": it gave " + problem}
	}
	return made, nil
}
