//go:build cluster

package operator_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/restmapping/operator/internal/charttest"
	"github.com/restmapping/operator/internal/lab"
	"github.com/restmapping/operator/internal/restfake"
	"github.com/restmapping/operator/internal/vaultfake"
)

const audience = "https://things.example"

// reviewed is a server that takes whom the cluster knows, as a TokenReview for its own audience tells.
type reviewed struct {
	*httptest.Server
	fake    *restfake.Server
	cluster kubernetes.Interface

	mu    sync.Mutex
	users map[string]int
}

func newReviewed(t *testing.T, l *lab.Lab) *reviewed {
	t.Helper()
	cluster, err := kubernetes.NewForConfig(l.Admin)
	if err != nil {
		t.Fatal(err)
	}
	s := &reviewed{cluster: cluster, fake: restfake.New([]restfake.Collection{upsertThings}), users: map[string]int{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(func() {
		s.fake.Close()
		s.Close()
	})
	return s
}

func (s *reviewed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	jwt, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	user, err := s.review(r.Context(), jwt)
	if err != nil {
		http.Error(w, `{"message":"who are you?"}`, http.StatusUnauthorized)
		return
	}
	s.mu.Lock()
	s.users[user]++
	s.mu.Unlock()
	s.fake.ServeHTTP(w, r)
}

// review asks the cluster whose token that is.
func (s *reviewed) review(ctx context.Context, jwt string) (user string, err error) {
	review, err := s.cluster.AuthenticationV1().TokenReviews().Create(context.WithoutCancel(ctx), &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: jwt, Audiences: []string{audience}},
	}, metav1.CreateOptions{})
	if err != nil {
		return "", err
	}
	if !review.Status.Authenticated || !slices.Contains(review.Status.Audiences, audience) {
		return "", errors.New("nobody for this audience")
	}
	return review.Status.User.Username, nil
}

func (s *reviewed) seen() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.users
}

const accountAuth = `  auth: {serviceAccountToken: {serviceAccountName: robot, audiences: [%q], expirationSeconds: 600}}
  probe: {path: /things, interval: 1s}`

// allowTokens gives the operator the rule that its condition names.
func allowTokens(l *lab.Lab, namespace string) {
	l.Apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: tokens-of-robot, namespace: %[1]s}
