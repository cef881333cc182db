//go:build e2e

package e2e_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/restmapping/operator/e2e/suite"
	"github.com/restmapping/operator/internal/lab"
	"github.com/restmapping/operator/internal/restfake"
)

// namespacedKind is a CRD: kind and plural.
const namespacedKind = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]s.namespaced.example.com}
spec:
  group: namespaced.example.com
  scope: Namespaced
  names: {kind: %[1]s, plural: %[2]s, singular: %[3]s, listKind: %[1]sList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true, properties: {conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}, observedGeneration: {type: integer, format: int64}}}
`

// namespacedMapping is a mapping: kind, plural, endpoint.
const namespacedMapping = `
apiVersion: restmapping.dev/v1alpha1
kind: RestMapping
metadata: {name: %[2]s}
spec:
  target: {group: namespaced.example.com, version: v1, kind: %[1]s}
  endpoint: {kind: %[3]s, name: server}
  identifiers: [{name: id, value: "self.metadata.namespace + '-' + self.metadata.name"}]
  operations:
    read: {path: "/%[2]s/{id}"}
    create: {method: PUT, path: "/%[2]s/{id}"}
    update: {method: PUT, path: "/%[2]s/{id}"}
    delete: {path: "/%[2]s/{id}"}
  fields: [{from: spec.size, to: size}]
  outputs: [{name: %[2]s, kind: ConfigMap, data: {size: observed.size}}]
  sync: {interval: 2s, consistencyWindow: 1s, serverSlack: 1s}
`

// namespacedTeam is what a team has: an endpoint with its Secret, and a custom resource of each kind.
const namespacedTeam = `
apiVersion: v1
kind: Secret
metadata: {name: token, namespace: %[1]s, labels: {restmapping.dev/allow-read: "true"}}
stringData: {value: token-of-%[1]s}
---
apiVersion: restmapping.dev/v1alpha1
kind: RestEndpoint
metadata: {name: server, namespace: %[1]s}
spec:
  baseURL: %[2]s
  auth: {bearer: {tokenRef: {name: token, key: value}}}
  probe: {path: /things}
---
apiVersion: namespaced.example.com/v1
kind: Thing
metadata: {name: one, namespace: %[1]s}
spec: {size: 3}
---
apiVersion: namespaced.example.com/v1
kind: Gadget
metadata: {name: one, namespace: %[1]s}
spec: {size: 3}
`

// TestNamespacedInstallation: the operator serves two named namespaces with Roles there in place of rights in the whole cluster.
// Mappings work in them, with both kinds of endpoint; what is in a third is untouched; and nothing it asks for is forbidden.
func TestNamespacedInstallation(t *testing.T) {
	before := ""
	for _, name := range []string{"team-a", "team-b", "team-c"} {
		before += "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: " + name + "}\n"
	}
	s := suite.NewInstalled(t, before, map[string]any{
		"watchNamespaces": []any{"team-a", "team-b"},
		"managedKinds":    []any{map[string]any{"group": "namespaced.example.com", "resources": []any{"things", "gadgets"}}},
		"outputs":         map[string]any{"configMaps": true},
	}, "--watch-namespaces=team-a,team-b")
	fake := restfake.New([]restfake.Collection{{Path: "/things", IDs: restfake.Chosen, Upsert: true}, {Path: "/gadgets", IDs: restfake.Chosen, Upsert: true}})
	server := httptest.NewServer(fake)
	t.Cleanup(func() { fake.Close(); server.Close() })
	for kind, plural := range map[string]string{"Thing": "things", "Gadget": "gadgets"} {
		s.Apply(namespacedKind, kind, plural, strings.ToLower(kind))
		s.Kubectl("wait", "--for=condition=Established", "crd/"+plural+".namespaced.example.com", "--timeout=60s")
	}
	s.Apply(`
