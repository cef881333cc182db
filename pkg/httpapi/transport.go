package httpapi

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

const (
	idleTimeout    = 90 * time.Second
	keepAlive      = 30 * time.Second
	longestConnect = 10 * time.Second
	// responseHeaderBytes bounds the headers of an answer.
	responseHeaderBytes = 64 << 10
)

// newDialer makes what every connection of a client is made with. A dial goes on after its request gave up, for the next
// request to use, so it needs a bound of its own.
func newDialer(cfg Config) *net.Dialer {
	return &net.Dialer{Timeout: cfg.Timeouts.within(cfg.Timeout).Connect, KeepAlive: keepAlive, ControlContext: cfg.Addresses.control}
}

// newTransport makes the one pool of connections of a client.
func newTransport(cfg Config, dialer *net.Dialer) (*http.Transport, error) {
	tlsConfig, err := newTLSConfig(cfg.TLS)
	if err != nil {
		return nil, err
	}
	proxy, err := proxyOf(cfg)
	if err != nil {
		return nil, err
	}
	timeouts := cfg.Timeouts.within(cfg.Timeout)
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		Proxy:                  proxy,
		OnProxyConnectResponse: noteProxy,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        tlsConfig,
		TLSHandshakeTimeout:    timeouts.TLSHandshake,
		ResponseHeaderTimeout:  timeouts.ResponseHeader,
		MaxIdleConns:           cfg.InFlight,
		MaxIdleConnsPerHost:    cfg.InFlight,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: responseHeaderBytes,
		Protocols:              protocols,
	}, nil
}

// newTokenTransport is for a token endpoint: the same options, but its own name in the certificate and few connections.
func newTokenTransport(cfg Config, dialer *net.Dialer) (*http.Transport, error) {
	if cfg.Credential.OAuth2 == nil {
		return nil, nil //nolint:nilnil // none is needed
	}
	token, err := url.Parse(cfg.Credential.OAuth2.TokenURL)
	if err != nil {
		return nil, &ConfigError{Field: "credential.oauth2.tokenURL", Message: "is not a URL"}
	}
	if err := cfg.Addresses.checkHost("credential.oauth2.tokenURL", token.Hostname()); err != nil {
		return nil, err
	}
	if base, err := url.Parse(cfg.BaseURL); err == nil && !strings.EqualFold(base.Hostname(), token.Hostname()) {
		cfg.TLS.ServerName = ""
	}
	cfg.InFlight = 1
	return newTransport(cfg, dialer)
}

func newTLSConfig(cfg TLSConfig) (*tls.Config, error) {
	config := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		ServerName:         cfg.ServerName,
		InsecureSkipVerify: cfg.InsecureSkipVerify, //nolint:gosec // the endpoint's author asked for it by name
	}
	if len(cfg.CABundle) > 0 {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(cfg.CABundle) {
			return nil, &ConfigError{Field: "tls.caBundle", Message: "holds no PEM certificate (-----BEGIN CERTIFICATE-----)"}
		}
		config.RootCAs = pool
	}
	if cfg.ClientCertificate != nil {
		pair, err := cfg.ClientCertificate.pair()
		if err != nil {
			return nil, err
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// NewTransport makes a transport with the TLS options, the proxy and the timeout of an endpoint, for a server beside it from
// which its credential comes: the one of the base URL. It leads where the endpoint may connect, and nowhere else. It keeps no
// connection, since it is used every few minutes.
func NewTransport(cfg Config) (*http.Transport, error) {
	cfg = cfg.withDefaults()
	where, err := newTarget(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	if err := cfg.Addresses.checkHost("address", where.base.Hostname()); err != nil {
		return nil, err
	}
	transport, err := newTransport(cfg, newDialer(cfg))
	if err != nil {
		return nil, err
	}
	transport.DisableKeepAlives = true
	return transport, nil
}
