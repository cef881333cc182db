package httpapi

import (
	"fmt"
	"time"

	"github.com/restmapping/operator/pkg/rest"
)

// Defaults of a Config whose field is zero.
const (
	DefaultTimeout           = 30 * time.Second
	DefaultRequestsPerSecond = 50
	DefaultBurst             = 100
	DefaultInFlight          = 16
	DefaultResponseBytes     = 4 << 20
	DefaultFailures          = 10
	DefaultOpenFor           = 10 * time.Second
	DefaultUserAgent         = "restmapping-operator"
)

// Config describes one endpoint. It is plain data; NewClient checks it.
type Config struct {
	// BaseURL is scheme, host, port and path prefix of every request.
	BaseURL string
	// Headers and Query go with every request; the same names in a request win.
	Headers []rest.Parameter
	Query   []rest.Parameter
	// Credential wins over every header and query parameter of the same name.
	Credential Credential
	TLS        TLSConfig
	// Proxy is nil for that of the environment.
	Proxy *Proxy
	// Timeout bounds one request, from its release by the limits to the last byte of the answer.
	Timeout time.Duration
	// Timeouts bound parts of a request within Timeout.
	Timeouts          Timeouts
	RequestsPerSecond float64
	Burst             int
	// InFlight is how many requests may be under way at once.
	InFlight int
	// WritesInFlight is how many of them may be writes; zero for as many.
	WritesInFlight int
	// ResponseBytes is the longest body taken, after decompression.
	ResponseBytes  int64
	CircuitBreaker CircuitBreaker
	UserAgent      string
	// Addresses says where connections may lead, the one to a proxy or a token endpoint included.
	Addresses Addresses
}

// Timeouts bound parts of a request. What is above the whole, or zero, ends with the whole; connecting and the handshake
// take ten seconds at most unless they are given more.
type Timeouts struct {
	Connect, TLSHandshake, ResponseHeader time.Duration
}

// within gives a bound for each part; that of the headers is zero where the whole bounds them.
func (t Timeouts) within(whole time.Duration) Timeouts {
	part := func(given time.Duration) time.Duration {
		if given <= 0 {
			return min(longestConnect, whole)
		}
		return min(given, whole)
	}
	bounds := Timeouts{Connect: part(t.Connect), TLSHandshake: part(t.TLSHandshake)}
	if t.ResponseHeader > 0 && t.ResponseHeader < whole {
		bounds.ResponseHeader = t.ResponseHeader
	}
	return bounds
}

// TLSConfig are the options of the connection.
type TLSConfig struct {
	// CABundle is one or more PEM certificates to trust instead of the system's.
	CABundle []byte
	// ServerName is the name to expect in the certificate, when it is not the host of the base URL.
	ServerName         string
	InsecureSkipVerify bool
	// ClientCertificate is shown to a server that asks for one; nil for none.
	ClientCertificate *ClientCertificate
}

// ConfigError says which field of a Config is wrong. It never holds a secret.
type ConfigError struct {
	Field   string
	Message string
	// Err is the cause, if a caller may want to know it by its type.
	Err error
}

// Error implements error.
func (e *ConfigError) Error() string { return e.Field + ": " + e.Message }

// Unwrap gives the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

// withDefaults fills what is zero.
func (c Config) withDefaults() Config {
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.RequestsPerSecond == 0 {
		c.RequestsPerSecond = DefaultRequestsPerSecond
	}
	if c.Burst == 0 {
		c.Burst = DefaultBurst
	}
	if c.InFlight == 0 {
		c.InFlight = DefaultInFlight
	}
	if c.ResponseBytes == 0 {
		c.ResponseBytes = DefaultResponseBytes
	}
	if c.CircuitBreaker.Failures == 0 {
		c.CircuitBreaker.Failures = DefaultFailures
	}
	if c.CircuitBreaker.OpenFor == 0 {
		c.CircuitBreaker.OpenFor = DefaultOpenFor
	}
	if c.UserAgent == "" {
		c.UserAgent = DefaultUserAgent
	}
	return c
}

// validate checks a Config that has its defaults.
func (c Config) validate() error {
	positive := []struct {
		field string
		value float64
	}{
		{"timeout", float64(c.Timeout)},
		{"requestsPerSecond", c.RequestsPerSecond},
		{"burst", float64(c.Burst)},
		{"inFlight", float64(c.InFlight)},
		{"responseBytes", float64(c.ResponseBytes)},
		{"circuitBreaker.failures", float64(c.CircuitBreaker.Failures)},
		{"circuitBreaker.openFor", float64(c.CircuitBreaker.OpenFor)},
	}
	for _, p := range positive {
		if p.value <= 0 {
			return &ConfigError{Field: p.field, Message: "must be more than zero"}
		}
	}
	if !validHeaderValue(c.UserAgent) {
		return &ConfigError{Field: "userAgent", Message: "holds a line break or a control character"}
	}
	for i, h := range c.Headers {
		if problem := headerProblem(h); problem != "" {
			return &ConfigError{Field: fmt.Sprintf("headers[%d]", i), Message: problem}
		}
	}
	for i, q := range c.Query {
		if q.Name == "" {
			return &ConfigError{Field: fmt.Sprintf("query[%d]", i), Message: "the name must not be empty"}
		}
	}
	return c.Credential.validate()
}
