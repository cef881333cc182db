package httpapi

import (
	"net/http"
	"time"

	"github.com/restmapping/operator/pkg/rest"
)

// Option replaces a part of a Client.
type Option func(*Client)

// Observation is what a metric may know about one call of Do. Every field has few possible values but the durations.
type Observation struct {
	Operation rest.Operation
	Method    string
	Route     string
	// Status is zero when no status line arrived.
	Status int
	// Failure is empty when there is a usable response.
	Failure rest.FailureKind
	// Held is what kept the request from being sent, if that has a name.
	Held rest.Hold
	// Duration is the whole call and Waited the part of it that the limits took.
	Duration time.Duration
	Waited   time.Duration
}

// WithObserver is told of every finished call. The function must be quick and safe for concurrent use.
func WithObserver(observe func(Observation)) Option {
	return func(c *Client) { c.observer = observe }
}

// WithFlowObserver is told when the circuit opened or closed and when slowing down began or ended: see Flow. The function
// must be quick and safe for concurrent use.
func WithFlowObserver(changed func()) Option {
	return func(c *Client) { c.flowChanged = changed }
}

// WithTransportWrapper puts a round tripper around the connection, for tracing. It must not send twice.
func WithTransportWrapper(wrap func(http.RoundTripper) http.RoundTripper) Option {
	return func(c *Client) {
		c.sender = wrap(c.sender)
		if c.tokenSender != nil {
			c.tokenSender = wrap(c.tokenSender)
		}
	}
}

// WithClock replaces the clock that measures durations and reads a Retry-After date. Deadlines use real time, because
// the network does.
func WithClock(now func() time.Time) Option {
	return func(c *Client) { c.now = now }
}
