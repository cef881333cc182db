//go:build cluster

package charttest

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/restmapping/operator/internal/controlplane"
)

const endpoint = `
apiVersion: restmapping.dev/v1alpha1
kind: ClusterRestEndpoint
metadata: {name: survivor}
spec:
  baseURL: https://api.example.com
`

// TestInstallUpgradeUninstall lets helm itself work on the real API server. It is the only test that installs the CRDs.
func TestInstallUpgradeUninstall(t *testing.T) {
	t.Parallel()
	plane := controlplane.ForTest(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := controlplane.WriteKubeconfig(kubeconfig, plane.Admin()); err != nil {
		t.Fatal(err)
	}
	helm := func(args ...string) {
		t.Helper()
		args = append(args, "--namespace", "cycle-system", "--kubeconfig", kubeconfig)
		out, err := exec.CommandContext(t.Context(), Helm(t), args...).CombinedOutput()
		if err != nil {
			t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	client := clients(t, plane.Admin())

	helm("install", "cycle", Dir(t), "--create-namespace")
	if err := controlplane.ApplyYAML(t.Context(), plane.Admin(), []byte(endpoint)); err != nil {
		t.Fatal(err)
	}
	grantLater(t, plane, client, "cycle-restmapping-operator-managed-kinds")

	helm("upgrade", "cycle", Dir(t), "--set", "replicas=3", "--set", "managedKinds[0].group=example.com,managedKinds[0].resources={things}")
	deployment, err := client.AppsV1().Deployments("cycle-system").Get(t.Context(), "cycle-restmapping-operator", metav1.GetOptions{})
	if err != nil || *deployment.Spec.Replicas != 3 {
		t.Errorf("after the upgrade: %v replicas, %v", deployment.Spec.Replicas, err)
	}
	if got := rulesOf(t.Context(), t, client, "cycle-restmapping-operator-managed-kinds"); got == 0 {
		t.Error("the upgrade took away the rights that were granted at run time")
	}

	helm("uninstall", "cycle")
	if left := ofRelease(t, plane, "cycle"); len(left) > 0 {
		t.Errorf("uninstall left behind: %v", left)
	}
	endpoints := dynamicOf(t, plane).Resource(schema.GroupVersionResource{Group: own, Version: "v1alpha1", Resource: "clusterrestendpoints"})
	if _, err := endpoints.Get(t.Context(), "survivor", metav1.GetOptions{}); err != nil {
		t.Errorf("uninstall took an endpoint with it: %v", err)
	}

	helm("install", "cycle", Dir(t)) // takes the kept CRDs over
	helm("uninstall", "cycle")
	for range 2 { // what other tests begin with, and again
		if err := controlplane.ApplyYAML(t.Context(), plane.Admin(), Setup(t, managed())); err != nil {
			t.Fatal(err)
		}
	}
}

// grantLater adds a labelled role and waits until the control plane has counted it in.
func grantLater(t *testing.T, plane *controlplane.ControlPlane, client kubernetes.Interface, aggregated string) {
	t.Helper()
	err := controlplane.ApplyYAML(t.Context(), plane.Admin(), []byte(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: cycle-kinds, labels: {restmapping.dev/aggregate-to-operator: "true"}}
rules: [{apiGroups: [cycle.example.com], resources: [machines], verbs: [get]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
		return rulesOf(ctx, t, client, aggregated) > 0, nil
	})
	if err != nil {
		t.Fatalf("ClusterRole %s has no rules: %v", aggregated, err)
	}
}

func rulesOf(ctx context.Context, t *testing.T, client kubernetes.Interface, name string) int {
	t.Helper()
	role, err := client.RbacV1().ClusterRoles().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return len(role.Rules)
}

func dynamicOf(t *testing.T, plane *controlplane.ControlPlane) dynamic.Interface {
	t.Helper()
	client, err := dynamic.NewForConfig(plane.Admin())
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// ofRelease lists what still carries the release's label, apart from the CRDs, which are meant to stay, and from what the
// controller manager has yet to collect after the Deployment.
func ofRelease(t *testing.T, plane *controlplane.ControlPlane, release string) []string {
	t.Helper()
	mapper, client := kindsOf(t, plane.Admin()), dynamicOf(t, plane)
	seen := map[schema.GroupKind]bool{}
	var left []string
	for _, object := range Objects(t, managed("default")) {
		kind := object.GroupVersionKind()
		if seen[kind.GroupKind()] || kind.Kind == "CustomResourceDefinition" {
			continue
		}
		seen[kind.GroupKind()] = true
		found, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			t.Fatal(err)
		}
		options := metav1.ListOptions{LabelSelector: "app.kubernetes.io/instance=" + release}
		list, err := client.Resource(found.Resource).List(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range list.Items {
			left = append(left, item.GetKind()+" "+item.GetName())
		}
	}
	if len(seen) < 8 {
		t.Errorf("looked at too few kinds: %v", seen)
	}
	return left
}
