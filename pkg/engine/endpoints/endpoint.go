package endpoints

import (
	"context"
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/httpapi"
	"github.com/restmapping/operator/pkg/rest"
)

// Endpoint is what one pass needs of an endpoint. It is made for each Resolve from what stands in the cluster then;
// the client behind it is shared. It is safe for concurrent use.
type Endpoint struct {
	ref     Ref
	facts   Facts
	timeout time.Duration
	// fetched tells that the credential is made elsewhere, now and then.
	fetched bool
	shared  *connection
}

func (d definition) endpoint(shared *connection) *Endpoint {
	return &Endpoint{
		ref: d.ref, facts: d.facts(), timeout: timeoutOf(d.spec), shared: shared,
		fetched: shared.vaulted != nil || d.spec.Auth != nil && d.spec.Auth.ServiceAccountToken != nil,
	}
}

// Ref is the endpoint's own reference.
func (e *Endpoint) Ref() Ref { return e.ref }

// Do sends one request once, with the endpoint's credential and under its limits. See httpapi.Client.Do.
func (e *Endpoint) Do(ctx context.Context, request rest.Request) rest.Exchange {
	return e.shared.client.Do(ctx, request)
}

// Reference gives a URL that the server gave in the answer to a request in a form that can be kept. See
// httpapi.Client.Reference.
func (e *Endpoint) Reference(request rest.Request, reference string) (string, error) {
	return e.shared.client.inner.Reference(request, reference)
}

// Facts are what expressions may know of the endpoint.
func (e *Endpoint) Facts() Facts { return e.facts }

// Identity names the server (scheme, host, port and base path) in the record of a custom resource.
func (e *Endpoint) Identity() string { return e.shared.identity }

// Flow tells whether requests are sent now, and at which rate.
func (e *Endpoint) Flow() httpapi.Flow { return e.shared.client.inner.Flow() }

// Timeout is the longest that one request takes, from its release by the limits.
func (e *Endpoint) Timeout() time.Duration { return e.timeout }

// Ready fetches what requests carry, if that is made elsewhere and not at hand. fetched tells that it is: then it may
// fail at any time, for reasons that no watch shows.
func (e *Endpoint) Ready(ctx context.Context) (fetched bool, err error) {
	if !e.fetched {
		return false, nil
	}
	if v := e.shared.vaulted; v != nil {
		return true, v.problem()
	}
	if err := e.shared.client.ready(ctx); err != nil {
		return true, &CredentialError{Endpoint: e.ref, Err: err}
	}
	return true, nil
}

// Probe tells whether a GET of the probe's path with this credential was answered with 2xx, now or a moment ago: then
// err is nil. declared is false when the endpoint has no probe, which proves nothing. The error is a *ProbeError, or
// that of the context, or ErrClosed.
func (e *Endpoint) Probe(ctx context.Context) (declared bool, err error) {
	return e.ProbeSince(ctx, time.Time{})
}

// ProbeSince is Probe for one who has looked at something before this time, and wants to know whether the credential
// still saw anything at all: a success from before the look says nothing about it.
func (e *Endpoint) ProbeSince(ctx context.Context, since time.Time) (declared bool, err error) {
	if e.shared.prober == nil {
		return false, nil
	}
	return true, e.shared.prober.check(ctx, since)
}

func timeoutOf(spec v1alpha1.EndpointSpec) time.Duration {
	if spec.Timeout.Duration == 0 {
		return httpapi.DefaultTimeout
	}
	return spec.Timeout.Duration
}
