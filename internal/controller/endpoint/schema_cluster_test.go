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

func TestTheAPIServerChecksASpec(t *testing.T) {
	c := controlplane.ForTest(t)
	if err := controlplane.ApplyFile(t.Context(), c.Admin(), filepath.Join(crds, "restmapping.dev_restendpoints.yaml")); err != nil {
		t.Fatal(err)
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
	for name, tc := range specCases() {
		t.Run(name, func(t *testing.T) {
			spec := map[string]any{}
			if err := yaml.Unmarshal([]byte(tc.yaml), &spec); err != nil {
				t.Fatal(err)
			}
			spec["baseURL"] = "https://h"
			err := api.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "restmapping.dev/v1alpha1", "kind": "RestEndpoint",
				"metadata": map[string]any{"namespace": "schema", "generateName": "e-"}, "spec": spec,
			}}, client.FieldValidation("Strict"))
			switch {
			case tc.say == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.say != "" && (!apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tc.say)):
				t.Errorf("error %v, want one that says %q", err, tc.say)
			}
		})
	}
}
