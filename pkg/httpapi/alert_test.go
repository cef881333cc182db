package httpapi

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"testing"

	"github.com/restmapping/operator/pkg/rest"
)

// alertNumber stands for the type of crypto/tls that cannot be named: the number on the wire.
type alertNumber uint8 //nolint:errname // a number first, as in crypto/tls

func (a alertNumber) Error() string { return fmt.Sprint("alert ", uint8(a)) }

// Only a certificate alert on a connection that was made for this very request proves that nobody read it.
func TestWhatACertificateAlertProves(t *testing.T) {
	t.Parallel()
	remote := func(err error) error { return fmt.Errorf("read: %w", &net.OpError{Op: "remote error", Err: err}) }
	cases := map[string]struct {
		reused bool
		err    error
		want   rest.FailureKind
	}{
		"bad_certificate on a new connection":      {false, remote(alertNumber(42)), rest.NotSent},
		"certificate_required on a new connection": {false, remote(alertNumber(116)), rest.NotSent},
		"bad_certificate on one that was used":     {true, remote(alertNumber(42)), rest.Broken},
		"internal_error on a new connection":       {false, remote(alertNumber(80)), rest.Broken},
		"close_notify on a new connection":         {false, remote(alertNumber(0)), rest.Broken},
		"an alert of our own":                      {false, &net.OpError{Op: "local error", Err: alertNumber(42)}, rest.Broken},
		"the same text without a number":           {false, remote(errors.New("alert 42")), rest.Broken},
		"nothing inside":                           {false, remote(nil), rest.Broken},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := connect(t, Config{BaseURL: "https://h"}, WithTransportWrapper(func(http.RoundTripper) http.RoundTripper {
				return roundTrip(func(r *http.Request) (*http.Response, error) {
					httptrace.ContextClientTrace(r.Context()).GotConn(httptrace.GotConnInfo{Reused: tc.reused})
					return nil, tc.err
				})
			}))
			wantFailure(t, client.Do(t.Context(), write(http.MethodPost, "/x", "{}")), tc.want)
		})
	}
}