rules:
- {apiGroups: [""], resources: [serviceaccounts], resourceNames: [robot], verbs: [get]}
- {apiGroups: [""], resources: [serviceaccounts/token], resourceNames: [robot], verbs: [create]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: tokens-of-robot, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: tokens-of-robot}
subjects: [{kind: ServiceAccount, name: %[2]s, namespace: %[3]s}]
`, namespace, lab.Account, charttest.Namespace)
}

// TestAServiceAccountsTokenIsUsed: step by step what is missing is said, and then the server, which asks the cluster,
// sees the account. When the account is made anew, its old tokens end and a new one is fetched.
func TestAServiceAccountsTokenIsUsed(t *testing.T) {
	l := lab.New(t)
	server := newReviewed(t, l)
	kind := l.NewKind("")
	kind.Endpoint(server.URL, strings.Replace(accountAuth, "%q", `"`+audience+`"`, 1))
	kind.Mapping(upsertMapping)
	kind.Create("one", "{size: 3}")

	account := func(labels string) {
		l.Apply("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: robot, namespace: %s, labels: %s}\n", kind.Namespace, labels)
	}
	message := kind.EndpointCondition("Ready", "False", "RBACMissing")
	if want := "resources: [serviceaccounts/token], resourceNames: [robot], verbs: [create]"; !strings.Contains(message, want) {
		t.Errorf("the message does not name the rule: %s", message)
	}
	allowTokens(l, kind.Namespace)
	kind.EndpointCondition("Ready", "False", "ServiceAccountNotFound")
	account(`{}`)
	kind.EndpointCondition("Ready", "False", "ServiceAccountNotAllowed")
	if message := kind.Unready("one", "EndpointUnreachable"); !strings.Contains(message, "kubectl label serviceaccount") {
		t.Errorf("the custom resource does not say why: %s", message)
	}
	if n := len(server.seen()); n > 0 {
		t.Errorf("the server was asked as %v", server.seen())
	}
	account(`{restmapping.dev/allow-token: "true"}`)
	kind.EndpointCondition("Ready", "True", "ProbeSucceeded")
	kind.Ready("one")
	robot := "system:serviceaccount:" + kind.Namespace + ":robot"
	if users := server.seen(); len(users) != 1 || users[robot] == 0 {
		t.Errorf("the server was asked as %v", users)
	}

	accounts := server.cluster.CoreV1().ServiceAccounts(kind.Namespace)
	if err := accounts.Delete(t.Context(), "robot", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	account(`{restmapping.dev/allow-token: "true"}`)
	kind.Patch("one", `{"spec":{"size":4}}`)
	l.Eventually("the change arrives with a token of the new account", func() string {
		if live := server.fake.Live("/things"); len(live) == 1 && lab.Int(live[0].Fields["size"]) == 4 {
			return ""
		}
		return kind.Status("one")
	})
	kind.Ready("one")
	checkNothingShown(t, kind, "one")
	kind.Delete("one")
	kind.Gone("one")
}

// TestVaultKnowsTheEndpointsOwnAccount: the login is reviewed by the cluster, as a real Vault has it done; what a server
// gets follows what stands in Vault, and goes on while Vault is sealed.
func TestVaultKnowsTheEndpointsOwnAccount(t *testing.T) {
	l := lab.New(t)
	kind := l.NewKind("")
	who, vault := newReviewed(t, l), vaultfake.New()
	t.Cleanup(vault.Close)
	vault.AllowLogin(vaultfake.Login{Role: "things", Lease: time.Hour, Review: func(jwt string) bool {
		user, err := who.review(t.Context(), jwt)
		return err == nil && user == "system:serviceaccount:"+kind.Namespace+":robot"
	}})
	vault.Put("apis/things", map[string]any{"token": token})
	server := l.NewServer([]restfake.Collection{upsertThings})
	allowTokens(l, kind.Namespace)
	l.Apply("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: robot, namespace: %s, labels: {restmapping.dev/allow-token: \"true\"}}\n", kind.Namespace)
	kind.Endpoint(server.URL, `  auth: {bearer: {tokenRef: {vault: {path: apis/things, key: token}}}}
  probe: {path: /things, interval: 1s}
  vault:
    address: `+vault.URL+`
    refreshInterval: 10s
    kubernetes: {role: things, serviceAccountToken: {serviceAccountName: robot, audiences: [`+audience+`]}}`)
	kind.Mapping(upsertMapping)
	kind.Create("one", "{size: 3}")
	kind.Ready("one")
	vault.Seal(true)
	kind.EndpointCondition("Ready", "False", "VaultUnavailable")
	kind.Patch("one", `{"spec":{"size":4}}`)
	l.Eventually("the change arrives while Vault is sealed", func() string {
		if live := server.Live("/things"); len(live) == 1 && lab.Int(live[0].Fields["size"]) == 4 {
			return ""
		}
		return kind.Status("one")
	})
	vault.Seal(false)
	kind.EndpointCondition("Ready", "True", "ProbeSucceeded")
	checkNothingShown(t, kind, "one")
	kind.Delete("one")
	kind.Gone("one")
}

// TestATokenForAnotherAudienceIsRefusedByTheServer shows that the server of the test above does look.
func TestATokenForAnotherAudienceIsRefusedByTheServer(t *testing.T) {
	l := lab.New(t)
	server := newReviewed(t, l)
	kind := l.NewKind("")
	allowTokens(l, kind.Namespace)
	l.Apply("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: robot, namespace: %s, labels: {restmapping.dev/allow-token: \"true\"}}\n", kind.Namespace)
	kind.Endpoint(server.URL, strings.Replace(accountAuth, "%q", `"https://elsewhere.example"`, 1))
	kind.EndpointCondition("Ready", "False", "Unauthorized")
}
