package httpapi

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/restmapping/operator/pkg/rest"
)

// failure makes the fact. The cause is only kept where its text is known to hold nothing from the request: errors of
// net/http may hold the URL with its query, a proxy's password, or the server's own bytes.
func (a *attempt) failure(kind rest.FailureKind, cause error, format string, args ...any) *rest.Failure {
	message := describe(a.req) + ": " + fmt.Sprintf(format, args...)
	failure := &rest.Failure{Kind: kind, Message: message, Err: cause}
	if address := (*AddressNotAllowedError)(nil); kind == rest.NotSent && errors.As(cause, &address) {
		failure.Held = rest.HeldByAddress
	}
	return failure
}

// refused: the request breaks a rule of this package and was not sent.
func (a *attempt) refused(err error) rest.Exchange {
	return rest.Exchange{Failure: a.failure(rest.NotSent, err, "not sent: %s", err.Error())}
}

// neverReleased: the context ended, or was going to end, before the limits let the request go.
func (a *attempt) neverReleased(ctx context.Context, err error) rest.Exchange {
	if errors.Is(err, context.Canceled) || errors.Is(ctx.Err(), context.Canceled) {
		return rest.Exchange{Failure: a.failure(rest.NotSent, context.Canceled,
			"not sent: given up while waiting for the endpoint's limits")}
	}
	return rest.Exchange{Failure: a.failure(rest.NotSent, context.DeadlineExceeded,
		"not sent: the deadline came before the endpoint's limits allowed the request: raise limits.requestsPerSecond or limits.inFlight, if the server can take it")}
}

// broken judges nothing but whether the request may have left. The response is what arrived before, if anything.
func (a *attempt) broken(ctx context.Context, err error, response *rest.Response) rest.Exchange {
	hint, cause := explain(ctx, err, a.client, "baseURL")
	var kind rest.FailureKind
	var prefix string
	switch {
	case !a.left.Load(), response == nil && a.fresh.Load() && refusedCertificate(err):
		kind, prefix = rest.NotSent, "not sent: no connection to "
	case errors.Is(cause, context.DeadlineExceeded):
		kind, prefix = rest.TimedOut, "no whole answer from "
	default:
		kind, prefix = rest.Broken, "no whole answer from "
	}
	prefix += a.client.target.host() + ": "
	if response != nil {
		prefix += fmt.Sprintf("status %d arrived, but its body did not: ", response.Status)
	}
	return rest.Exchange{Response: response, Failure: a.failure(kind, cause, "%s%s", prefix, hint)}
}

// explain gives a cause that is safe to show and a hint what to do about it. The field is where the address stands.
func explain(ctx context.Context, err error, c *Client, field string) (string, error) {
	switch {
	case errors.Is(context.Cause(ctx), errTimeout):
		return fmt.Sprintf("the timeout of %s passed: is the server slow, or the timeout too short?", c.timeout), context.DeadlineExceeded
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return "the deadline of this pass was reached", context.DeadlineExceeded
	case errors.Is(ctx.Err(), context.Canceled):
		return "the operator gave up waiting, because it stops or because something changed", context.Canceled
	}
	if hint, cause := explainAddress(err, field); hint != "" {
		return hint, cause
	}
	if hint, cause := explainProxy(err, c.proxyHost); hint != "" {
		return hint, cause
	}
	if refusedCertificate(err) {
		return c.explainCertificate(), errors.New("client certificate refused")
	}
	if hint, cause := explainTLS(err, field); hint != "" {
		return hint, cause
	}
	return explainNetwork(err, field)
}

func explainTLS(err error, field string) (string, error) {
	var (
		wrongName x509.HostnameError
		unknown   x509.UnknownAuthorityError
		invalid   x509.CertificateInvalidError
		alert     *net.OpError
		record    tls.RecordHeaderError
	)
	switch {
	case errors.As(err, &wrongName):
		return fmt.Sprintf(
			"the server's certificate is for %s, not %s: set tls.serverName or fix %s",
			certificateNames(wrongName.Certificate), wrongName.Host, field), errors.New("certificate for another name")
	case errors.As(err, &unknown):
		return "the server's certificate is signed by an unknown authority: set tls.caBundle",
			errors.New("certificate of an unknown authority")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return outOfDate(invalid.Cert), errors.New("certificate out of date")
	case errors.As(err, &invalid):
		return "the server's certificate is not valid for a server: replace it, or set tls.caBundle", errors.New("certificate not valid")
	case errors.As(err, &alert) && alert.Op == "remote error":
		// crypto/tls names an alert of the other side so; its type is not exported, its texts are constants.
		return fmt.Sprintf("the server refused the TLS connection (%s): does it ask for a client certificate (tls.clientCertificate) or another TLS version?", alert.Err), errors.New("TLS alert")
	case errors.As(err, &record), errors.Is(err, http.ErrSchemeMismatch):
		return "the server does not speak TLS at this port: is http:// meant in " + field + "?", http.ErrSchemeMismatch
	}
	return "", nil
}

// outOfDate tells whose certificate is not good at this time: the server's own, or that of an authority it leads to.
func outOfDate(cert *x509.Certificate) string {
	whose, remedy := "the server's certificate", "renew it there"
	if cert.IsCA {
		whose = fmt.Sprintf("the certificate of the authority %q behind the server's", cut(cert.Subject.CommonName))
		remedy = "renew it, and put the new one into tls.caBundle"
	}
	return fmt.Sprintf("%s is good from %s to %s and not now: %s", whose, day(cert.NotBefore), day(cert.NotAfter), remedy)
}

func day(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// certificateNames lists a few names that a certificate is for.
func certificateNames(cert *x509.Certificate) string {
	const most = 4
	names := slices.Clone(cert.DNSNames)
	for _, ip := range cert.IPAddresses {
		names = append(names, ip.String())
	}
	if len(names) == 0 {
		return "no name"
	}
	if len(names) > most {
		names = append(names[:most:most], "others")
	}
	return cut(strings.Join(names, ", "))
}

func explainNetwork(err error, field string) (string, error) {
	var (
		dns     *net.DNSError
		errno   syscall.Errno
		network net.Error
	)
	place := field
	if field == "baseURL" {
		place = "the base URL"
	}
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "the host of " + place + " is not known to DNS: is " + field + " right?", errors.New("host not found")
	case errors.As(err, &dns):
		return "the host of " + place + " could not be looked up: does DNS work here?", errors.New("DNS failed")
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused: is " + place + " right and the server up?", syscall.ECONNREFUSED
	case errors.As(err, &errno):
		return errno.Error() + ": is the server up and reachable from here?", errno
	case errors.As(err, &network) && network.Timeout():
		return "no connection or answer in time: is the server up, reachable and quick enough?", context.DeadlineExceeded
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "the server closed the connection", io.ErrUnexpectedEOF
	}
	return "the connection broke, a proxy refused it, or the answer was not HTTP with a header below 64 KiB",
		errors.New("connection broken")
}
