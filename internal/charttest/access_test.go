package charttest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/restmapping/operator/internal/chart"
	"github.com/restmapping/operator/pkg/engine/keys"
)

// everywhere is the scope of a ClusterRoleBinding.
const everywhere = ""

// grant is one right: a verb on a resource of a group in a namespace, or everywhere.
type grant struct{ Namespace, Group, Resource, Verb, Name string }

// grantsOf resolves the bindings among the objects: what the operator's ServiceAccount may do.
func grantsOf(t *testing.T, objects []*unstructured.Unstructured) []grant {
	t.Helper()
	rules := map[string][]rbacv1.PolicyRule{}
	for _, object := range chart.OfKind(objects, "Role", "ClusterRole") {
		role := as[rbacv1.ClusterRole](t, object)
		rules[object.GetKind()+"/"+object.GetNamespace()+"/"+object.GetName()] = role.Rules
	}
	var grants []grant
	for _, object := range chart.OfKind(objects, "RoleBinding", "ClusterRoleBinding") {
		binding := as[rbacv1.RoleBinding](t, object)
		checkSubjects(t, object, binding.Subjects)
		key := "ClusterRole//" + binding.RoleRef.Name
		if binding.RoleRef.Kind == "Role" {
			key = "Role/" + object.GetNamespace() + "/" + binding.RoleRef.Name
		}
		bound, found := rules[key]
		if !found {
			t.Errorf("%s %s binds %s, which the chart does not make", object.GetKind(), object.GetName(), key)
		}
		for _, rule := range bound {
			grants = append(grants, expand(object.GetNamespace(), rule)...)
		}
	}
	return grants
}

func checkSubjects(t *testing.T, binding *unstructured.Unstructured, got []rbacv1.Subject) {
	t.Helper()
	want := []rbacv1.Subject{{Kind: "ServiceAccount", Name: Release, Namespace: Namespace}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("subjects of %s %s (-want +got):\n%s", binding.GetKind(), binding.GetName(), diff)
	}
}

func expand(namespace string, rule rbacv1.PolicyRule) []grant {
	var grants []grant
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			for _, verb := range rule.Verbs {
				for _, name := range named(rule) {
					grants = append(grants, grant{namespace, group, resource, verb, name})
				}
			}
		}
	}
	return grants
}

// named are the objects that a rule is limited to; the empty name stands for all.
func named(rule rbacv1.PolicyRule) []string {
	if len(rule.ResourceNames) == 0 {
		return []string{""}
	}
	return rule.ResourceNames
}

func as[T any](t *testing.T, object *unstructured.Unstructured) *T {
	t.Helper()
	typed := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, typed, false); err != nil {
		t.Fatalf("%s %s: %v", object.GetKind(), object.GetName(), err)
	}
	return typed
}

// managed are the values of the tests below: two kinds, in all namespaces or in two.
func managed(namespaces ...any) map[string]any {
	return map[string]any{
		"watchNamespaces": append([]any{}, namespaces...),
		"managedKinds": []any{
			map[string]any{"group": "example.com", "resources": []any{"things", "parts"}},
		},
	}
}

// TestNoRoleHasAWildcard looks at every role there is, for the operator and for people.
func TestNoRoleHasAWildcard(t *testing.T) {
	t.Parallel()
	for name, values := range map[string]map[string]any{"cluster": managed(), "namespaces": managed("team-a", "team-b")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			roles := chart.OfKind(Objects(t, values), "Role", "ClusterRole")
			if len(roles) < 5 {
				t.Fatalf("got only %d roles", len(roles))
			}
			for _, object := range roles {
				for _, rule := range as[rbacv1.ClusterRole](t, object).Rules {
					words := slices.Concat(rule.APIGroups, rule.Resources, rule.Verbs, rule.NonResourceURLs)
					if strings.Contains(strings.Join(words, " "), "*") {
						t.Errorf("%s %s has a wildcard: %v", object.GetKind(), object.GetName(), rule)
					}
				}
			}
		})
	}
}

// TestOperatorCreatesAndDeletesNothingOfTheUsers: the operator writes events, its lease, its key and questions about itself.
// Everything else it may at most update, and it may delete nothing.
func TestOperatorCreatesAndDeletesNothingOfTheUsers(t *testing.T) {
	t.Parallel()
	creates := []string{"events", "leases", "secrets", "selfsubjectaccessreviews"}
	harmless := []string{"get", "list", "watch", "patch", "update"}
	for name, values := range map[string]map[string]any{"cluster": managed(), "namespaces": managed("team-a", "team-b")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, g := range grantsOf(t, Objects(t, values)) {
				if g.Verb == "create" && slices.Contains(creates, g.Resource) {
					continue
				}
				if !slices.Contains(harmless, g.Verb) {
					t.Errorf("the operator may %s %s.%s", g.Verb, g.Resource, g.Group)
				}
			}
		})
	}
}

