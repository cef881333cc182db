package endpoints

import (
	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/httpapi"
)

// Check says what of an endpoint's specification can be judged without its Secrets and without a request. The error is an
// *InvalidEndpointError.
func Check(ref Ref, spec v1alpha1.EndpointSpec) error {
	if _, err := identityOf(spec.BaseURL); err != nil {
		return &InvalidEndpointError{Endpoint: ref, Field: "spec.baseURL", Message: "it is not a URL", Err: err}
	}
	if spec.Probe != nil {
		if _, err := probeRequest(ref, spec.Probe.Path); err != nil {
			return err
		}
	}
	client, err := httpapi.NewClient(configOf(spec, material{credential: &httpapi.Credential{}}, ""))
	if err != nil {
		return invalidConfig(ref, err)
	}
	client.Close()
	return nil
}
