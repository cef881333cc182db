package endpoints

import (
	"cmp"
	"errors"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/files"
	"github.com/restmapping/operator/pkg/engine/secrets"
	"github.com/restmapping/operator/pkg/engine/tokens"
	"github.com/restmapping/operator/pkg/httpapi"
	"github.com/restmapping/operator/pkg/rest"
)

// Reason is the condition reason for an error of this package or of package secrets. Stalled tells that no retry will
// help: a person must change something.
func Reason(err error) (reason string, stalled bool) {
	var (
		notFound      *EndpointNotFoundError
		notAllowed    *NamespaceNotAllowedError
		invalid       *InvalidEndpointError
		probe         *ProbeError
		noSecret      *secrets.NotFoundError
		closedSecret  *secrets.NotAllowedError
		foreignSecret *secrets.NamespaceNotWatchedError
		unavailable   *secrets.UnavailableError
		address       *httpapi.AddressNotAllowedError
	)
	if reason := cmp.Or(tokenReason(err), vaultReason(err)); reason != "" {
		// Nothing tells when it is mended there, so it is looked at again.
		return reason, false
	}
	if reason, stalled, ok := fileReason(err); ok {
		return reason, stalled
	}
	switch {
	case errors.As(err, &notFound):
		return v1alpha1.ReasonEndpointNotFound, false
	case errors.As(err, &notAllowed):
		return v1alpha1.ReasonEndpointNotAllowed, true
	case errors.As(err, &invalid) && errors.As(err, &address):
		return v1alpha1.ReasonAddressNotAllowed, true
	case errors.As(err, &invalid):
		return v1alpha1.ReasonInvalidEndpoint, true
	case errors.As(err, &probe):
		return probeReason(probe), false
	case errors.As(err, &noSecret):
		// It may be on its way: Secrets are often made by another controller.
		return v1alpha1.ReasonSecretNotFound, false
	case errors.As(err, &closedSecret), errors.As(err, &foreignSecret):
		return v1alpha1.ReasonSecretNotAllowed, true
	case errors.As(err, &unavailable) && apierrors.IsForbidden(unavailable.Err):
		return v1alpha1.ReasonRBACMissing, false
	default:
		return v1alpha1.ReasonEndpointNotReady, false
	}
}

// tokenReason is asked first: a token that cannot be had is the cause, whatever failed for the want of it.
func tokenReason(err error) string {
	var (
		noAccount     *tokens.NotFoundError
		closedAccount *tokens.NotAllowedError
		unavailable   *tokens.UnavailableError
	)
	switch {
	case errors.As(err, &noAccount):
		return v1alpha1.ReasonServiceAccountNotFound
	case errors.As(err, &closedAccount):
		return v1alpha1.ReasonServiceAccountNotAllowed
	case errors.As(err, &unavailable) && unavailable.Forbidden():
		return v1alpha1.ReasonRBACMissing
	default:
		return ""
	}
}

func fileReason(err error) (reason string, stalled, ok bool) {
	var (
		noFile      *files.NotFoundError
		noDirectory *files.NotAllowedError
	)
	switch {
	case errors.As(err, &noFile):
		return v1alpha1.ReasonSecretNotFound, false, true
	case errors.As(err, &noDirectory):
		return v1alpha1.ReasonSecretNotAllowed, true, true
	default:
		return "", false, false
	}
}

func probeReason(e *ProbeError) string {
	if e.refused() {
		return statusReason(e.Status())
	}
	if failure := e.Exchange.Failure; failure != nil {
		if login := (*httpapi.LoginError)(nil); errors.As(failure, &login) && login.Refused {
			return v1alpha1.ReasonUnauthorized
		}
		if address := (*httpapi.AddressNotAllowedError)(nil); errors.As(failure, &address) {
			return v1alpha1.ReasonAddressNotAllowed
		}
		switch failure.Held {
		case rest.HeldByCircuit:
			return v1alpha1.ReasonCircuitOpen
		case rest.HeldByServer:
			return v1alpha1.ReasonThrottled
		default:
		}
		switch failure.Kind {
		case rest.NotSent, rest.TimedOut, rest.Broken:
			return v1alpha1.ReasonEndpointUnreachable
		default:
		}
	}
	return v1alpha1.ReasonProbeFailed
}

func statusReason(status int) string {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return v1alpha1.ReasonUnauthorized
	case status == http.StatusTooManyRequests:
		return v1alpha1.ReasonThrottled
	case status >= http.StatusInternalServerError:
		return v1alpha1.ReasonServerError
	default:
		return v1alpha1.ReasonProbeFailed
	}
}
