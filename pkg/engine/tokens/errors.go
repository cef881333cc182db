package tokens

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/restmapping/operator/api/v1alpha1"
)

// NotFoundError says that a ServiceAccount does not exist.
type NotFoundError struct {
	Namespace, Name string
}

// Error implements error.
func (e *NotFoundError) Error() string {
	return fmt.Sprintf("ServiceAccount %s/%s does not exist: create it with the label %s=true, or correct the name",
		e.Namespace, e.Name, v1alpha1.AllowTokenLabel)
}

// NotAllowedError says that a ServiceAccount exists without the label that opens its tokens to endpoints.
type NotAllowedError struct {
	Namespace, Name string
}

// Error implements error.
func (e *NotAllowedError) Error() string {
	return fmt.Sprintf("tokens of ServiceAccount %s/%s are not open to endpoints: kubectl label serviceaccount -n %s %s %s=true",
		e.Namespace, e.Name, e.Namespace, e.Name, v1alpha1.AllowTokenLabel)
}

// UnavailableError says that the API server did not give what was asked, which tells nothing about the account.
type UnavailableError struct {
	// Doing is what was tried, for example "get ServiceAccount team-a/reader".
	Doing              string
	Namespace, Account string
	Err                error
}

// Error implements error.
func (e *UnavailableError) Error() string {
	if !e.Forbidden() {
		return fmt.Sprintf("%s: %v", e.Doing, e.Err)
	}
	return fmt.Sprintf(`%s: %v: give the operator's ServiceAccount in namespace %s the rules `+
		`{apiGroups: [""], resources: [serviceaccounts], resourceNames: [%s], verbs: [get]} and `+
		`{apiGroups: [""], resources: [serviceaccounts/token], resourceNames: [%s], verbs: [create]}, `+
		`or set the chart's value rbac.serviceAccountTokens`,
		e.Doing, e.Err, e.Namespace, e.Account, e.Account)
}

// Unwrap gives the cause.
func (e *UnavailableError) Unwrap() error { return e.Err }

// Forbidden tells that a right is missing.
func (e *UnavailableError) Forbidden() bool { return apierrors.IsForbidden(e.Err) }
