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

// wholeSecret is the one that names a Secret and nothing else. All others can name a file or a secret in Vault as well, which
// is attacked by TestSecurity/a_file_through_an_endpoint and TestSecurity/a_secret_in_Vault_that_is_not_the_endpoint's.
const wholeSecret = "tls.clientCertificate.secretRef"

// accounts are the references of an endpoint to a ServiceAccount, for which ACCOUNT stands. Each is attacked by
// TestSecurity/a_ServiceAccount_of_another_namespace.
var accounts = map[string]string{
	"auth.serviceAccountToken.serviceAccountName":             "auth: {serviceAccountToken: {serviceAccountName: ACCOUNT, audiences: [stolen]}}",
	"vault.kubernetes.serviceAccountToken.serviceAccountName": "vault: {address: \"SERVER\", kubernetes: {role: apis, serviceAccountToken: {serviceAccountName: ACCOUNT, audiences: [stolen]}}}\n  auth: {bearer: {tokenRef: {vault: {path: x, key: value}}}}",
}

// others are what else can name something of another namespace, each with the test that attacks it.
var others = map[string]string{
	"ClusterRestEndpoint.spec.allowedNamespaces":          "TestSecurity/a_namespace_that_is_not_allowed",
	"ClusterRestEndpoint.spec.allowedNamespaces.selector": "TestSecurity/a_namespace_that_is_not_allowed",
	"RestMapping.spec.outputs[].nameExpression":           "TestSecurity/outputs_into_another_namespace",
	"RestMapping.spec.endpoint":                           "TestSecurity/an_endpoint_of_another_namespace",
	"RestMapping.spec.endpoint.nameExpression":            "TestSecurity/an_endpoint_of_another_namespace",
	"RestMapping.spec.secrets[].refExpression":            "TestSecurity/a_Secret_of_another_namespace_through_a_custom_resource",
	"RestEndpoint.spec.vault.namespace":                   "TestSecurity/a_secret_in_Vault_that_is_not_the_endpoint's",
	"ClusterRestEndpoint.spec.vault.namespace":            "TestSecurity/a_secret_in_Vault_that_is_not_the_endpoint's",
	"RestMapping.spec.references":                         "TestSecurity/a_custom_resource_of_another_namespace_through_a_reference",
	"RestMapping.spec.references[].nameExpression":        "TestSecurity/a_custom_resource_of_another_namespace_through_a_reference",
	"RestMapping.spec.target.selector":                    "none: it narrows what an administrator's mapping serves, and reads nothing",
}

// TestEveryReferenceIsAttacked fails for a field that can name something elsewhere and is in no table above: add it, with
// the attack, and see that the attack fails.
func TestEveryReferenceIsAttacked(t *testing.T) {
	t.Parallel()
	want := slices.Collect(maps.Keys(others))
	for _, kind := range []string{"RestEndpoint.spec.", "ClusterRestEndpoint.spec."} {
		for path := range accounts {
			want = append(want, kind+path)
		}
		for path := range credentials {
			want = append(want, kind+path)
			if path != wholeSecret {
				want = append(want, kind+path+".file", kind+path+".vault")
			}
		}
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

// references lists the fields that can name an object, a namespace, a Secret or a file, by type and by name.
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
	lower := strings.ToLower(name)
	return strings.HasSuffix(t.Name(), "Reference") || t.Name() == "LabelSelector" ||
		strings.HasSuffix(lower, "ref") || strings.HasSuffix(lower, "refs") || strings.HasSuffix(lower, "refexpression") ||
		strings.HasSuffix(lower, "nameexpression") || strings.Contains(lower, "namespace") || strings.Contains(lower, "configmap") ||
		strings.HasSuffix(lower, "accountname") || strings.HasSuffix(lower, "file")
}
