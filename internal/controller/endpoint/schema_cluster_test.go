//go:build cluster

package endpoint

import (
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/restmapping/operator/internal/controlplane"
)

// specCase is the YAML of a spec without baseURL, and what the API server says of it; empty when it takes it.
type specCase struct{ yaml, say string }

func specCases() map[string]specCase {
	const login = "login: {path: /l, fields: [{name: a, value: ''}, {name: b, valueRef: {name: s, key: k}}]}"
	return map[string]specCase{
		"nothing":                       {"{}", ""},
		"a client certificate alone":    {"tls: {clientCertificate: {secretRef: {name: c}}}", ""},
		"one beside a credential":       {"{tls: {clientCertificate: {secretRef: {name: c}}}, auth: {bearer: {tokenRef: {name: s, key: k}}}}", ""},
		"one without a name":            {"tls: {clientCertificate: {secretRef: {name: ''}}}", "secretRef.name"},
		"a key in a cookie":             {"auth: {apiKey: {in: Cookie, name: k, valueRef: {name: s, key: k}}}", ""},
		"a key in the body":             {"auth: {apiKey: {in: Body, name: k, valueRef: {name: s, key: k}}}", "Unsupported value"},
		"OAuth2":                        {"auth: {oauth2: {tokenURL: 'https://h/t?p=1', clientID: a, clientSecretRef: {name: s, key: k}, scopes: [a], endpointParams: [{name: a, value: b}]}}", ""},
		"OAuth2 with two IDs":           {"auth: {oauth2: {tokenURL: 'https://h/t', clientID: a, clientIDRef: {name: s, key: k}, clientSecretRef: {name: s, key: k}}}", "exactly one of clientID and clientIDRef"},
		"OAuth2 without an ID":          {"auth: {oauth2: {tokenURL: 'https://h/t', clientSecretRef: {name: s, key: k}}}", "exactly one of clientID and clientIDRef"},
		"OAuth2 at a relative URL":      {"auth: {oauth2: {tokenURL: /t, clientID: a, clientSecretRef: {name: s, key: k}}}", "tokenURL"},
		"OAuth2 with a password in URL": {"auth: {oauth2: {tokenURL: 'https://u:p@h/t', clientID: a, clientSecretRef: {name: s, key: k}}}", "tokenURL"},
		"a Secret without a key":        {"auth: {bearer: {tokenRef: {name: s}}}", "exactly one of name with key, file, and vault"},
		"a key of no Secret":            {"auth: {bearer: {tokenRef: {key: k}}}", "exactly one of name with key, file, and vault"},
		"nothing to read":               {"auth: {bearer: {tokenRef: {}}}", "exactly one of name with key, file, and vault"},
		"a file as token":               {"auth: {bearer: {tokenRef: {file: a}}}", "tokenRef.file: Invalid"},
		"a file as user name":           {"auth: {basic: {usernameRef: {file: a}, passwordRef: {name: s, key: k}}}", "basic.usernameRef.file: Invalid"},
		"a file as password":            {"auth: {basic: {username: u, passwordRef: {file: a}}}", "basic.passwordRef.file: Invalid"},
		"a file as header":              {"auth: {headers: [{name: X, valueRef: {file: a}}]}", "auth.headers: Invalid"},
		"a file as key":                 {"auth: {apiKey: {in: Query, name: k, valueRef: {file: a}}}", "apiKey.valueRef.file: Invalid"},
		"a file as client":              {"auth: {oauth2: {tokenURL: 'https://h/t', clientIDRef: {file: a}, clientSecretRef: {name: s, key: k}}}", "clientIDRef.file: Invalid"},
		"a file as client secret":       {"auth: {oauth2: {tokenURL: 'https://h/t', clientID: a, clientSecretRef: {file: a}}}", "clientSecretRef.file: Invalid"},
		"a file in a login":             {"auth: {session: {login: {path: /l, fields: [{name: b, valueRef: {file: a}}]}, token: {from: {body: t}, cookie: c}}}", "login.fields: Invalid"},
		"a file for the proxy":          {"proxy: {url: 'http://h:3128', basic: {username: a, passwordRef: {file: a}}}", "proxy.basic.passwordRef.file: Invalid"},
		"a file as the proxy's user":    {"proxy: {url: 'http://h:3128', basic: {usernameRef: {file: a}, passwordRef: {name: s, key: k}}}", "proxy.basic.usernameRef.file: Invalid"},
		"Vault with a token":            {"{vault: {address: 'https://v:8200', tokenRef: {name: s, key: k}}, auth: {bearer: {tokenRef: {vault: {path: a/b, key: k}}}}}", ""},
		"Vault with a login":            {"vault: {address: 'https://v:8200', kubernetes: {role: r, serviceAccountToken: {serviceAccountName: a, audiences: [b]}}}", ""},
		"Vault with nothing":            {"vault: {address: 'https://v:8200'}", "exactly one of tokenRef and kubernetes"},
		"Vault with a token of its own": {"vault: {address: 'https://v:8200', tokenRef: {vault: {path: a, key: k}}}", "cannot come from it"},
		"Vault with a file":             {"vault: {address: 'https://v:8200', tokenRef: {file: a}}", "vault.tokenRef.file: Invalid"},
		"Vault in no time":              {"vault: {address: 'https://v:8200', tokenRef: {name: s, key: k}, refreshInterval: 1s}", "at least 10s"},
		"a path in Vault leading up":    {"auth: {bearer: {tokenRef: {vault: {path: a/../b, key: k}}}}", "vault.path"},
		"a token of an account":         {"auth: {serviceAccountToken: {serviceAccountName: a, audiences: [b]}}", ""},
		"a token for nobody":            {"auth: {serviceAccountToken: {serviceAccountName: a, audiences: []}}", "audiences"},
		"a token that ends at once":     {"auth: {serviceAccountToken: {serviceAccountName: a, audiences: [b], expirationSeconds: 1}}", "expirationSeconds"},
		"two kinds":                     {"auth: {bearer: {tokenRef: {name: s, key: k}}, oauth2: {tokenURL: 'https://h/t', clientID: a, clientSecretRef: {name: s, key: k}}}", "auth: exactly one of"},
		"a kind and a session":          {"auth: {bearer: {tokenRef: {name: s, key: k}}, session: {" + login + ", token: {from: {body: t}, cookie: c}}}", "auth: exactly one of"},
		"no kind":                       {"auth: {}", "auth: exactly one of"},
		"a session":                     {"auth: {session: {" + login + ", token: {from: {body: t}, header: {name: X, prefix: 'a '}}, csrf: {from: {header: X}, header: X}, ttl: 30m}}", ""},
		"a token from two places":       {"auth: {session: {" + login + ", token: {from: {body: t, header: X}, cookie: c}}}", "from: exactly one of"},
		"a token for two places":        {"auth: {session: {" + login + ", token: {from: {body: t}, cookie: c, header: {name: X}}}}", "token: exactly one of"},
		"a field with two values":       {"auth: {session: {login: {path: /l, fields: [{name: a, value: b, valueRef: {name: s, key: k}}]}, token: {from: {body: t}, cookie: c}}}", "fields: exactly one of"},
		"a login elsewhere":             {"auth: {session: {login: {path: 'https://h/l'}, token: {from: {body: t}, cookie: c}}}", "login.path"},
		"a session that ends at once":   {"auth: {session: {" + login + ", token: {from: {body: t}, cookie: c}, ttl: 0s}}", "more than zero"},
		"200 as the end of a session":   {"auth: {session: {" + login + ", token: {from: {body: t}, cookie: c}, expiredStatus: [200]}}", "expiredStatus"},
		"a proxy":                       {"proxy: {url: 'http://h:3128', basic: {username: a, passwordRef: {name: s, key: k}}}", ""},
		"a proxy with a password in it": {"proxy: {url: 'http://u:p@h:3128'}", "proxy.url"},
	}
}

