//go:build cluster

package charttest

import (
	"path/filepath"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/restmapping/operator/internal/chart"
	"github.com/restmapping/operator/internal/controlplane"
)

// TestServerAcceptsEveryObject sends each rendered object to the real API server, as a dry run of an apply, in which
// an unknown field is an error.
func TestServerAcceptsEveryObject(t *testing.T) {
	t.Parallel()
	admin := controlplane.ForTest(t).Admin()
	namespaces(t, admin, Namespace, "team-a", "team-b")
	client, err := dynamic.NewForConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	mapper := kindsOf(t, admin)
	files, err := filepath.Glob("testdata/*.values.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("value sets: %v, %v", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			values := valuesOf(t, file)
			values["crds"] = map[string]any{"install": true}
			for _, object := range Objects(t, values) {
				kind := object.GroupVersionKind()
				if kind.Group == "cert-manager.io" || kind.Group == "monitoring.coreos.com" {
					continue // a bare API server does not know its kinds; the golden file holds what is rendered
				}
				found, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
				if err != nil {
					t.Fatal(err)
				}
				var target dynamic.ResourceInterface = client.Resource(found.Resource)
				if found.Scope.Name() == meta.RESTScopeNameNamespace {
					target = client.Resource(found.Resource).Namespace(object.GetNamespace())
				}
				options := metav1.ApplyOptions{DryRun: []string{metav1.DryRunAll}, FieldManager: "charttest", Force: true}
				if _, err := target.Apply(t.Context(), object.GetName(), object, options); err != nil {
					t.Errorf("%s %s: %v", kind.Kind, object.GetName(), err)
				}
			}
		})
	}
}

// TestRestrictedNamespaceTakesThePod: the API server itself enforces the restricted level of pod security.
func TestRestrictedNamespaceTakesThePod(t *testing.T) {
	t.Parallel()
	admin := controlplane.ForTest(t).Admin()
	client := clients(t, admin)
	const namespace = "restricted-system"
	_, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/enforce-version": "latest"},
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: Release}}
	if _, err := client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	template := only[appsv1.Deployment](t, Objects(t, nil), "Deployment").Spec.Template
	create := func(change func(*corev1.PodSpec)) error {
		spec := template.Spec.DeepCopy()
		change(spec)
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "operator", Labels: template.Labels}, Spec: *spec}
		_, err := client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	if err := create(func(*corev1.PodSpec) {}); err != nil {
		t.Errorf("the chart's pod is refused: %v", err)
	}
	broken := map[string]func(*corev1.PodSpec){
		"with the host's network":  func(s *corev1.PodSpec) { s.HostNetwork = true },
		"with the capabilities":    func(s *corev1.PodSpec) { s.Containers[0].SecurityContext.Capabilities = nil },
		"without a user":           func(s *corev1.PodSpec) { s.SecurityContext.RunAsNonRoot = nil },
		"without seccomp":          func(s *corev1.PodSpec) { s.SecurityContext.SeccompProfile = nil },
		"with privilege to become": func(s *corev1.PodSpec) { s.Containers[0].SecurityContext.AllowPrivilegeEscalation = nil },
	}
	for name, change := range broken {
		if err := create(change); !apierrors.IsForbidden(err) {
			t.Errorf("a pod %s must be refused, or this test shows nothing: %v", name, err)
		}
	}
}

func clients(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func kindsOf(t *testing.T, config *rest.Config) meta.RESTMapper {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client))
}

// namespaces makes them where they do not exist.
func namespaces(t *testing.T, config *rest.Config, names ...string) {
	t.Helper()
	for _, name := range names {
		manifest := []byte("{apiVersion: v1, kind: Namespace, metadata: {name: " + name + "}}")
		if err := controlplane.ApplyYAML(t.Context(), config, manifest); err != nil {
			t.Fatal(err)
		}
	}
}

// identity applies the ServiceAccount of a release and its rights, and returns access as it.
func identity(t *testing.T, plane *controlplane.ControlPlane, release, namespace string, values map[string]any) *rest.Config {
	t.Helper()
	manifest, err := chart.Render(t.Context(), Helm(t), Dir(t), release, namespace, values)
	if err != nil {
		t.Fatal(err)
	}
	objects, err := chart.Decode(manifest)
	if err != nil {
		t.Fatal(err)
	}
	access, err := chart.Encode(chart.Identity(objects))
	if err != nil {
		t.Fatal(err)
	}
	if err := controlplane.ApplyYAML(t.Context(), plane.Admin(), access); err != nil {
		t.Fatal(err)
	}
	accounts := chart.OfKind(objects, "ServiceAccount")
	if len(accounts) != 1 {
		t.Fatalf("got %d ServiceAccounts, want 1", len(accounts))
	}
	config, err := plane.As(t.Context(), namespace, accounts[0].GetName())
	if err != nil {
		t.Fatal(err)
	}
	return config
}
