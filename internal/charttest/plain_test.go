package charttest

import (
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/restmapping/operator/internal/chart"
	"github.com/restmapping/operator/internal/golden"
)

// plain are the installations for people without Helm, below deploy/manifests, and the values that they are made with. Each is
// a base for kustomize: the CRDs where controller-gen puts them, and operator.yaml with the rest.
var plain = map[string]map[string]any{
	"plain":        nil,
	"cert-manager": {"webhooks": map[string]any{"enabled": true, "certificates": "cert-manager"}},
	"openshift":    {"webhooks": map[string]any{"enabled": true, "certificates": "openshift"}, "runAsUser": 0},
}

const plainHead = "# The RestMapping operator without Helm. Made from the chart by `make plain-manifests`; change the chart instead.\n"

// TestPlainManifests holds them against the chart; with -update it writes them.
func TestPlainManifests(t *testing.T) {
	t.Parallel()
	for name, values := range plain {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			content, err := chart.Encode(withoutHelm(t, values))
			if err != nil {
				t.Fatal(err)
			}
			golden.Check(t, filepath.Join(plainDir(t), name, "operator.yaml"), append([]byte(plainHead), content...))
		})
	}
}

func plainDir(t *testing.T) string {
	t.Helper()
	return filepath.Join(root(t), "deploy", "manifests")
}

// withoutHelm is the chart's objects but the CRDs, with their namespace and without what only Helm reads.
func withoutHelm(t *testing.T, values map[string]any) []*unstructured.Unstructured {
	t.Helper()
	namespace := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{
			"name": Namespace, "labels": map[string]any{"pod-security.kubernetes.io/enforce": "restricted"},
		},
	}}
	values = maps.Clone(values)
	if values == nil {
		values = map[string]any{}
	}
	values["crds"] = map[string]any{"install": false}
	objects := append([]*unstructured.Unstructured{namespace}, Objects(t, values)...)
	for _, object := range objects {
		clean(t, object.Object, "metadata")
		if object.GetKind() == "Deployment" {
			clean(t, object.Object, "spec", "template", "metadata")
		}
	}
	return objects
}

// clean takes Helm's labels and annotations out of the metadata at a path.
func clean(t *testing.T, object map[string]any, path ...string) {
	t.Helper()
	metadata, found, err := unstructured.NestedMap(object, path...)
	if err != nil || !found {
		t.Fatalf("%v: %t, %v", path, found, err)
	}
	for _, where := range [][]string{
		{"labels", "helm.sh/chart"}, {"labels", "app.kubernetes.io/managed-by"}, {"annotations", "helm.sh/resource-policy"},
	} {
		unstructured.RemoveNestedField(metadata, where...)
		if left, _, _ := unstructured.NestedMap(metadata, where[0]); len(left) == 0 {
			unstructured.RemoveNestedField(metadata, where[0])
		}
	}
	if err := unstructured.SetNestedMap(object, metadata, path...); err != nil {
		t.Fatal(err)
	}
}

// TestPlainManifestsSayNothingOfHelm: who applies them later with Helm would be told that they are Helm's.
func TestPlainManifestsSayNothingOfHelm(t *testing.T) {
	t.Parallel()
	for name, values := range plain {
		content, err := chart.Encode(withoutHelm(t, values))
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"helm.sh/", "managed-by: Helm"} {
			if strings.Contains(string(content), word) {
				t.Errorf("%s says %q", name, word)
			}
		}
	}
}

// TestOpenShiftChoosesTheUser: its restricted policy refuses a pod that names one outside of the namespace's range.
func TestOpenShiftChoosesTheUser(t *testing.T) {
	t.Parallel()
	pod := only[appsv1.Deployment](t, withoutHelm(t, plain["openshift"]), "Deployment").Spec.Template.Spec
	if context := pod.SecurityContext; context.RunAsUser != nil || context.RunAsGroup != nil || !*context.RunAsNonRoot {
		t.Errorf("the pod's user is set: %+v", context)
	}
}

// TestKustomizeBases: kustomize reads them, and gives what the chart gives.
func TestKustomizeBases(t *testing.T) {
	t.Parallel()
	if golden.Updating() {
		t.Skip("the manifests are being written")
	}
	for name, values := range plain {
		out, err := exec.CommandContext(t.Context(), filepath.Join(root(t), "bin", "kubectl"), "kustomize", filepath.Join(plainDir(t), name)).CombinedOutput()
		if err != nil {
			t.Fatalf("kubectl kustomize: %v\n%s", err, out)
		}
		objects, err := chart.Decode(out)
		if err != nil {
			t.Fatal(err)
		}
		want := append(kinds(chart.Definitions(Objects(t, nil))), kinds(withoutHelm(t, values))...)
		got := kinds(objects)
		slices.Sort(want)
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-chart +kustomize):\n%s", name, diff)
		}
	}
}

func kinds(objects []*unstructured.Unstructured) []string {
	var list []string
	for _, object := range objects {
		list = append(list, object.GetKind()+" "+object.GetName())
	}
	return list
}

// TestNetworkPolicyLetsTheWebhookIn: without it nobody could write a mapping any more.
func TestNetworkPolicyLetsTheWebhookIn(t *testing.T) {
	t.Parallel()
	objects := Objects(t, map[string]any{
		"networkPolicy": map[string]any{"enabled": true, "metricsFrom": []any{map[string]any{"podSelector": map[string]any{}}}},
		"webhooks":      map[string]any{"enabled": true},
	})
	rules, _, err := unstructured.NestedSlice(chart.OfKind(objects, "NetworkPolicy")[0].Object, "spec", "ingress")
	if err != nil || len(rules) != 2 {
		t.Fatalf("rules %v, %v", rules, err)
	}
	for _, entry := range rules {
		rule, _ := entry.(map[string]any)
		ports, _, _ := unstructured.NestedSlice(rule, "ports")
		port, _ := ports[0].(map[string]any)
		if _, limited := rule["from"]; limited != (port["port"] == "metrics") {
			t.Errorf("port %v is limited: %t", port["port"], limited)
		}
	}
}
