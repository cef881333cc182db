package tokens

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/httpapi"
)

// requestLimit bounds one request to the API server.
const requestLimit = 10 * time.Second

// Request says which token is wanted.
type Request struct {
	Namespace, Account string
	Audiences          []string
	// Seconds is how long it is to be good; the cluster may decide otherwise.
	Seconds int64
}

// Source gets tokens. It is safe for concurrent use.
type Source struct {
	accounts typedcorev1.ServiceAccountsGetter
}

// New makes a source. Nothing is requested before Token.
func New(accounts typedcorev1.ServiceAccountsGetter) *Source { return &Source{accounts: accounts} }

// Token makes a token. It looks at the account each time, because a label that is gone must not be overlooked. Errors:
// *NotFoundError, *NotAllowedError, *UnavailableError.
func (s *Source) Token(ctx context.Context, r Request) (httpapi.Token, error) {
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	accounts := s.accounts.ServiceAccounts(r.Namespace)
	account, err := accounts.Get(ctx, r.Account, metav1.GetOptions{})
	if err != nil {
		return httpapi.Token{}, wrap(r, "get ServiceAccount", err)
	}
	if account.Labels[v1alpha1.AllowTokenLabel] != "true" {
		return httpapi.Token{}, &NotAllowedError{Namespace: r.Namespace, Name: r.Account}
	}
	wish := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: r.Audiences}}
	if r.Seconds > 0 {
		wish.Spec.ExpirationSeconds = &r.Seconds
	}
	made, err := accounts.CreateToken(ctx, r.Account, wish, metav1.CreateOptions{})
	if err != nil {
		return httpapi.Token{}, wrap(r, "create a token of ServiceAccount", err)
	}
	return httpapi.Token{Value: httpapi.NewSecret(made.Status.Token), Expires: made.Status.ExpirationTimestamp.Time}, nil
}

func wrap(r Request, doing string, err error) error {
	if apierrors.IsNotFound(err) {
		return &NotFoundError{Namespace: r.Namespace, Name: r.Account}
	}
	return &UnavailableError{Doing: fmt.Sprintf("%s %s/%s", doing, r.Namespace, r.Account), Account: r.Account, Namespace: r.Namespace, Err: err}
}
