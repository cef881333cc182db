package httpapi

import (
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/restmapping/operator/pkg/rest"
)

// Client talks to one endpoint. It is safe for concurrent use and immutable after NewClient.
type Client struct {
	target        target
	headers       []rest.Parameter
	query         []rest.Parameter
	credential    Credential
	proxy         *Basic
	proxyHost     string // of the declared proxy, for messages
	userAgent     string
	timeout       time.Duration
	responseBytes int64

	limits    *limits
	breaker   *breaker // nil when it is turned off
	dialer    *net.Dialer
	transport *http.Transport
	sender    http.RoundTripper // transport, perhaps wrapped
	// tokenTransport and tokenSender lead to an OAuth2 token endpoint; nil without one.
	tokenTransport *http.Transport
	tokenSender    http.RoundTripper
	// keeper holds what a login gave; nil when the credential is sent as it is.
	keeper *keeper

	now      func() time.Time
	observer func(Observation)
	tracing  *Tracing // nil when nothing is traced
	// flowChanged is told when Flow says something else in Circuit or Slowed.
	flowChanged func()
}

// NewClient checks the configuration and makes a client. The error is a *ConfigError. Nothing is connected yet.
func NewClient(cfg Config, options ...Option) (*Client, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	where, err := newTarget(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	if err := cfg.Addresses.checkHost("baseURL", where.base.Hostname()); err != nil {
		return nil, err
	}
	if session := cfg.Credential.Session; session != nil {
		if _, err := where.resolve(session.Path); err != nil {
			return nil, &ConfigError{Field: "credential.session.login.path", Message: err.Error()}
		}
	}
	dialer := newDialer(cfg)
	transport, err := newTransport(cfg, dialer)
	if err != nil {
		return nil, err
	}
	client := &Client{
		target:        where,
		headers:       append([]rest.Parameter(nil), cfg.Headers...),
		query:         append([]rest.Parameter(nil), cfg.Query...),
		credential:    cfg.Credential,
		userAgent:     cfg.UserAgent,
		timeout:       cfg.Timeout,
		responseBytes: cfg.ResponseBytes,
		dialer:        dialer,
		transport:     transport,
		sender:        transport,
		now:           time.Now, //nolint:forbidigo // the default of the injected clock
		observer:      func(Observation) {},
		flowChanged:   func() {},
	}
	if client.tokenTransport, err = newTokenTransport(cfg, dialer); err != nil {
		return nil, err
	}
	if client.tokenTransport != nil {
		client.tokenSender = client.tokenTransport
	}
	for _, option := range options {
		option(client)
	}
	if cfg.Proxy != nil {
		client.proxy, client.proxyHost = cfg.Proxy.Basic, cfg.Proxy.host()
	}
	client.limits, client.breaker = newLimits(cfg, client.now), newBreaker(cfg.CircuitBreaker)
	client.keeper = client.newKeeper(cfg)
	return client, nil
}

// Close closes the idle connections. Requests under way are not disturbed, and their connections close after them.
func (c *Client) Close() {
	c.transport.CloseIdleConnections()
	if c.tokenTransport != nil {
		c.tokenTransport.CloseIdleConnections()
	}
}

// newKeeper comes after the options, which choose the clock and the round trippers.
func (c *Client) newKeeper(cfg Config) *keeper {
	limit := min(cfg.Timeout/2, longestLogin)
	if cfg.Credential.OAuth2 != nil {
		return newKeeper(newOAuth2Login(c, *cfg.Credential.OAuth2, limit), c.now, limit)
	}
	if cfg.Credential.Session != nil {
		return newKeeper(newSessionLogin(c, *cfg.Credential.Session, limit), c.now, limit)
	}
	if cfg.Credential.Token != nil {
		return newKeeper(&sourceLogin{source: *cfg.Credential.Token, now: c.now, limit: limit}, c.now, limit)
	}
	return nil
}

// InFlight is how many requests hold a slot now.
func (c *Client) InFlight() int { return c.limits.inFlight() }

// BaseURL is the base URL without a slash at its end.
func (c *Client) BaseURL() string { return c.target.origin + c.target.prefix }

// Describe names a request for messages and logs: the method and the route as authored. It holds no value of a custom
// resource, no query string and no secret.
func (c *Client) Describe(req rest.Request) string { return describe(req) }

func describe(req rest.Request) string {
	route, _, _ := strings.Cut(req.Route, "?")
	if route == "" {
		route = "(no route)"
	}
	return req.Method + " " + route
}
