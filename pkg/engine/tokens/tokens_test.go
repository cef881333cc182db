package tokens_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/restmapping/operator/pkg/engine/tokens"
)

var reader = tokens.Request{Namespace: "team-a", Account: "reader", Audiences: []string{"vault"}, Seconds: 900}

func account(labels map[string]string) *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "reader", Labels: labels}}
}

var open = map[string]string{"restmapping.dev/allow-token": "true"}

// cluster answers requests for tokens, and notes them.
func cluster(fail map[string]error, objects ...runtime.Object) (*fake.Clientset, *[]authenticationv1.TokenRequest) {
	client, asked := fake.NewClientset(objects...), &[]authenticationv1.TokenRequest{}
	client.PrependReactor("*", "serviceaccounts", func(action k8stesting.Action) (bool, runtime.Object, error) {
		if err := fail[action.GetVerb()]; err != nil {
			return true, nil, err
		}
		create, ok := action.(k8stesting.CreateAction)
		if !ok || action.GetSubresource() != "token" {
			return false, nil, nil
		}
		request, _ := create.GetObject().(*authenticationv1.TokenRequest)
		*asked = append(*asked, *request)
		made := request.DeepCopy()
		made.Status = authenticationv1.TokenRequestStatus{Token: "a-token", ExpirationTimestamp: metav1.NewTime(time.Unix(1000, 0))}
		return true, made, nil
	})
	return client, asked
}

func TestATokenIsMadeAsAskedFor(t *testing.T) {
	t.Parallel()
	client, asked := cluster(nil, account(open))
	token, err := tokens.New(client.CoreV1()).Token(t.Context(), reader)
	if err != nil {
		t.Fatal(err)
	}
	if token.Value.Reveal() != "a-token" || !token.Expires.Equal(time.Unix(1000, 0)) {
		t.Errorf("got %q until %s", token.Value.Reveal(), token.Expires)
	}
	want := []authenticationv1.TokenRequest{{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{"vault"}, ExpirationSeconds: new(int64(900))}}}
	if diff := cmp.Diff(want, *asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
}

func TestNoTokenIsMade(t *testing.T) {
	t.Parallel()
	accounts := schema.GroupResource{Resource: "serviceaccounts"}
	forbidden := apierrors.NewForbidden(accounts, "reader", errors.New("no"))
	isA := func(target any) func(error) bool { return func(err error) bool { return errors.As(err, target) } }
	cases := map[string]struct {
		objects []runtime.Object
		fail    map[string]error
		is      func(error) bool
		says    []string
	}{
		"no such account": {nil, nil, isA(new(*tokens.NotFoundError)), []string{"team-a/reader does not exist", "allow-token=true"}},
		"no label": {
			[]runtime.Object{account(nil)},
			nil, isA(new(*tokens.NotAllowedError)),
			[]string{"kubectl label serviceaccount -n team-a reader restmapping.dev/allow-token=true"},
		},
		"the label of Secrets": {
			[]runtime.Object{account(map[string]string{"restmapping.dev/allow-read": "true"})}, nil, isA(new(*tokens.NotAllowedError)), nil,
		},
		"another value of the label": {
			[]runtime.Object{account(map[string]string{"restmapping.dev/allow-token": "yes"})}, nil, isA(new(*tokens.NotAllowedError)), nil,
		},
		"no right to look": {
			[]runtime.Object{account(open)},
			map[string]error{"get": forbidden},
			isA(new(*tokens.UnavailableError)),
			[]string{"resources: [serviceaccounts/token], resourceNames: [reader], verbs: [create]", "in namespace team-a", "rbac.serviceAccountTokens"},
		},
		"no right to make one": {
			[]runtime.Object{account(open)},
			map[string]error{"create": forbidden},
			isA(new(*tokens.UnavailableError)),
			[]string{"create a token of ServiceAccount team-a/reader", "verbs: [create]"},
		},
		"no answer": {
			[]runtime.Object{account(open)},
			map[string]error{"create": errors.New("connection refused")},
			isA(new(*tokens.UnavailableError)),
			[]string{"connection refused"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, asked := cluster(tc.fail, tc.objects...)
			_, err := tokens.New(client.CoreV1()).Token(context.WithoutCancel(t.Context()), reader)
			if err == nil || !tc.is(err) {
				t.Fatalf("got %T %v", err, err)
			}
			for _, want := range tc.says {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
			if len(*asked) > 0 {
				t.Errorf("a token was made: %v", *asked)
			}
		})
	}
}
