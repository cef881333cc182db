//go:build cluster

package charttest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/restmapping/operator/internal/controlplane"
)

// question is "may I VERB RESOURCE[/SUBRESOURCE].GROUP in NAMESPACE"; an empty namespace means everywhere.
type question struct{ verb, resource, group, namespace string }

func (q question) String() string {
	return fmt.Sprintf("%s %s.%s in namespace %q", q.verb, q.resource, q.group, q.namespace)
}

// ask lets the API server answer for the client's own identity.
func (q question) ask(ctx context.Context, client kubernetes.Interface) (bool, error) {
	resource, subresource, _ := strings.Cut(q.resource, "/")
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{
			Verb: q.verb, Group: q.group, Resource: resource, Subresource: subresource, Namespace: q.namespace,
		},
	}}
	answer, err := client.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("%s: %w", q, err)
	}
	return answer.Status.Allowed, nil
}

// all makes a question of each verb.
func all(verbs, resource, group, namespace string) []question {
	var questions []question
	for verb := range strings.FieldsSeq(verbs) {
		questions = append(questions, question{verb, resource, group, namespace})
	}
	return questions
}

// check asks all questions and compares. The API server learns of a new role within moments, so what is expected to be
// allowed is asked again for a while; what is denied is asked after that.
func check(t *testing.T, client kubernetes.Interface, allowed, denied [][]question) {
	t.Helper()
	for _, questions := range allowed {
		for _, q := range questions {
			eventually(t, client, q, true)
		}
	}
	for _, questions := range denied {
		for _, q := range questions {
			yes, err := q.ask(t.Context(), client)
			if err != nil {
				t.Fatal(err)
			}
			if yes {
				t.Errorf("allowed and must not be: %s", q)
			}
		}
	}
}

func eventually(t *testing.T, client kubernetes.Interface, q question, want bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
		got, err := q.ask(ctx, client)
		return got == want, err
	})
	if err != nil {
		t.Errorf("%s: allowed must become %t: %v", q, want, err)
	}
}

const (
	read  = "get list watch"
	own   = "restmapping.dev"
	group = "example.com"
)

// clusterScoped is what every installation may do in the whole cluster.
func clusterScoped() [][]question {
	return [][]question{
		all(read+" patch update", "restmappings", own, ""),
		all("get patch update", "restmappings/status", own, ""),
		all(read, "clusterrestendpoints", own, ""),
		all("get patch update", "clusterrestendpoints/status", own, ""),
		all(read, "customresourcedefinitions", "apiextensions.k8s.io", ""),
		all(read, "namespaces", "", ""),
		all("create", "selfsubjectaccessreviews", "authorization.k8s.io", ""),
	}
}

// inNamespace is what it may do where its custom resources are.
func inNamespace(namespace string) [][]question {
	return [][]question{
		all(read+" patch update", "restendpoints", own, namespace),
		all("get patch update", "restendpoints/status", own, namespace),
		all(read, "secrets", "", namespace),
		all("create patch", "events", "", namespace),
		all("create patch", "events", "events.k8s.io", namespace),
		all(read+" patch update", "things", group, namespace),
		all("patch update", "things/status", group, namespace),
		all("update", "things/finalizers", group, namespace),
	}
}

// never is what no installation may do.
func never(namespace string) [][]question {
	return [][]question{
		all("create delete deletecollection", "things", group, namespace),
		all("create delete", "restmappings", own, ""),
		// The finalizer of an endpoint in use is written, so update and patch are needed: a right has no fields.
		all("create delete", "restendpoints", own, namespace),
		all("create delete", "clusterrestendpoints", own, ""),
		all("create delete update patch", "secrets", "", namespace),
		all("create delete update patch", "customresourcedefinitions", "apiextensions.k8s.io", ""),
		all("create update patch escalate bind", "clusterroles", "rbac.authorization.k8s.io", ""),
		all("create update patch", "rolebindings", "rbac.authorization.k8s.io", namespace),
		all("create get list", "pods", "", namespace),
		all("impersonate", "users", "", ""),
		all(read+" patch", "others", group, namespace),
	}
}

func TestOperatorInAllNamespaces(t *testing.T) {
	t.Parallel()
	plane := controlplane.ForTest(t)
	namespaces(t, plane.Admin(), "wide-system", "anywhere")
	config := identity(t, plane, "wide", "wide-system", managed())
	check(t, clients(t, config),
		append(append(clusterScoped(), inNamespace("anywhere")...), all("get create update", "leases", "coordination.k8s.io", "wide-system")),
		append(never("anywhere"), all("get create update", "leases", "coordination.k8s.io", "anywhere"), all("delete", "leases", "coordination.k8s.io", "wide-system")),
	)
}

func TestOperatorInNamedNamespaces(t *testing.T) {
	t.Parallel()
	plane := controlplane.ForTest(t)
	namespaces(t, plane.Admin(), "scoped-system", "inside", "inside-too", "outside")
	config := identity(t, plane, "scoped", "scoped-system", managed("inside", "inside-too"))
	allowed := append(clusterScoped(), inNamespace("inside")...)
	allowed = append(allowed, inNamespace("inside-too")...)
	allowed = append(allowed,
		all(read, "secrets", "", "scoped-system"),
		all("create patch", "events", "events.k8s.io", "scoped-system"),
		all("create patch", "events", "events.k8s.io", "default"),
		all("get create update", "leases", "coordination.k8s.io", "scoped-system"),
	)
	denied := append(never("inside"), inNamespace("outside")...)
	denied = append(denied,
		all(read, "secrets", "", ""), all(read, "secrets", "", "default"), all(read, "secrets", "", "kube-system"),
		all(read, "things", group, ""), all(read, "things", group, "scoped-system"),
		all(read, "restendpoints", own, ""),
	)
	check(t, clients(t, config), allowed, denied)
}

// TestLabelledRoleGrantsAKindAtRunTime: in both scopes, and no further than the scope.
func TestLabelledRoleGrantsAKindAtRunTime(t *testing.T) {
	t.Parallel()
	plane := controlplane.ForTest(t)
	namespaces(t, plane.Admin(), "later-system", "later-scoped-system", "later-inside", "later-outside")
	wide := clients(t, identity(t, plane, "later", "later-system", nil))
	scoped := clients(t, identity(t, plane, "later-scoped", "later-scoped-system", map[string]any{"watchNamespaces": []any{"later-inside"}}))
	q := question{"patch", "machines", "later.example.com", "later-inside"}
	check(t, wide, nil, [][]question{{q}})
	check(t, scoped, nil, [][]question{{q}})

	err := controlplane.ApplyYAML(t.Context(), plane.Admin(), []byte(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: later-kinds, labels: {restmapping.dev/aggregate-to-operator: "true"}}
rules: [{apiGroups: [later.example.com], resources: [machines], verbs: [get, list, watch, patch, update]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, wide, q, true)
	eventually(t, scoped, q, true)
	check(t, scoped, nil, [][]question{all(read+" patch", "machines", "later.example.com", "later-outside")})

	if err := clients(t, plane.Admin()).RbacV1().ClusterRoles().Delete(t.Context(), "later-kinds", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, wide, q, false)
	eventually(t, scoped, q, false)
}