apiVersion: v1
kind: Secret
metadata: {name: token, namespace: restmapping-system, labels: {restmapping.dev/allow-read: "true"}}
stringData: {value: token-of-the-cluster}
---
apiVersion: restmapping.dev/v1alpha1
kind: ClusterRestEndpoint
metadata: {name: server}
spec:
  baseURL: %s
  auth: {bearer: {tokenRef: {name: token, key: value}}}
  allowedNamespaces: {selector: {}}
`, server.URL)
	s.Apply(namespacedMapping, "Thing", "things", "RestEndpoint")
	s.Apply(namespacedMapping, "Gadget", "gadgets", "ClusterRestEndpoint")
	for _, team := range []string{"team-a", "team-b", "team-c"} {
		s.Apply(namespacedTeam, team, server.URL)
	}
	for _, team := range []string{"team-a", "team-b"} {
		s.Kubectl("-n", team, "wait", "--for=condition=Ready", "thing/one", "gadget/one", "restendpoint/server", "--timeout="+suite.Patience.String())
		if got := s.Kubectl("-n", team, "get", "configmap", "one-things", "-o", "jsonpath={.data.size}"); got != "3" {
			t.Errorf("the output in %s is %q", team, got)
		}
	}
	s.Kubectl("wait", "--for=condition=Ready", "restmapping/things", "restmapping/gadgets", "clusterrestendpoint/server", "--timeout="+suite.Patience.String())
	s.Kubectl("-n", "team-a", "patch", "thing", "one", "--type=merge", "-p", `{"spec":{"size":4}}`)
	s.Eventually("the change is outside", func() string {
		if got, _ := fake.Get("/things/team-a-one"); lab.Int(got.Fields["size"]) != 4 {
			return fmt.Sprint(got.Fields)
		}
		return ""
	})
	s.Kubectl("-n", "team-b", "delete", "thing", "one", "--timeout="+suite.Patience.String())
	if live := len(fake.Live("")); live != 3 {
		t.Errorf("outside there are %d objects, want those of team-a and the gadget of team-b", live)
	}
	strangerUntouched(t, s)
	for _, r := range fake.Requests() {
		if strings.Contains(r.Path, "team-c") || strings.Contains(fmt.Sprint(r.Header), "token-of-team-c") {
			t.Errorf("%s %s was sent for a namespace that is not served", r.Method, r.Path)
		}
	}
	text, err := os.ReadFile(s.Operator.LogFile)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if lower := strings.ToLower(line); strings.Contains(lower, "forbidden") || strings.Contains(lower, `"level":"error"`) {
			t.Errorf("the log has %s", line)
		}
	}
	t.Logf("2 namespaces served by Roles, a third untouched: %d requests, %d lines of log, none of them an error", len(fake.Requests()), strings.Count(string(text), "\n"))
}

// strangerUntouched looks at what is in a namespace that is not served: nobody but its author wrote it.
func strangerUntouched(t *testing.T, s *suite.Suite) {
	t.Helper()
	for _, gvr := range []schema.GroupVersionResource{
		{Group: "namespaced.example.com", Version: "v1", Resource: "things"}, {Group: "namespaced.example.com", Version: "v1", Resource: "gadgets"}, lab.EndpointGVR,
	} {
		list, err := s.Client.Resource(gvr).Namespace("team-c").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if len(list.Items) != 1 {
			t.Errorf("%d %s in team-c", len(list.Items), gvr.Resource)
		}
		for _, obj := range list.Items {
			// The API server itself sets an endpoint's observedGeneration to -1.
			if conditions, _, _ := unstructured.NestedSlice(obj.Object, "status", "conditions"); len(conditions) > 0 || len(obj.GetFinalizers()) > 0 {
				t.Errorf("%s team-c/%s was written: %v %v", gvr.Resource, obj.GetName(), conditions, obj.GetFinalizers())
			}
			for _, field := range obj.GetManagedFields() {
				if strings.HasPrefix(field.Manager, "restmapping") {
					t.Errorf("%s team-c/%s was written by %s", gvr.Resource, obj.GetName(), field.Manager)
				}
			}
		}
	}
}
