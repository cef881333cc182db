package httpapi

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/restmapping/operator/pkg/rest"
)

// errTimeout is the cause of a context that Config.Timeout ended, to tell it from a deadline of the caller.
var errTimeout = errors.New("the endpoint's timeout passed")

// Do sends one request once and waits for the whole answer. It waits for the limits first; the endpoint's timeout
// counts from then on, and an earlier deadline of ctx wins.
func (c *Client) Do(ctx context.Context, req rest.Request) rest.Exchange {
	start := c.now()
	exchange, waited := c.exchange(ctx, req, start)
	exchange.Duration = c.now().Sub(start)
	seen := observation(req, exchange, waited)
	c.observer(seen)
	if c.tracing != nil {
		noteOnSpan(ctx, seen)
	}
	return exchange
}

func (c *Client) exchange(ctx context.Context, req rest.Request, start time.Time) (rest.Exchange, time.Duration) {
	a := &attempt{client: c, req: req}
	out, err := c.build(req)
	if err != nil {
		return a.refused(err), 0
	}
	// Asked before the wait as well, so that nobody waits for a server that is left alone.
	if held := a.closed(); held != nil {
		return *held, 0
	}
	release, err := c.limits.acquire(ctx, req)
	waited := c.now().Sub(start)
	if errors.Is(err, errLocked) {
		return *a.held(rest.HeldByLock, tryAgain, "another write holds the same lock (operations.*.lock) and takes long: it is tried again"), waited
	}
	if err != nil {
		return a.neverReleased(ctx, err), waited
	}
	defer release()
	permit, held := a.ask()
	if held != nil {
		return *held, waited
	}
	exchange := a.send(ctx, out)
	permit.giveBack(exchange)
	return exchange, waited
}

// send sends the request within the endpoint's timeout.
func (a *attempt) send(ctx context.Context, out *http.Request) rest.Exchange {
	ctx, cancel := context.WithTimeoutCause(ctx, a.client.timeout, errTimeout)
	defer cancel()
	if a.client.keeper != nil {
		return a.loggedIn(ctx, out)
	}
	return a.run(ctx, out)
}

func observation(req rest.Request, exchange rest.Exchange, waited time.Duration) Observation {
	o := Observation{
		Operation: req.Operation, Method: req.Method, Route: req.Route,
		Duration: exchange.Duration, Waited: waited,
	}
	if exchange.Response != nil {
		o.Status = exchange.Response.Status
	}
	if exchange.Failure != nil {
		o.Failure, o.Held = exchange.Failure.Kind, exchange.Failure.Held
	}
	return o
}

// attempt is one call of Do.
type attempt struct {
	client *Client
	req    rest.Request
	// left is set before the first byte can leave: when a connection, with TLS done, is given to the request.
	left atomic.Bool
	// fresh tells that the connection was made for this request.
	fresh atomic.Bool
}

func (a *attempt) run(ctx context.Context, out *http.Request) rest.Exchange {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			a.left.Store(true)
			a.fresh.Store(!info.Reused)
		},
	})
	out = out.WithContext(ctx)
	for hops := 0; ; hops++ {
		if ctx.Err() != nil {
			return a.broken(ctx, ctx.Err(), nil)
		}
		span := a.client.begin(ctx, out, call{operation: a.req.Operation, route: a.req.Route, resent: hops})
		answer, err := a.client.sender.RoundTrip(out)
		if err != nil {
			return span.end(a.broken(ctx, err, nil))
		}
		if !redirects(answer) {
			return span.end(a.receive(ctx, answer))
		}
		next, problem := a.redirect(out, answer, hops)
		discard(answer)
		if problem != "" {
			return span.end(a.redirected(answer, problem))
		}
		span.close(answer.StatusCode, "")
		if a.client.limits.bucket.Wait(ctx) != nil {
			return a.broken(ctx, context.DeadlineExceeded, nil)
		}
		out = next
	}
}
