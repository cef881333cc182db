package secrets

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/restmapping/operator/api/v1alpha1"
)

// NotFoundError says that a Secret, or one key of it, does not exist.
type NotFoundError struct {
	Namespace string
	Name      string
	// Key is set when the Secret is there and the key is not.
	Key string
}

// Error implements error.
func (e *NotFoundError) Error() string {
	if e.Key != "" {
		return fmt.Sprintf("Secret %s/%s has no key %q: add the key to the Secret, or correct the reference", e.Namespace, e.Name, e.Key)
	}
	return fmt.Sprintf("Secret %s/%s does not exist: create it with the label %s=true, or correct the reference",
		e.Namespace, e.Name, v1alpha1.AllowReadLabel)
}

// NotAllowedError says that a Secret exists without the label that opens it to the operator.
type NotAllowedError struct {
	Namespace string
	Name      string
}

// Error implements error.
func (e *NotAllowedError) Error() string {
	return fmt.Sprintf("Secret %s/%s is not open to the operator: kubectl label secret -n %s %s %s=true",
		e.Namespace, e.Name, e.Namespace, e.Name, v1alpha1.AllowReadLabel)
}

// NamespaceNotWatchedError says that the operator was started for other namespaces.
type NamespaceNotWatchedError struct {
	Namespace string
}

// Error implements error.
func (e *NamespaceNotWatchedError) Error() string {
	return fmt.Sprintf("Secrets of namespace %q are not read: the operator was started for other namespaces; add this one to its list", e.Namespace)
}

// UnavailableError says that the API server did not answer what was asked, which tells nothing about the Secret.
type UnavailableError struct {
	// Doing is what was tried, for example "get Secret team-a/token" or "watch labelled Secrets".
	Doing string
	Err   error
}

// Error implements error.
func (e *UnavailableError) Error() string {
	if apierrors.IsForbidden(e.Err) {
		return fmt.Sprintf("%s: %v: give the operator's ServiceAccount the verbs get, list and watch on secrets there", e.Doing, e.Err)
	}
	return fmt.Sprintf("%s: %v", e.Doing, e.Err)
}

// Unwrap gives the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }
