package endpoints

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/restmapping/operator/pkg/engine/secrets/flight"
	"github.com/restmapping/operator/pkg/rest"
)

const (
	// probeGood and probeBad are how long a result is shared. A good one spares a server with many custom resources;
	// a bad one is kept shorter, because it holds all of them up.
	probeGood = 10 * time.Second
	probeBad  = 2 * time.Second
	// probeQueue is how long a probe may wait for the endpoint's own limits.
	probeQueue = 30 * time.Second
)

// prober asks a server whether this credential still works, once for all who want to know.
type prober struct {
	ref     Ref
	client  *sharedClient
	clock   clock.PassiveClock
	flights *flight.Group[error]
	key     string
	request rest.Request
	limit   time.Duration

	mu      sync.Mutex
	result  error
	asked   time.Time
	expires time.Time
}

// check gives nil when the probe was answered with 2xx a moment ago, and was not sent before this time.
func (p *prober) check(ctx context.Context, since time.Time) error {
	if fresh, result := p.recent(since); fresh {
		return result
	}
	// A flight that was under way already was perhaps sent before. The one after it was not.
	for range 2 {
		result, err := p.flights.Do(ctx, p.key, p.limit, func(ctx context.Context) (error, error) { return p.send(ctx, since) })
		if errors.Is(err, flight.ErrClosed) {
			return ErrClosed
		}
		if err != nil {
			return err
		}
		if result != nil || p.youngerThan(since) {
			return result
		}
	}
	return fmt.Errorf("%s: the probe was answered, and was sent too early to say anything", p.ref)
}

func (p *prober) youngerThan(since time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.asked.Before(since)
}

// recent gives the last result while it counts. A good one says nothing about what was asked of the server after it.
func (p *prober) recent(since time.Time) (fresh bool, result error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.clock.Now().Before(p.expires) && (p.result != nil || !p.asked.Before(since)), p.result
}

// send is the work of a flight: the verdict is its value, so that its error is only that of the flight itself.
func (p *prober) send(ctx context.Context, since time.Time) (error, error) {
	if fresh, result := p.recent(since); fresh {
		return result, nil
	}
	asked := p.clock.Now()
	exchange := p.client.Do(ctx, p.request)
	if ctx.Err() != nil && exchange.Response == nil {
		// Stopped by us. This says nothing about the server and is not kept.
		return p.verdict(exchange), nil
	}
	result, kept := p.verdict(exchange), probeGood
	if result != nil {
		kept = probeBad
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	// Counted from before the request, because the server decided some time between then and now.
	p.result, p.asked, p.expires = result, asked, asked.Add(kept)
	return result, nil
}

func (p *prober) verdict(exchange rest.Exchange) error {
	response := exchange.Response
	if exchange.Failure == nil && response != nil && success(response.Status) {
		return nil
	}
	return &ProbeError{Endpoint: p.ref, Path: p.request.Route, Exchange: exchange}
}

// probeRequest renders the probe. The path is authored by an administrator and is taken as it is, percent-encoding
// included, but it cannot leave the base path.
func probeRequest(ref Ref, path string) (rest.Request, error) {
	plain, problem := probePath(path)
	if problem != "" {
		return rest.Request{}, &InvalidEndpointError{Endpoint: ref, Field: "spec.probe.path", Message: problem}
	}
	escaped := (&url.URL{Path: plain, RawPath: path}).EscapedPath()
	return rest.Request{Operation: rest.Probe, Method: http.MethodGet, Route: path, Path: escaped}, nil
}

// probePath gives the path without percent-encoding, or what is wrong with it.
func probePath(path string) (plain, problem string) {
	plain, err := url.PathUnescape(path)
	if err != nil {
		return "", "it has a percent sign that is not followed by two hexadecimal digits"
	}
	if !strings.HasPrefix(path, "/") {
		return "", "it must begin with a slash"
	}
	// A server may take a backslash for a slash.
	for segment := range strings.SplitSeq(strings.ReplaceAll(plain, `\`, "/"), "/") {
		if segment == "." || segment == ".." {
			return "", `it must not have "." or ".." as a segment`
		}
	}
	return plain, ""
}
