package httpapi

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// Proxy is what every connection of a client goes through, the one to a token endpoint included.
type Proxy struct {
	// URL is http, https or socks5, with a host and nothing behind it.
	URL string
	// Basic is how the proxy knows the operator; nil for not at all.
	Basic *Basic
}

// parse gives the URL as net/http wants it. What it gives holds the password and must not be shown.
func (p Proxy) parse() (*url.URL, error) {
	wrong := func(field, message string) error { return &ConfigError{Field: "proxy" + field, Message: message} }
	u, err := url.Parse(p.URL)
	switch {
	case err != nil:
		return nil, wrong(".url", "is not a URL such as http://proxy.example.com:3128")
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "socks5":
		return nil, wrong(".url", "must begin with http://, https:// or socks5://")
	case u.Hostname() == "":
		return nil, wrong(".url", "has no host")
	case u.User != nil:
		return nil, wrong(".url", "must not hold a user or a password: use basic")
	case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return nil, wrong(".url", "must end after the host and the port")
	}
	if p.Basic == nil {
		return u, nil
	}
	if p.Basic.Password.Empty() {
		return nil, wrong(".basic", "the password is empty: put a value under the key it names")
	}
	if strings.Contains(p.Basic.Username.Reveal(), ":") {
		return nil, wrong(".basic", "the user name holds a colon, which basic authentication cannot carry")
	}
	u.User = url.UserPassword(p.Basic.Username.Reveal(), p.Basic.Password.Reveal())
	return u, nil
}

// host is the proxy's host and port, for messages.
func (p Proxy) host() string {
	u, err := url.Parse(p.URL)
	if err != nil {
		return ""
	}
	return u.Host
}

// proxyOf gives the choice of a proxy for a transport: the declared one, or that of the environment.
func proxyOf(cfg Config) (func(*http.Request) (*url.URL, error), error) {
	if cfg.Proxy == nil {
		return http.ProxyFromEnvironment, nil
	}
	u, err := cfg.Proxy.parse()
	if err != nil {
		return nil, err
	}
	if err := cfg.Addresses.checkHost("proxy.url", u.Hostname()); err != nil {
		return nil, err
	}
	return http.ProxyURL(u), nil
}

// secrets are the values that must not be seen, in every form that is sent.
func (b *Basic) secrets() []Secret {
	if b == nil {
		return nil
	}
	pair := b.Username.Reveal() + ":" + b.Password.Reveal()
	return []Secret{NewSecret(base64.StdEncoding.EncodeToString([]byte(pair))), b.Password}
}

// proxyRefusedError: the proxy did not open the way to the server.
type proxyRefusedError struct {
	host   string
	status int
}

// Error implements error.
func (e *proxyRefusedError) Error() string {
	return fmt.Sprintf("the proxy %s answered %d", e.host, e.status)
}

// noteProxy keeps the status of a proxy's refusal, of which net/http keeps the text alone.
func noteProxy(_ context.Context, proxy *url.URL, _ *http.Request, answer *http.Response) error {
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	return &proxyRefusedError{host: proxy.Host, status: answer.StatusCode}
}

// explainProxy is empty for what has nothing to do with a proxy. The host is that of the declared proxy, empty for one of
// the operator's environment.
func explainProxy(err error, host string) (string, error) {
	if host != "" {
		host = " " + host
	}
	refused, dial := (*proxyRefusedError)(nil), (*net.OpError)(nil)
	switch {
	case errors.As(err, &refused) && refused.status == http.StatusProxyAuthRequired:
		return refused.Error() + ": it wants to know who asks: check proxy.basic", refused
	case errors.As(err, &refused):
		return refused.Error() + ": may it lead to that host and port?", refused
	case !errors.As(err, &dial):
		return "", nil
	case dial.Op == "socks connect":
		return "the SOCKS proxy" + host + " did not open a way to the server: check proxy, and whether it may lead to that host and port",
			errors.New("the proxy refused")
	case dial.Op == "proxyconnect":
		hint, cause := explainTLS(dial.Err, "proxy.url")
		if hint == "" {
			hint, cause = explainNetwork(dial.Err, "proxy.url")
		}
		return "the proxy" + host + " cannot be reached: " + hint, cause
	}
	return "", nil
}
