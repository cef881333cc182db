//go:build e2e

package e2e_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/restmapping/operator/e2e/suite"
	"github.com/restmapping/operator/internal/restfake"
)

// familyKind is the CRD of a kind, the operator's rights for it, and its mapping.
const familyKind = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[1]ss.family.example.com}
spec:
  group: family.example.com
  scope: Namespaced
  names: {kind: %[2]s, plural: %[1]ss, singular: %[1]s, listKind: %[2]sList}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {parent: {type: string}, passwordRef: {type: object, properties: {name: {type: string}, key: {type: string}}}}}
          status:
            type: object
            default: {observedGeneration: -1}
            properties:
              observedGeneration: {type: integer, format: int64}
              identifiers: {type: object, additionalProperties: {type: string}}
              conditions:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [type]
                items:
                  type: object
                  required: [type, status, reason, message, lastTransitionTime]
                  properties:
                    type: {type: string}
                    status: {type: string}
                    reason: {type: string}
                    message: {type: string}
                    lastTransitionTime: {type: string, format: date-time}
                    observedGeneration: {type: integer, format: int64}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: family-%[1]s, labels: {restmapping.dev/aggregate-to-operator: "true"}}
rules:
- {apiGroups: [family.example.com], resources: [%[1]ss, %[1]ss/status, %[1]ss/finalizers], verbs: [get, list, watch, patch, update]}
---
apiVersion: restmapping.dev/v1alpha1
kind: RestMapping
metadata: {name: family-%[1]ss}
spec:
  target: {group: family.example.com, version: v1alpha1, kind: %[2]s}
  endpoint: {kind: RestEndpoint, name: server}
  sync: {interval: 5s, consistencyWindow: 1s, serverSlack: 1s}
  policy: {deleteGuard: {mode: "Off"}}
  secrets: [{name: password, refExpression: self.spec.passwordRef}]
  identifiers: [{name: id, value: self.metadata.name}]
  operations:
    read: {path: "/%[1]ss/{id}"}
    create: {method: PUT, path: "/%[1]ss/{id}"}
    update: {method: PUT, path: "/%[1]ss/{id}"}
    delete: {path: "/%[1]ss/{id}"}
  fields: [{from: metadata.name, to: name}, {to: password, value: secrets.password, writeOnly: true}]%[3]s
`

const toParent = `
  references: [{name: parent, target: {group: family.example.com, version: v1alpha1, kind: Parent}, nameExpression: self.spec.parent}]
`

// TestANamespaceGoesDown deletes a namespace with everything in it, as the controllers of Kubernetes do: Secrets, endpoint,
// parents and children at once, in no order. The objects outside go, children before their parents, and the namespace goes.
func TestANamespaceGoesDown(t *testing.T) {
	s := suite.New(t)
	fake := restfake.New([]restfake.Collection{
		{Path: "/parents", IDs: restfake.Chosen, Upsert: true, WriteOnly: []string{"password"}},
		{Path: "/childs", IDs: restfake.Chosen, Upsert: true, WriteOnly: []string{"password"}},
		{Path: "/probe"},
	}, restfake.WithFaults(func(r *restfake.Request) restfake.Fault {
		if r.Header.Get("X-Key") != "key-of-the-team" {
			return restfake.Reply(http.StatusUnauthorized, "application/json", "{}")
		}
		return restfake.Fault{}
	}))
	listener, err := restfake.Start(t.Context(), "127.0.0.1:0", fake)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(listener.Close)
	for _, kind := range []struct{ singular, kind, more string }{{"parent", "Parent", ""}, {"child", "Child", toParent}} {
		s.Apply("%s", fmt.Sprintf(familyKind, kind.singular, kind.kind, kind.more))
	}
	s.Ready("restmapping/family-parents")
	s.Ready("restmapping/family-childs")
	const parents, children = 3, 4
	s.Apply("%s", team(listener.URL, parents, children))
	ready := []string{"wait", "--for=condition=Ready", "--all", "-n", "team", "--timeout=" + suite.Patience.String()}
	s.Kubectl(append(ready, "parents.family.example.com")...)
	s.Kubectl(append(ready, "childs.family.example.com")...)

	s.Kubectl("delete", "namespace", "team", "--timeout="+(2*suite.Patience).String())
	if left := fake.Live(""); len(left) > 0 {
		t.Errorf("left outside: %v", left)
	}
	var order []string
	for _, r := range fake.Requests() {
		if r.Method == http.MethodDelete && r.Committed {
			order = append(order, r.Path)
		}
	}
	for p := range parents {
		at := slices.Index(order, fmt.Sprintf("/parents/p%d", p))
		for c := range children {
			if child := slices.Index(order, fmt.Sprintf("/childs/p%d-c%d", p, c)); child < 0 || child > at {
				t.Errorf("parent %d was deleted before its child %d: %v", p, c, order)
			}
		}
	}
	if len(order) != parents*(1+children) {
		t.Errorf("%d deletes took effect: %v", len(order), order)
	}
}

// team is a namespace with Secrets, an endpoint, parents and their children.
func team(server string, parents, children int) string {
	var text strings.Builder
	fmt.Fprintf(&text, `
apiVersion: v1
kind: Namespace
metadata: {name: team}
---
apiVersion: v1
kind: Secret
metadata: {name: access, namespace: team, labels: {restmapping.dev/allow-read: "true"}}
stringData: {key: key-of-the-team, password: of-the-objects}
---
apiVersion: restmapping.dev/v1alpha1
kind: RestEndpoint
metadata: {name: server, namespace: team}
spec:
  baseURL: %s
  timeout: 2s
  auth: {headers: [{name: X-Key, valueRef: {name: access, key: key}}]}
  probe: {path: /probe, interval: 1s}
`, server)
	for p := range parents {
		fmt.Fprintf(&text, `
---
apiVersion: family.example.com/v1alpha1
kind: Parent
metadata: {name: p%d, namespace: team}
spec: {passwordRef: {name: access, key: password}}
`, p)
		for c := range children {
			fmt.Fprintf(&text, `
---
apiVersion: family.example.com/v1alpha1
kind: Child
metadata: {name: p%[1]d-c%[2]d, namespace: team}
spec: {parent: p%[1]d, passwordRef: {name: access, key: password}}
`, p, c)
		}
	}
	return text.String()
}
