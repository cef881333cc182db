package httpapi

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
)

// certificateAlerts are what a server says about a client's certificate (RFC 8446, section 6.2): bad_certificate,
// unsupported_certificate, certificate_revoked, certificate_expired, certificate_unknown, unknown_ca, access_denied and
// certificate_required.
func certificateAlerts() []uint64 { return []uint64{42, 43, 44, 45, 46, 48, 49, 116} }

// refusedCertificate reports whether the server ended the handshake over the client's certificate, or the lack of one.
// Under TLS 1.3 the client learns this only after it has sent its request. On a new connection it proves that nobody
// read the request: a server that asks for a certificate takes no data before it has accepted one.
func refusedCertificate(err error) bool {
	remote := (*net.OpError)(nil)
	if !errors.As(err, &remote) || remote.Op != "remote error" || remote.Err == nil {
		return false
	}
	// crypto/tls does not export the type of an alert on a TCP connection. It is the number on the wire.
	code := reflect.ValueOf(remote.Err)
	return code.Kind() == reflect.Uint8 && slices.Contains(certificateAlerts(), code.Uint())
}

func (c *Client) explainCertificate() string {
	leaf := c.clientCertificate()
	const said = "the server refused the client certificate: "
	switch {
	case leaf == nil:
		return "the server asks for a client certificate: set tls.clientCertificate"
	case c.now().After(leaf.NotAfter):
		return said + fmt.Sprintf("it expired at %s: renew it in the Secret of tls.clientCertificate", day(leaf.NotAfter))
	case c.now().Before(leaf.NotBefore):
		return said + fmt.Sprintf("it is not valid before %s: is the clock right?", day(leaf.NotBefore))
	default:
		return said + "is the one of tls.clientCertificate known and trusted there?"
	}
}

// clientCertificate is the one that the client shows, nil when it has none.
func (c *Client) clientCertificate() *x509.Certificate {
	if len(c.transport.TLSClientConfig.Certificates) == 0 {
		return nil
	}
	return c.transport.TLSClientConfig.Certificates[0].Leaf
}
