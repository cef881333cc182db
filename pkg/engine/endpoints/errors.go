package endpoints

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/restmapping/operator/pkg/rest"
)

// ErrClosed is what Resolve gives after Close.
var ErrClosed = errors.New("endpoints are closed because the operator is shutting down")

// EndpointNotFoundError says that there is no such endpoint.
type EndpointNotFoundError struct {
	Ref Ref
}

// Error implements error.
func (e *EndpointNotFoundError) Error() string {
	switch {
	case e.Ref.Kind == KindRestEndpoint && e.Ref.Namespace == "":
		return fmt.Sprintf("%s cannot be used by a cluster-scoped custom resource, which has no namespace: let the mapping name a %s",
			e.Ref, KindClusterRestEndpoint)
	case e.Ref.Kind != KindRestEndpoint && e.Ref.Kind != KindClusterRestEndpoint:
		return fmt.Sprintf("%s is not a kind of endpoint: use %s or %s", e.Ref.Kind, KindRestEndpoint, KindClusterRestEndpoint)
	default:
		return fmt.Sprintf("%s does not exist: create it, or correct the name", e.Ref)
	}
}

// NamespaceNotAllowedError says that a ClusterRestEndpoint is not open to a namespace.
type NamespaceNotAllowedError struct {
	Endpoint  Ref
	Namespace string
}

// Error implements error.
func (e *NamespaceNotAllowedError) Error() string {
	return fmt.Sprintf("%s is not open to namespace %q: add the namespace to its spec.allowedNamespaces.names, or give the namespace a label that spec.allowedNamespaces.selector takes",
		e.Endpoint, e.Namespace)
}

// InvalidEndpointError says which field of an endpoint cannot work.
type InvalidEndpointError struct {
	Endpoint Ref
	Field    string
	Message  string
	Err      error
}

// Error implements error.
func (e *InvalidEndpointError) Error() string {
	return fmt.Sprintf("%s: %s: %s", e.Endpoint, e.Field, e.Message)
}

// Unwrap gives the cause.
func (e *InvalidEndpointError) Unwrap() error { return e.Err }

// CredentialError says that what requests carry could not be fetched, so that nothing was sent.
type CredentialError struct {
	Endpoint Ref
	Err      error
}

// Error implements error.
func (e *CredentialError) Error() string { return fmt.Sprintf("%s: %v", e.Endpoint, e.Err) }

// Unwrap gives the cause.
func (e *CredentialError) Unwrap() error { return e.Err }

// ProbeError says that the probe did not succeed. Exchange tells how: its Response or its Failure.
type ProbeError struct {
	Endpoint Ref
	Path     string
	Exchange rest.Exchange
}

// Error implements error.
func (e *ProbeError) Error() string {
	if failure := e.Exchange.Failure; failure != nil && !e.refused() {
		return fmt.Sprintf("%s: probe: %s", e.Endpoint, failure.Message)
	}
	return fmt.Sprintf("%s: probe GET %s was answered with status %d instead of 2xx: %s", e.Endpoint, e.Path, e.Status(), probeRemedy(e.Status()))
}

func probeRemedy(status int) string {
	switch {
	case status == http.StatusUnauthorized:
		return "the server does not take the credential: check spec.auth and the Secrets it names, or whether it has ended there"
	case status == http.StatusForbidden:
		return "the credential may not read that: check what its account may do, or set spec.probe.path to what it may read"
	case status == http.StatusTooManyRequests:
		return "the server asks for fewer requests: see spec.limits and spec.probe.interval"
	case status >= http.StatusInternalServerError:
		return "it is tried again: look at that server if it lasts"
	default:
		return "are spec.baseURL and spec.probe.path right?"
	}
}

// Unwrap gives the failure of the exchange, if that is why.
func (e *ProbeError) Unwrap() error {
	if e.Exchange.Failure == nil {
		return nil
	}
	return e.Exchange.Failure
}

// Status is the HTTP status of the answer, 0 when there was none.
func (e *ProbeError) Status() int {
	if e.Exchange.Response == nil {
		return 0
	}
	return e.Exchange.Response.Status
}

// refused tells that the server answered with a status that is no success. It says more than whatever else was wrong
// with the answer.
func (e *ProbeError) refused() bool { return e.Status() != 0 && !success(e.Status()) }

func success(status int) bool { return status >= 200 && status <= 299 }
