package metrics

import (
	"errors"

	"github.com/restmapping/operator/pkg/engine/secrets"
)

// The ways in which a read of a Secret's key ends.
const (
	readFound       = "Found"
	readMissing     = "NotFound"
	readClosed      = "NotAllowed"
	readUnavailable = "Unavailable"
)

// SecretRead counts a read of a Secret's key. It fits secrets.WithObserver.
func (m *Meter) SecretRead(err error) { m.secretReads.WithLabelValues(readResult(err)).Inc() }

func readResult(err error) string {
	var (
		missing *secrets.NotFoundError
		closed  *secrets.NotAllowedError
		foreign *secrets.NamespaceNotWatchedError
	)
	switch {
	case err == nil:
		return readFound
	case errors.As(err, &missing):
		return readMissing
	case errors.As(err, &closed), errors.As(err, &foreign):
		return readClosed
	default:
		return readUnavailable
	}
}
