package endpoints

import (
	"net/netip"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/httpapi"
)

// Check says what of an endpoint's specification can be judged without its Secrets and without a request. Where it may connect is
// not judged: an administrator may allow a range later. The error is an *InvalidEndpointError.
func Check(ref Ref, spec v1alpha1.EndpointSpec) error {
	if _, err := identityOf(spec.BaseURL); err != nil {
		return &InvalidEndpointError{Endpoint: ref, Field: "spec.baseURL", Message: "it is not a URL", Err: err}
	}
	if spec.Probe != nil {
		if _, err := probeRequest(ref, spec.Probe.Path); err != nil {
			return err
		}
	}
	config := configOf(spec, material{credential: &httpapi.Credential{}}, "")
	config.Addresses.Allowed = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}
	client, err := httpapi.NewClient(config)
	if err != nil {
		return invalidConfig(ref, err)
	}
	client.Close()
	return nil
}