// TestOperatorWritesOnlyWhatItOwns lists all that may be written, so that a new write right is a change of this test.
func TestOperatorWritesOnlyWhatItOwns(t *testing.T) {
	t.Parallel()
	want := []string{
		"authorization.k8s.io/selfsubjectaccessreviews", "coordination.k8s.io/leases", "/events", "/secrets", "events.k8s.io/events",
		"example.com/parts", "example.com/parts/finalizers", "example.com/parts/status",
		"example.com/things", "example.com/things/finalizers", "example.com/things/status",
		"restmapping.dev/clusterrestendpoints", "restmapping.dev/clusterrestendpoints/status",
		"restmapping.dev/restendpoints", "restmapping.dev/restendpoints/status",
		"restmapping.dev/restmappings", "restmapping.dev/restmappings/status",
	}
	slices.Sort(want)
	for name, values := range map[string]map[string]any{"cluster": managed(), "namespaces": managed("team-a")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, g := range grantsOf(t, Objects(t, values)) {
				if !slices.Contains([]string{"get", "list", "watch"}, g.Verb) {
					got = append(got, g.Group+"/"+g.Resource)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
				t.Errorf("what the operator may write (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOutputsAreGrantedByValue: the right to write Secrets and ConfigMaps comes with its value, each for itself, and never
// with a right to delete.
func TestOutputsAreGrantedByValue(t *testing.T) {
	t.Parallel()
	written := func(values map[string]any) []string {
		var got []string
		for _, g := range grantsOf(t, Objects(t, values)) {
			output := (g.Resource == "secrets" || g.Resource == "configmaps") && g.Namespace != Namespace // the key is in its own
			if output && !slices.Contains([]string{"get", "list", "watch"}, g.Verb) {
				got = append(got, g.Namespace+"/"+g.Resource+" "+g.Verb)
			}
		}
		return got
	}
	cases := map[string]struct {
		values map[string]any
		want   []string
	}{
		"by default":  {managed(), nil},
		"Secrets":     {map[string]any{"outputs": map[string]any{"secrets": true}}, []string{"/secrets create", "/secrets update"}},
		"ConfigMaps":  {map[string]any{"outputs": map[string]any{"configMaps": true}}, []string{"/configmaps create", "/configmaps update"}},
		"a namespace": {map[string]any{"outputs": map[string]any{"secrets": true}, "watchNamespaces": []any{"team-a"}}, []string{"team-a/secrets create", "team-a/secrets update"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, written(tc.values)); diff != "" {
				t.Errorf("rights (-want +got):\n%s", diff)
			}
		})
	}
}

// TestNamespacedInstallationReachesNoOtherNamespace: what is in namespaces is granted in the named ones alone.
func TestNamespacedInstallationReachesNoOtherNamespace(t *testing.T) {
	t.Parallel()
	clusterScoped := []string{
		"restmappings", "restmappings/status", "clusterrestendpoints", "clusterrestendpoints/status",
		"customresourcedefinitions", "namespaces", "selfsubjectaccessreviews",
	}
	grants := grantsOf(t, Objects(t, managed("team-a", "team-b")))
	for _, g := range grants {
		switch g.Namespace {
		case everywhere:
			if !slices.Contains(clusterScoped, g.Resource) {
				t.Errorf("%s on %s is granted everywhere", g.Verb, g.Resource)
			}
		case "default": // where Kubernetes keeps the events of cluster-scoped objects
			if g.Resource != "events" {
				t.Errorf("%s on %s is granted in namespace default", g.Verb, g.Resource)
			}
		case "team-a", "team-b", Namespace:
		default:
			t.Errorf("%s on %s is granted in namespace %s", g.Verb, g.Resource, g.Namespace)
		}
	}
	watched := []string{"secrets", "restendpoints", "restendpoints/status", "events", "things", "things/status"}
	needed := map[string][]string{
		"team-a": watched, "team-b": watched, Namespace: {"leases", "secrets", "events"}, "default": {"events"},
	}
	for namespace, resources := range needed {
		for _, resource := range resources {
			if !slices.ContainsFunc(grants, func(g grant) bool { return g.Namespace == namespace && g.Resource == resource }) {
				t.Errorf("nothing is granted on %s in %s", resource, namespace)
			}
		}
	}
	if slices.ContainsFunc(grants, func(g grant) bool { return g.Namespace == Namespace && g.Resource == "things" }) {
		t.Error("managed kinds are granted in the operator's own namespace, which is not watched")
	}
}

// TestBothScopesGrantTheSame: apart from where, the operator may do the same in both kinds of installation.
func TestBothScopesGrantTheSame(t *testing.T) {
	t.Parallel()
	anywhere := func(values map[string]any) []string {
		var all []string
		for _, g := range grantsOf(t, Objects(t, values)) {
			all = append(all, g.Verb+" "+g.Resource+"."+g.Group)
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	if diff := cmp.Diff(anywhere(managed()), anywhere(managed("team-a"))); diff != "" {
		t.Errorf("rights (-cluster +namespaces):\n%s", diff)
	}
}

// TestAggregatedRoleHasNoRules: with a field "rules", even an empty one, an upgrade of the chart would fight with the
// control plane, which fills that field.
func TestAggregatedRoleHasNoRules(t *testing.T) {
	t.Parallel()
	found := 0
	for _, object := range chart.OfKind(Objects(t, managed()), "ClusterRole") {
		if as[rbacv1.ClusterRole](t, object).AggregationRule == nil {
			continue
		}
		found++
		if _, has := object.Object["rules"]; has {
			t.Errorf("ClusterRole %s has rules beside its aggregationRule", object.GetName())
		}
	}
	if found != 1 {
		t.Errorf("got %d aggregated ClusterRoles, want 1", found)
	}
}

// TestPeopleMayWriteEndpointsOfTheirNamespaceAlone: edit may write RestEndpoints and nothing else of the operator's.
func TestPeopleMayWriteEndpointsOfTheirNamespaceAlone(t *testing.T) {
	t.Parallel()
	want := map[string]string{
		"rbac.authorization.k8s.io/aggregate-to-view": "restmappings,restendpoints,clusterrestendpoints get,list,watch",
		"rbac.authorization.k8s.io/aggregate-to-edit": "restendpoints create,update,patch,delete,deletecollection",
	}
	got := map[string]string{}
	for _, object := range chart.OfKind(Objects(t, nil), "ClusterRole") {
		for label := range object.GetLabels() {
			if !strings.HasPrefix(label, "rbac.authorization.k8s.io/") {
				continue
			}
			for _, rule := range as[rbacv1.ClusterRole](t, object).Rules {
				got[label] += strings.Join(rule.Resources, ",") + " " + strings.Join(rule.Verbs, ",")
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("roles for people (-want +got):\n%s", diff)
	}
}

// TestOperatorMakesOneSecretAndReadsItByName: a right to create cannot be limited by name, so it is limited to the
// operator's own namespace.
func TestOperatorMakesOneSecretAndReadsItByName(t *testing.T) {
	t.Parallel()
	for name, values := range map[string]map[string]any{"cluster": managed(), "namespaces": managed("team-a")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			read := false
			for _, g := range grantsOf(t, Objects(t, values)) {
				if g.Resource != "secrets" || slices.Contains([]string{"list", "watch"}, g.Verb) {
					continue
				}
				own := g.Namespace == Namespace
				read = read || own && g.Verb == "get" && g.Name == keys.SecretName
				if g.Verb != "get" && (g.Verb != "create" || !own) {
					t.Errorf("the operator may %s Secrets in %q", g.Verb, g.Namespace)
				}
			}
			if !read {
				t.Errorf("the operator may not get %s", keys.SecretName)
			}
		})
	}
}

// TestTokensAreGrantedOnRequestAlone: whoever may make tokens of every ServiceAccount may do what they may.
func TestTokensAreGrantedOnRequestAlone(t *testing.T) {
	t.Parallel()
	tokens := func(values map[string]any) []grant {
		var got []grant
		for _, g := range grantsOf(t, Objects(t, values)) {
			if strings.HasPrefix(g.Resource, "serviceaccounts") {
				got = append(got, g)
			}
		}
		return got
	}
	if got := tokens(managed()); len(got) > 0 {
		t.Errorf("granted without being asked for: %v", got)
	}
	for name, tc := range map[string]struct {
		values map[string]any
		where  []string
	}{
		"cluster":    {managed(), []string{everywhere}},
		"namespaces": {managed("team-a"), []string{"team-a", Namespace}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.values["rbac"] = map[string]any{"serviceAccountTokens": true}
			var want []grant
			for _, namespace := range tc.where {
				want = append(want, grant{Namespace: namespace, Resource: "serviceaccounts", Verb: "get"}, grant{Namespace: namespace, Resource: "serviceaccounts/token", Verb: "create"})
			}
			got := tokens(tc.values)
			byText := func(a, b grant) int {
				return strings.Compare(a.Namespace+a.Resource, b.Namespace+b.Resource)
			}
			slices.SortFunc(got, byText)
			slices.SortFunc(want, byText)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("rights on tokens (-want +got):\n%s", diff)
			}
		})
	}
}
