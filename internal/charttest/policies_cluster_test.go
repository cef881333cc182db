//go:build cluster

package charttest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

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

// TestPolicies has the API server hold the chart's policies, and after them those of docs/policies for Kyverno.
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
	for _, source := range []struct {
		name     string
		policies []*unstructured.Unstructured
	}{
		{"chart", chart.OfKind(Objects(t, values), "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")},
		{"kyverno", kyverno(t)},
	} {
		t.Run(source.name, func(t *testing.T) {
			policies, err := chart.Encode(source.policies)
			if err != nil {
				t.Fatal(err)
			}
			if err := apply(string(policies)); err != nil {
				t.Fatal(err)
			}
			hold(t, apply)
			withdraw(t, admin, apply, source.policies)
		})
	}
}

// kyverno gives the policies of docs/policies/kyverno.yaml as the API server's own: their matches, conditions, variables and
// validations are of the same types and the same CEL. They are for the group of the test.
func kyverno(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), "docs", "policies", "kyverno.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	policies, err := chart.Decode([]byte(strings.ReplaceAll(string(text), "[example.com]", "[policies.example.com]")))
	if err != nil {
		t.Fatal(err)
	}
	if len(policies) != 2 {
		t.Fatalf("%d policies", len(policies))
	}
	var all []*unstructured.Unstructured
	for _, policy := range policies {
		if policy.GetAPIVersion() != "policies.kyverno.io/v1" || policy.GetKind() != "ValidatingPolicy" {
			t.Errorf("%s %s is none of Kyverno's", policy.GetAPIVersion(), policy.GetKind())
		}
		spec, _, _ := unstructured.NestedMap(policy.Object, "spec")
		binding := map[string]any{"policyName": policy.GetName(), "validationActions": spec["validationActions"]}
		delete(spec, "validationActions")
		for kind, body := range map[string]map[string]any{"ValidatingAdmissionPolicy": spec, "ValidatingAdmissionPolicyBinding": binding} {
			all = append(all, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": map[string]any{"name": policy.GetName()}, "spec": body,
			}})
		}
	}
	return all
}

// withdraw deletes policies and what was made under them, so that others can be tried.
func withdraw(t *testing.T, admin *rest.Config, apply func(string) error, policies []*unstructured.Unstructured) {
	t.Helper()
	client, err := dynamic.NewForConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range policies {
		resource := strings.ToLower(policy.GetKind()) + "s"
		if policy.GetKind() == "ValidatingAdmissionPolicy" {
			resource = "validatingadmissionpolicies"
		}
		gvr := schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: resource}
		if err := client.Resource(gvr).Delete(t.Context(), policy.GetName(), metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	settled(t, apply, func(err error) bool { return err == nil }, account(foreignSpec), secret("pull", "kubernetes.io/dockerconfigjson", opened, pull))
	for _, gvr := range []schema.GroupVersionResource{
		{Group: "policies.example.com", Version: "v1", Resource: "accounts"}, {Version: "v1", Resource: "secrets"},
	} {
		if err := client.Resource(gvr).Namespace("policies").DeleteCollection(t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	opened, pull = `{restmapping.dev/allow-read: "true"}`, `{.dockerconfigjson: "{}"}`
	foreignSpec  = "{passwordRef: {name: p, key: k, namespace: kube-system}}"
)

func account(spec string) string {
	return fmt.Sprintf("apiVersion: policies.example.com/v1\nkind: Account\nmetadata: {name: one, namespace: policies}\nspec: %s\n", spec)
}

func secret(name, kind, labels, data string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: policies, labels: %s}\ntype: %s\nstringData: %s\n", name, labels, kind, data)
}

// settled waits until the API server, which takes policies in and lets them go after a moment, says so to each manifest.
func settled(t *testing.T, apply func(string) error, said func(error) bool, manifests ...string) {
	t.Helper()
	deadline := time.Now().Add(60 * time.Second)
	for _, manifest := range manifests {
		for err := apply(manifest); !said(err); err = apply(manifest) {
			if time.Now().After(deadline) {
				t.Fatalf("the policies are not taken in: %v\n%s", err, manifest)
			}
			time.Sleep(200 * time.Millisecond)
		}
	}
}

// hold has the API server judge the cases.
func hold(t *testing.T, apply func(manifest string) error) {
	t.Helper()
	foreign, openedPull := account(foreignSpec), secret("pull", "kubernetes.io/dockerconfigjson", opened, pull)
	settled(t, apply, func(err error) bool { return err != nil }, foreign, openedPull)
	cases := map[string]struct {
		manifest, refusal string
	}{
		"a reference to another namespace": {foreign, "names another namespace"},
		"a reference to its own":           {account("{passwordRef: {name: p, key: k, namespace: policies}}"), ""},
		"a reference without one":          {account("{passwordRef: {name: p, key: k}}"), ""},
		"a namespace that is no reference": {account("{place: {namespace: elsewhere}, size: 3}"), ""},
		"an empty spec":                    {strings.Replace(account("{}"), "name: one", "name: empty", 1), ""},
		"a pull secret that is opened":     {openedPull, "cannot be opened"},
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
