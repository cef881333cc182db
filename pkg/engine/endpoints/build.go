package endpoints

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/httpapi"
	"github.com/restmapping/operator/pkg/rest"
)

// connection is what is shared by everybody who uses an endpoint in one generation with one credential.
type connection struct {
	// stamp is what it was built from: generation and versions of Secrets.
	stamp    string
	client   *sharedClient
	identity string
	// prober is nil when no probe is declared.
	prober *prober
	// vaulted is nil when nothing is from Vault.
	vaulted *vaulted
	// of is the endpoint that it was made for.
	of definition
}

// build makes the client.
func (r *Registry) build(d definition, stamp string, secret material) (*connection, error) {
	identity, err := identityOf(d.spec.BaseURL)
	if err != nil {
		// The parser's error quotes the URL, which is no secret but may be long.
		return nil, &InvalidEndpointError{Endpoint: d.ref, Field: "spec.baseURL", Message: "it is not a URL", Err: err}
	}
	var probe *rest.Request
	if d.spec.Probe != nil {
		request, probeErr := probeRequest(d.ref, d.spec.Probe.Path)
		if probeErr != nil {
			return nil, probeErr
		}
		probe = &request
	}
	config := configOf(d.spec, secret, r.userAgent)
	if config.Addresses, err = r.addressesOf(d); err != nil {
		return nil, err
	}
	inner, err := httpapi.NewClient(config, r.clientOptions(d)...)
	if err != nil {
		return nil, invalidConfig(d.ref, err)
	}
	made := &connection{
		stamp: stamp, identity: identity, vaulted: secret.vaulted, of: d,
		client: &sharedClient{inner: inner, drained: r.drained},
	}
	if made.vaulted != nil {
		made.client.refused = made.vaulted.hurry
	}
	if probe != nil {
		made.prober = &prober{
			ref: d.ref, client: made.client, clock: r.clock, flights: &r.probes, key: d.ref.String() + stamp,
			request: *probe, limit: timeoutOf(d.spec) + probeQueue,
		}
	}
	return made, nil
}

func (r *Registry) clientOptions(d definition) []httpapi.Option {
	ref := d.ref
	options := []httpapi.Option{
		httpapi.WithClock(r.clock.Now), httpapi.WithFlowObserver(func() { r.tellFlow(ref) }), httpapi.WithTracing(r.tracingOf(d)),
	}
	if r.wrapTransport != nil {
		options = append(options, httpapi.WithTransportWrapper(r.wrapTransport))
	}
	if r.observe != nil {
		name := ref.String()
		options = append(options, httpapi.WithObserver(func(o httpapi.Observation) { r.observe(name, o) }))
	}
	return options
}

// tracingOf is how the requests to an endpoint are traced.
func (r *Registry) tracingOf(d definition) httpapi.Tracing {
	t := r.tracing
	t.Endpoint = d.ref.String()
	if d.spec.TraceContext == v1alpha1.TraceContextOmit {
		t.Propagator = nil
	}
	return t
}

// addressesOf adds what a ClusterRestEndpoint allows for itself.
func (r *Registry) addressesOf(d definition) (httpapi.Addresses, error) {
	addresses := r.addresses
	addresses.Allowed = slices.Clone(addresses.Allowed)
	for i, cidr := range d.allowedCIDRs {
		prefix, err := netip.ParsePrefix(string(cidr))
		if err != nil {
			return addresses, &InvalidEndpointError{
				Endpoint: d.ref, Field: fmt.Sprintf("spec.allowedCIDRs[%d]", i), Message: "it is not a range such as 10.1.0.0/16", Err: err,
			}
		}
		addresses.Allowed = append(addresses.Allowed, prefix.Masked())
	}
	return addresses, nil
}

func configOf(spec v1alpha1.EndpointSpec, secret material, userAgent string) httpapi.Config {
	config := httpapi.Config{
		BaseURL:           spec.BaseURL,
		Headers:           parameters(spec.Headers),
		Query:             parameters(spec.Query),
		Credential:        *secret.credential,
		Proxy:             secret.proxy,
		Timeout:           timeoutOf(spec),
		RequestsPerSecond: float64(spec.Limits.RequestsPerSecond),
		Burst:             int(spec.Limits.Burst),
		InFlight:          int(spec.Limits.InFlight),
		WritesInFlight:    int(spec.Limits.WritesInFlight),
		ResponseBytes:     spec.Limits.ResponseBytes,
		UserAgent:         userAgent,
		CircuitBreaker: httpapi.CircuitBreaker{
			Off:      spec.CircuitBreaker.Disabled,
			Failures: int(spec.CircuitBreaker.Failures), OpenFor: durationOf(spec.CircuitBreaker.OpenFor),
		},
	}
	if t := spec.Timeouts; t != nil {
		config.Timeouts = httpapi.Timeouts{
			Connect: durationOf(t.Connect), TLSHandshake: durationOf(t.TLSHandshake), ResponseHeader: durationOf(t.ResponseHeader),
		}
	}
	if tls := spec.TLS; tls != nil {
		config.TLS = httpapi.TLSConfig{
			CABundle: []byte(tls.CABundle), ServerName: tls.ServerName, InsecureSkipVerify: tls.InsecureSkipVerify,
			ClientCertificate: secret.certificate,
		}
	}
	return config
}

func durationOf(d *metav1.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return d.Duration
}

func parameters(values []v1alpha1.NamedValue) []rest.Parameter {
	list := make([]rest.Parameter, 0, len(values))
	for _, value := range values {
		list = append(list, rest.Parameter{Name: value.Name, Value: value.Value})
	}
	return list
}

// invalidConfig says in the words of the endpoint's spec what the client found wrong with its configuration.
func invalidConfig(ref Ref, err error) error {
	wrong := (*httpapi.ConfigError)(nil)
	if !errors.As(err, &wrong) {
		return &InvalidEndpointError{Endpoint: ref, Field: "spec", Message: err.Error(), Err: err}
	}
	return &InvalidEndpointError{Endpoint: ref, Field: specField(wrong.Field), Message: wrong.Message, Err: err}
}

func specField(field string) string {
	switch field {
	case "requestsPerSecond", "burst", "inFlight", "responseBytes":
		return "spec.limits." + field
	default:
	}
	if below, ok := strings.CutPrefix(field, "credential"); ok {
		return "spec.auth" + below
	}
	return "spec." + field
}
