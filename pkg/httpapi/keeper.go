package httpapi

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

const (
	// longestLogin bounds one login, and the wait for somebody else's.
	longestLogin = 15 * time.Second
	// refreshAhead is how long before its end a token is replaced, or a tenth of its life if that is less.
	refreshAhead = 30 * time.Second
	// failureHolds is how long a failed login is not tried again, so that many requests make few logins.
	failureHolds = 2 * time.Second
	// longestHold bounds what a login server may ask for with Retry-After.
	longestHold = time.Minute
	// freshHolds is how long a token stays that was refused without ever having been accepted: another would be
	// refused as well, and each request would make a login.
	freshHolds = 10 * time.Second
	// mostPast is how many earlier tokens are still taken out of texts.
	mostPast = 8
)

// errLoginTimeout is the cause of a context that the bound of a login ended.
var errLoginTimeout = errors.New("the login took too long")

// login is a way to get what requests carry.
type login interface {
	// fetch logs in once. Its error is a *LoginError.
	fetch(ctx context.Context) (*grant, error)
	// gaveUp is the error for ctx having ended while somebody else was logging in.
	gaveUp(ctx context.Context) error
	// refuses reports whether a status means that the token or the session is not good any more.
	refuses(status int) bool
}

// keeper holds the one token or session of a client. Whoever needs a new one logs in, within its own time; the others
// wait for the result, or for the end of their own time. No lock is held meanwhile, and nothing runs on its own.
type keeper struct {
	login login
	now   func() time.Time
	limit time.Duration
	// turn is held by the one who logs in.
	turn chan struct{}

	mu          sync.Mutex
	current     *grant
	past        []Secret
	failure     error
	failedUntil time.Time
}

func newKeeper(l login, now func() time.Time, limit time.Duration) *keeper {
	return &keeper{login: l, now: now, limit: limit, turn: make(chan struct{}, 1)}
}

// get gives a token that is good for now, as far as is known.
func (k *keeper) get(ctx context.Context) (*grant, error) {
	known, fresh, err := k.known()
	if fresh || err != nil {
		return known, err
	}
	bounded, cancel := context.WithTimeoutCause(ctx, k.limit, errLoginTimeout)
	defer cancel()
	if mine, err := k.take(bounded, known != nil); err != nil || !mine {
		return known, err
	}
	defer func() { <-k.turn }()
	// Somebody may have logged in, or failed to, since this caller looked.
	if known, fresh, err = k.known(); fresh || err != nil {
		return known, err
	}
	made, err := k.login.fetch(bounded)
	if err != nil {
		return k.failed(ctx, known, err)
	}
	k.keep(made)
	return made, nil
}

// take waits for the turn to log in. Who holds a token that is still good does not wait: somebody else renews it.
func (k *keeper) take(ctx context.Context, good bool) (mine bool, err error) {
	if good {
		select {
		case k.turn <- struct{}{}:
			return true, nil
		default:
			return false, nil
		}
	}
	// select picks at random when both are ready, and an ended context must never log in.
	if ctx.Err() != nil {
		return false, k.login.gaveUp(ctx)
	}
	select {
	case k.turn <- struct{}{}:
		return true, nil
	case <-ctx.Done():
		return false, k.login.gaveUp(ctx)
	}
}

// known gives the token at hand, if it has not ended, and whether it need not be renewed now; or why the last login
// failed, if that was a moment ago and there is none.
func (k *keeper) known() (g *grant, fresh bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	resting := now.Before(k.failedUntil)
	if k.current != nil && !k.current.ended(now) {
		return k.current, resting || !k.current.ending(now), nil
	}
	if resting {
		return nil, false, k.failure
	}
	return nil, false, nil
}

// failed notes why a login failed, unless it was given up from outside, which says nothing about the server. A token
// that is still good serves on.
func (k *keeper) failed(ctx context.Context, known *grant, err error) (*grant, error) {
	if ctx.Err() == nil {
		rest := failureHolds
		if refusal := (*LoginError)(nil); errors.As(err, &refusal) {
			rest = min(max(rest, refusal.RetryAfter), longestHold)
		}
		k.mu.Lock()
		k.failure, k.failedUntil = err, k.now().Add(rest)
		k.mu.Unlock()
	}
	if known != nil && !known.ended(k.now()) {
		return known, nil
	}
	return nil, err
}

func (k *keeper) keep(g *grant) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.current != nil {
		k.past = append(k.current.secrets(), k.past...)
		k.past = slices.Clip(k.past[:min(len(k.past), mostPast)])
	}
	k.current, k.failure, k.failedUntil = g, nil, time.Time{}
}

// drop forgets a token that the server refused, and tells whether another try with another one is worth it.
func (k *keeper) drop(g *grant) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.current != g {
		return true // somebody else was refused before, and another one is there or on its way
	}
	if !g.worked.Load() && k.now().Before(g.fetched.Add(freshHolds)) {
		return false
	}
	k.past = append(g.secrets(), k.past...)
	k.past = slices.Clip(k.past[:min(len(k.past), mostPast)])
	k.current = nil
	return true
}

// secrets are the tokens now and before, to be taken out of texts.
func (k *keeper) secrets() []Secret {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.current == nil {
		return slices.Clone(k.past)
	}
	return append(k.current.secrets(), k.past...)
}
