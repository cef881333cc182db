package vault

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"syscall"

	"github.com/restmapping/operator/pkg/httpapi"
)

// NotFoundError says that there is no such secret, or no such key in it, or that its newest version is deleted.
type NotFoundError struct {
	Address, Mount, Path string
	// Key is set when the secret is there and the key is not, or is no text.
	Key string
}

// Error implements error.
func (e *NotFoundError) Error() string {
	if e.Key != "" {
		return fmt.Sprintf("Vault %s: %s/%s has no text under the key %q: add it, or correct the reference", e.Address, e.Mount, e.Path, e.Key)
	}
	return fmt.Sprintf("Vault %s: %s/%s does not exist, or is deleted: write it there, or correct the path", e.Address, e.Mount, e.Path)
}

// DeniedError says that Vault does not allow what was asked.
type DeniedError struct {
	Address string
	// Doing is what was tried, for example "read secret/gitea".
	Doing  string
	Status int
	// Said are Vault's own words.
	Said string
}

// Error implements error.
func (e *DeniedError) Error() string {
	return fmt.Sprintf("Vault %s: %s was answered %d (%s): check spec.vault, and what the policy of that identity allows", e.Address, e.Doing, e.Status, e.Said)
}

// UnavailableError says that Vault gave no usable answer, which tells nothing about the secret.
type UnavailableError struct {
	Address, Doing string
	// Status is 0 when no answer came.
	Status  int
	Message string
	Err     error
}

// Error implements error.
func (e *UnavailableError) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("Vault %s: %s was answered %d (%s): it is tried again; is it unsealed?", e.Address, e.Doing, e.Status, e.Message)
	}
	return fmt.Sprintf("Vault %s: %s: %s", e.Address, e.Doing, e.Message)
}

// Unwrap gives the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// silent words why no answer came, from what is known to hold nothing else.
func silent(err error) string {
	var (
		dns       *net.DNSError
		authority x509.UnknownAuthorityError
		name      x509.HostnameError
		network   net.Error
	)
	refused := (*httpapi.AddressNotAllowedError)(nil)
	switch {
	case errors.As(err, &refused):
		return refused.Error()
	case errors.Is(err, errRedirect):
		return "it answered with a redirect, which is not followed: set spec.vault.address to where it leads"
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time: is it up, reachable and quick enough?"
	case errors.Is(err, context.Canceled):
		return "given up"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused: is spec.vault.address right and the server up?"
	case errors.As(err, &dns):
		return "its host is not known to DNS: is spec.vault.address right?"
	case errors.As(err, &authority):
		return "its certificate is signed by an unknown authority: set spec.vault.caBundle"
	case errors.As(err, &name):
		return "its certificate is for another name: is spec.vault.address right?"
	case errors.As(err, &network) && network.Timeout():
		return "no answer in time: is it up, reachable and quick enough?"
	default:
		return "no answer that could be read: is spec.vault.address that of a Vault?"
	}
}
