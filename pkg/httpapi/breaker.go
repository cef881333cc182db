package httpapi

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/restmapping/operator/pkg/rest"
)

// CircuitBreaker says when an endpoint is left alone because it does not answer.
type CircuitBreaker struct {
	// Off turns it off.
	Off bool
	// Failures is how many in a row open the circuit, and OpenFor how long nothing is sent then.
	Failures int
	OpenFor  time.Duration
}

// CircuitState is whether requests are sent.
type CircuitState string

// The states of a circuit. In half-open one request is sent to see how the server does.
const (
	CircuitClosed   CircuitState = "Closed"
	CircuitOpen     CircuitState = "Open"
	CircuitHalfOpen CircuitState = "HalfOpen"
)

const (
	// tryAgain is when a request comes back that found another one trying how the server does.
	tryAgain = time.Second
	// mostSpread bounds how much later than the others a request comes back.
	mostSpread = 5 * time.Second
)

// errNoWord marks an exchange that says nothing about the server, errTrouble one that speaks against it.
var (
	errNoWord  = errors.New("nothing was learned about the server")
	errTrouble = errors.New("the server did not answer, or with a failure of its own")
)

// breaker keeps requests back from a server that has failed some times in a row. It is not told of 4xx as failures: who
// says no is well.
type breaker struct {
	inner *gobreaker.TwoStepCircuitBreaker[any]
	cfg   CircuitBreaker
	now   func() time.Time

	// since is when the state began, and turned that it did so and nobody was told: the library calls back under its lock.
	since  atomic.Pointer[time.Time]
	turned atomic.Bool
}

// newBreaker gives nil when it is turned off.
func newBreaker(cfg CircuitBreaker) *breaker {
	if cfg.Off {
		return nil
	}
	// The library knows no other clock than the system's.
	b := &breaker{cfg: cfg, now: time.Now} //nolint:forbidigo // as above
	b.inner = gobreaker.NewTwoStepCircuitBreaker[any](gobreaker.Settings{
		Timeout:     cfg.OpenFor,
		ReadyToTrip: func(counts gobreaker.Counts) bool { return int(counts.ConsecutiveFailures) >= cfg.Failures },
		IsExcluded:  func(err error) bool { return errors.Is(err, errNoWord) },
		OnStateChange: func(string, gobreaker.State, gobreaker.State) {
			at := b.now()
			b.since.Store(&at)
			b.turned.Store(true)
		},
	})
	return b
}

// admit gives what is to be told of the exchange, or how long to wait instead. In half-open a read goes first; a write,
// whose outcome would be in doubt if it failed, only when no read came for as long as the circuit was open.
func (b *breaker) admit(write bool) (done func(error), wait time.Duration) {
	if b == nil {
		return func(error) {}, 0
	}
	if b.inner.State() == gobreaker.StateHalfOpen && write && b.left() > 0 {
		return nil, tryAgain
	}
	done, err := b.inner.Allow()
	switch {
	case errors.Is(err, gobreaker.ErrOpenState):
		return nil, max(b.left(), time.Millisecond)
	case err != nil:
		return nil, tryAgain
	default:
		return done, 0
	}
}

// left is how long the state has still to last, for the time that an open circuit lasts.
func (b *breaker) left() time.Duration {
	since := b.since.Load()
	if since == nil {
		return 0
	}
	return since.Add(b.cfg.OpenFor).Sub(b.now())
}

func (b *breaker) state() CircuitState {
	if b == nil {
		return CircuitClosed
	}
	switch b.inner.State() {
	case gobreaker.StateOpen:
		return CircuitOpen
	case gobreaker.StateHalfOpen:
		return CircuitHalfOpen
	default:
		return CircuitClosed
	}
}

// word is what an exchange says about the server: nil that it is well.
func word(x rest.Exchange) error {
	if x.Response != nil {
		if x.Response.Status == http.StatusServiceUnavailable && x.RetryAfter > 0 {
			return errNoWord // it names a time: see pace
		}
		if x.Response.Status >= http.StatusInternalServerError {
			return errTrouble
		}
		if x.Failure == nil || x.Failure.Kind != rest.Broken && x.Failure.Kind != rest.TimedOut {
			return nil
		}
	}
	if x.Failure == nil {
		return errTrouble
	}
	login, address := (*LoginError)(nil), (*AddressNotAllowedError)(nil)
	if errors.As(x.Failure, &login) || errors.As(x.Failure, &address) || errors.Is(x.Failure, context.Canceled) {
		return errNoWord
	}
	return errTrouble
}
