package httpapi

import (
	"math/rand/v2"
	"time"

	"github.com/restmapping/operator/pkg/rest"
)

// Flow is how much a client sends now, beside what its configuration says.
type Flow struct {
	Circuit CircuitState
	// Slowed tells that the server asked for less, and does not get the full rate again yet.
	Slowed bool
	// RequestsPerSecond is the rate now.
	RequestsPerSecond float64
	// Paused is for how long the server asked to send nothing, since the client was made.
	Paused time.Duration
	// InFlight is how many requests are under way.
	InFlight int
	// CertificateEnd is when the client certificate ends, zero when there is none.
	CertificateEnd time.Time
}

// Flow tells how much is sent now.
func (c *Client) Flow() Flow {
	f := Flow{Circuit: c.breaker.state(), InFlight: c.InFlight(), CertificateEnd: c.certificateEnd()}
	p := c.limits.pace
	p.mu.Lock()
	defer p.mu.Unlock()
	f.Slowed, f.RequestsPerSecond, f.Paused = p.slowed(), float64(p.limit), p.paused
	return f
}

// certificateEnd is when the client certificate ends.
func (c *Client) certificateEnd() time.Time {
	for _, pair := range c.transport.TLSClientConfig.Certificates {
		if pair.Leaf != nil {
			return pair.Leaf.NotAfter
		}
	}
	return time.Time{}
}

// leave is what the breaker and the pace gave for one request. It must be given back with the exchange.
type leave struct {
	client *Client
	ticket ticket
	done   func(error)
}

func (l leave) giveBack(x rest.Exchange) {
	l.done(word(x))
	turned := l.client.limits.pace.done(l.ticket, x)
	if b := l.client.breaker; b != nil && b.turned.Swap(false) || turned {
		l.client.flowChanged()
	}
}

// closed is ask without taking anything: the exchange that says why nothing is sent for now, nil if it may be.
func (a *attempt) closed() *rest.Exchange {
	if b := a.client.breaker; b.state() == CircuitOpen {
		return a.heldByCircuit(b.left())
	}
	if left := a.client.limits.pace.left(); left > 0 {
		return a.heldByServer(left)
	}
	return nil
}

// ask gives leave to send, or the exchange that says why not. What is kept back comes again a little after the time,
// and not all together.
func (a *attempt) ask() (leave, *rest.Exchange) {
	c := a.client
	done, wait := c.breaker.admit(writes(a.req))
	if done == nil {
		return leave{}, a.heldByCircuit(wait)
	}
	ticket, wait := c.limits.pace.admit()
	if wait > 0 {
		done(errNoWord)
		return leave{}, a.heldByServer(wait)
	}
	return leave{client: c, ticket: ticket, done: done}, nil
}

func (a *attempt) heldByCircuit(wait time.Duration) *rest.Exchange {
	cfg := a.client.breaker.cfg
	return a.held(rest.HeldByCircuit, wait,
		"the endpoint failed %d times in a row and is left alone for %s, then one read tries how it does: look at that server (circuitBreaker)", cfg.Failures, cfg.OpenFor)
}

func (a *attempt) heldByServer(wait time.Duration) *rest.Exchange {
	return a.held(rest.HeldByServer, wait, "the server asked all of this endpoint to come later (429 or 503): lower limits if it lasts")
}

func (a *attempt) held(by rest.Hold, wait time.Duration, format string, args ...any) *rest.Exchange {
	failure := a.failure(rest.NotSent, nil, "not sent: "+format, args...)
	failure.Held = by
	wait = max(wait, time.Millisecond)
	spread := min(wait/4+tryAgain, mostSpread)
	return &rest.Exchange{Failure: failure, RetryAfter: wait + rand.N(spread)} //nolint:gosec // scatter, not a secret
}