// clusterSpecCases are for a ClusterRestEndpoint, which may read files.
func clusterSpecCases() map[string]specCase {
	file := func(path string) string { return "auth: {bearer: {tokenRef: {file: '" + path + "'}}}" }
	return map[string]specCase{
		"a file":                   {file("vault/token"), ""},
		"a hidden file":            {file("vault/.token"), "tokenRef.file"},
		"a file and a Secret":      {"auth: {bearer: {tokenRef: {file: a, name: s, key: k}}}", "exactly one of name with key, file, and vault"},
		"an absolute path":         {file("/etc/passwd"), "tokenRef.file"},
		"a path that leads up":     {file("../token"), "tokenRef.file"},
		"one that does it later":   {file("a/../../token"), "tokenRef.file"},
		"one without an end":       {file("a/"), "tokenRef.file"},
		"one with an empty folder": {file("a//b"), "tokenRef.file"},
	}
}

func TestTheAPIServerChecksASpec(t *testing.T) {
	c := controlplane.ForTest(t)
	for _, file := range []string{"restmapping.dev_restendpoints.yaml", "restmapping.dev_clusterrestendpoints.yaml"} {
		if err := controlplane.ApplyFile(t.Context(), c.Admin(), filepath.Join(crds, file)); err != nil {
			t.Fatal(err)
		}
	}
	scheme := runtime.NewScheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	api, err := client.New(c.Admin(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	if err := api.Create(t.Context(), namespaceCalled("schema")); err != nil {
		t.Fatal(err)
	}
	checkSpecs(t, api, "RestEndpoint", specCases())
	checkSpecs(t, api, "ClusterRestEndpoint", clusterSpecCases())
}

func checkSpecs(t *testing.T, api client.Client, kind string, cases map[string]specCase) {
	t.Helper()
	for name, tc := range cases {
		t.Run(kind+" with "+name, func(t *testing.T) {
			spec := map[string]any{}
			if err := yaml.Unmarshal([]byte(tc.yaml), &spec); err != nil {
				t.Fatal(err)
			}
			spec["baseURL"] = "https://h"
			object := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "restmapping.dev/v1alpha1", "kind": kind, "metadata": map[string]any{"generateName": "e-"}, "spec": spec,
			}}
			if kind == "RestEndpoint" {
				object.SetNamespace("schema")
			}
			err := api.Create(t.Context(), object, client.FieldValidation("Strict"))
			switch {
			case tc.say == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.say != "" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tc.say)):
				t.Errorf("error %v, want one that says %q", err, tc.say)
			}
		})
	}
}
