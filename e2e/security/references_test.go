package security_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/api/v1alpha1"
)

// credentials are the references of an endpoint, each with an endpoint's fields in which REF stands for the reference and
// SERVER for the server's base URL. GOOD is a Secret of the endpoint's own.
var credentials = map[string]string{
	"auth.bearer.tokenRef":                 "auth: {bearer: {tokenRef: REF}}",
	"auth.basic.usernameRef":               "auth: {basic: {usernameRef: REF, passwordRef: GOOD}}",
	"auth.basic.passwordRef":               "auth: {basic: {username: me, passwordRef: REF}}",
	"auth.headers[].valueRef":              "auth: {headers: [{name: X-Key, valueRef: REF}]}",
	"auth.apiKey.valueRef":                 "auth: {apiKey: {in: Query, name: key, valueRef: REF}}",
	"auth.oauth2.clientIDRef":              "auth: {oauth2: {tokenURL: \"SERVER/token\", clientIDRef: REF, clientSecretRef: GOOD}}",
	"auth.oauth2.clientSecretRef":          "auth: {oauth2: {tokenURL: \"SERVER/token\", clientID: me, clientSecretRef: REF}}",
	"auth.session.login.fields[].valueRef": "auth: {session: {login: {path: /login, fields: [{name: password, valueRef: REF}]}, token: {from: {body: token}, header: {name: Authorization}}}}",
	"tls.clientCertificate.secretRef":      "tls: {clientCertificate: {secretRef: WHOLE}}",
	"proxy.basic.usernameRef":              "proxy: {url: \"SERVER\", basic: {usernameRef: REF, passwordRef: GOOD}}",
	"proxy.basic.passwordRef":              "proxy: {url: \"SERVER\", basic: {username: me, passwordRef: REF}}",
	"vault.tokenRef":                       "vault: {address: \"SERVER\", tokenRef: REF}\n  auth: {bearer: {tokenRef: {vault: {path: a, key: b}}}}",
}

// others are what else can name something of another namespace, each with the test that attacks it.
var others = map[string]string{
	"ClusterRestEndpoint.spec.allowedNamespaces":          "TestSecurity/a_namespace_that_is_not_allowed",
	"ClusterRestEndpoint.spec.allowedNamespaces.selector": "TestSecurity/a_namespace_that_is_not_allowed",
	"ClusterRestEndpoint.spec.vault.namespace":            "none: it is one of Vault's own, sent with the endpoint's own Vault identity",
	"RestEndpoint.spec.vault.namespace":                   "none, as above",
	"RestMapping.spec.outputs[].nameExpression":           "TestSecurity/outputs_into_another_namespace",
	"RestMapping.spec.endpoint":                           "TestSecurity/an_endpoint_of_another_namespace",
	"RestMapping.spec.endpoint.nameExpression":            "TestSecurity/an_endpoint_of_another_namespace",
	"RestMapping.spec.secrets[].refExpression":            "TestSecurity/a_Secret_of_another_namespace_through_a_custom_resource",
	"RestMapping.spec.references":                         "not attacked here yet: references are resolved in the custom resource's own namespace (docs/spec/restmapping.md)",
	"RestMapping.spec.references[].nameExpression":        "not attacked here yet, as above",
	"RestMapping.spec.target.selector":                    "none: it narrows what an administrator's mapping serves, and reads nothing",
}

// elsewhere are types of references that lead out of Kubernetes: a path in Vault is asked for as the endpoint's own identity
// there, and opens nothing in the cluster.
var elsewhere = []reflect.Type{reflect.TypeFor[v1alpha1.VaultReference]()}

// TestEveryReferenceIsAttacked fails for a field that can name something elsewhere and is in no table above: add it, with
// the attack, and see that the attack fails.
func TestEveryReferenceIsAttacked(t *testing.T) {
	t.Parallel()
	want := slices.Collect(maps.Keys(others))
	for path := range credentials {
		want = append(want, "RestEndpoint.spec."+path, "ClusterRestEndpoint.spec."+path)
	}
	var got []string
	for _, kind := range []reflect.Type{
		reflect.TypeFor[v1alpha1.RestEndpoint](), reflect.TypeFor[v1alpha1.ClusterRestEndpoint](), reflect.TypeFor[v1alpha1.RestMapping](),
	} {
		spec, _ := kind.FieldByName("Spec")
		references(spec.Type, kind.Name()+".spec", &got)
	}
	slices.Sort(want)
	slices.Sort(got)
	if len(got) < 20 {
		t.Errorf("only %d references were found: %v", len(got), got)
	}
	if diff := cmp.Diff(got, slices.Compact(want)); diff != "" {
		t.Errorf("references of the API (-what there is +what is attacked):\n%s", diff)
	}
}

// references lists the fields that can name an object, a namespace or a Secret, by type and by name.
func references(t reflect.Type, path string, into *[]string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		if t.Kind() == reflect.Slice {
			path += "[]"
		}
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || !strings.HasSuffix(t.PkgPath(), "/api/v1alpha1") {
		return
	}
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		at := path + "." + name
		if strings.Contains(options, "inline") {
			at = path
		}
		if namesSomething(field, name) {
			*into = append(*into, at)
		}
		references(field.Type, at, into)
	}
}

func namesSomething(field reflect.StructField, name string) bool {
	t := field.Type
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if slices.Contains(elsewhere, t) {
		return false
	}
	lower := strings.ToLower(name)
	return strings.HasSuffix(t.Name(), "Reference") || t.Name() == "LabelSelector" ||
		strings.HasSuffix(lower, "ref") || strings.HasSuffix(lower, "refs") || strings.HasSuffix(lower, "refexpression") ||
		strings.HasSuffix(lower, "nameexpression") || strings.Contains(lower, "namespace") || strings.Contains(lower, "configmap")
}
