package engine

import (
	"context"
	"time"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/endpoints"
	"github.com/restmapping/operator/pkg/engine/pass"
	"github.com/restmapping/operator/pkg/engine/secrets"
	"github.com/restmapping/operator/pkg/mapping"
	"github.com/restmapping/operator/pkg/rest"
)

// EndpointsOf lets passes use a registry.
func EndpointsOf(registry *endpoints.Registry) pass.Endpoints { return registryAdapter{registry} }

type registryAdapter struct{ registry *endpoints.Registry }

// Resolve implements pass.Endpoints.
func (a registryAdapter) Resolve(ctx context.Context, kind v1alpha1.EndpointKind, namespace, name string) (pass.Endpoint, error) {
	found, err := a.registry.Resolve(ctx, endpoints.Ref{Kind: kind, Namespace: namespace, Name: name})
	if err != nil {
		return nil, unavailable(err)
	}
	return endpointAdapter{found}, nil
}

func unavailable(err error) error {
	reason, stalled := endpoints.Reason(err)
	return &pass.UnavailableError{Reason: reason, Stalled: stalled, Err: err}
}

type endpointAdapter struct{ endpoint *endpoints.Endpoint }

// Do implements pass.Endpoint.
func (a endpointAdapter) Do(ctx context.Context, req rest.Request) rest.Exchange {
	return a.endpoint.Do(ctx, req)
}

// Facts implements pass.Endpoint.
func (a endpointAdapter) Facts() mapping.EndpointFacts {
	f := a.endpoint.Facts()
	return mapping.EndpointFacts{Name: f.Name, Labels: f.Labels, Values: f.Values}
}

// Identity implements pass.Endpoint.
func (a endpointAdapter) Identity() string { return a.endpoint.Identity() }

// Timeout implements pass.Endpoint.
func (a endpointAdapter) Timeout() time.Duration { return a.endpoint.Timeout() }

// Probe implements pass.Endpoint.
func (a endpointAdapter) Probe(ctx context.Context, since time.Time) (declared bool, err error) {
	return a.endpoint.ProbeSince(ctx, since)
}

// Redact implements pass.Endpoint.
func (a endpointAdapter) Redact(text string) string { return a.endpoint.Redact(text) }

// Reference implements pass.Endpoint.
func (a endpointAdapter) Reference(req rest.Request, reference string) (string, error) {
	return a.endpoint.Reference(req, reference)
}

// SecretsOf lets passes use a resolver.
func SecretsOf(resolver *secrets.Resolver) pass.Secrets { return resolverAdapter{resolver} }

type resolverAdapter struct{ resolver *secrets.Resolver }

// Value implements pass.Secrets.
func (a resolverAdapter) Value(ctx context.Context, namespace, name, key string) (string, error) {
	secret, err := a.resolver.Get(ctx, namespace, name, key)
	if err != nil {
		return "", unavailable(err)
	}
	return secret.Reveal(), nil
}
