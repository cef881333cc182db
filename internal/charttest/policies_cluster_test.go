//go:build cluster

package charttest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/restmapping/operator/internal/chart"
	"github.com/restmapping/operator/internal/controlplane"
)

const policyKind = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: accounts.policies.example.com}
spec:
  group: policies.example.com
  scope: Namespaced
  names: {kind: Account, plural: accounts, singular: account, listKind: AccountList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              size: {type: integer}
              place: {type: object, properties: {namespace: {type: string}}}
              passwordRef: {type: object, properties: {name: {type: string}, key: {type: string}, namespace: {type: string}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: policies}
`

// TestPolicies has the API server hold the chart's policies.
func TestPolicies(t *testing.T) {
	t.Parallel()
	admin := controlplane.ForTest(t).Admin()
	apply := func(manifest string) error { return controlplane.ApplyYAML(t.Context(), admin, []byte(manifest)) }
	if err := apply(policyKind); err != nil {
		t.Fatal(err)
	}
	values := map[string]any{
		"policies":     map[string]any{"enabled": true},
		"managedKinds": []any{map[string]any{"group": "policies.example.com", "resources": []any{"accounts"}}},
	}
	policies, err := chart.Encode(chart.OfKind(Objects(t, values), "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"))
	if err != nil {
		t.Fatal(err)
	}
	if err := apply(string(policies)); err != nil {
		t.Fatal(err)
	}
	account := func(spec string) string {
		return fmt.Sprintf("apiVersion: policies.example.com/v1\nkind: Account\nmetadata: {name: one, namespace: policies}\nspec: %s\n", spec)
	}
	secret := func(name, kind, labels, data string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: policies, labels: %s}\ntype: %s\nstringData: %s\n", name, labels, kind, data)
	}
	const opened, pull = `{restmapping.dev/allow-read: "true"}`, `{.dockerconfigjson: "{}"}`
	foreign := account("{passwordRef: {name: p, key: k, namespace: kube-system}}")
	deadline := time.Now().Add(30 * time.Second) // the API server takes new policies in after a moment
	for apply(foreign) == nil {
		if time.Now().After(deadline) {
			t.Fatal("the policy never took effect")
		}
		time.Sleep(200 * time.Millisecond)
	}
	cases := map[string]struct {
		manifest, refusal string
	}{
		"a reference to another namespace": {foreign, "names another namespace"},
		"a reference to its own":           {account("{passwordRef: {name: p, key: k, namespace: policies}}"), ""},
		"a reference without one":          {account("{passwordRef: {name: p, key: k}}"), ""},
		"a namespace that is no reference": {account("{place: {namespace: elsewhere}, size: 3}"), ""},
		"an empty spec":                    {strings.Replace(account("{}"), "name: one", "name: empty", 1), ""},
		"a pull secret that is opened":     {secret("pull", "kubernetes.io/dockerconfigjson", opened, pull), "cannot be opened"},
		"a pull secret":                    {secret("closed-pull", "kubernetes.io/dockerconfigjson", "{}", pull), ""},
		"a pull secret with the label turned off": {
			secret("off-pull", "kubernetes.io/dockerconfigjson", `{restmapping.dev/allow-read: "false"}`, pull), "",
		},
		"an ordinary one that is opened": {secret("fine", "Opaque", opened, "{a: b}"), ""},
	}
	for name, tc := range cases {
		err := apply(tc.manifest)
		switch {
		case tc.refusal == "" && err != nil:
			t.Errorf("%s is refused: %v", name, err)
		case tc.refusal != "" && (!apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), tc.refusal)):
			t.Errorf("%s: got %v, want a refusal that says %q", name, err, tc.refusal)
		}
	}
	if err := apply(secret("closed-pull", "kubernetes.io/dockerconfigjson", opened, pull)); err == nil {
		t.Error("a pull secret was opened afterwards")
	}
}
