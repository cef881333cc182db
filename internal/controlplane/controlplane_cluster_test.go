//go:build cluster

package controlplane_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/restmapping/operator/internal/controlplane"
)

func clientset(t *testing.T, config *rest.Config) *kubernetes.Clientset {
	t.Helper()
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func mustApply(t *testing.T, c *controlplane.ControlPlane, yaml string) {
	t.Helper()
	if err := controlplane.ApplyYAML(t.Context(), c.Admin(), []byte(yaml)); err != nil {
		t.Fatal(err)
	}
}

func TestServerSaysItsVersion(t *testing.T) {
	t.Parallel()
	c := controlplane.ForTest(t)
	version, err := clientset(t, c.Admin()).Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	if version.Major != "1" || strings.HasPrefix(version.GitVersion, "v0") {
		t.Errorf("clients cannot work with version %+v", version)
	}
}

func TestRBACRefusesAServiceAccountUntilARoleAllowsIt(t *testing.T) {
	t.Parallel()
	c := controlplane.ForTest(t)
	mustApply(t, c, `
apiVersion: v1
kind: Namespace
metadata: {name: rbac}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: reader, namespace: rbac}
`)
	config, err := c.As(t.Context(), "rbac", "reader")
	if err != nil {
		t.Fatal(err)
	}
	maps := clientset(t, config).CoreV1().ConfigMaps("rbac")
	if _, err := maps.List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("before the role: want Forbidden, got %v", err)
	}
	mustApply(t, c, `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: read, namespace: rbac}
rules: [{apiGroups: [""], resources: [configmaps], verbs: [list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: read, namespace: rbac}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: read}
subjects: [{kind: ServiceAccount, name: reader, namespace: rbac}]
`)
	var last error
	err = wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 20*time.Second, true, func(ctx context.Context) (bool, error) {
		_, last = maps.List(ctx, metav1.ListOptions{})
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("after the role: %v", last)
	}
	if _, err := maps.Create(t.Context(), &corev1.ConfigMap{}, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("the role allows list alone, but create says %v", err)
	}
}

func TestAsNamesTheServiceAccountThatIsMissing(t *testing.T) {
	t.Parallel()
	_, err := controlplane.ForTest(t).As(t.Context(), "default", "nobody")
	if !apierrors.IsNotFound(err) || !strings.Contains(err.Error(), "default/nobody") {
		t.Errorf("want NotFound with the name, got %v", err)
	}
}

func TestApplyYAMLServesANewKindAtOnce(t *testing.T) {
	t.Parallel()
	c := controlplane.ForTest(t)
	const text = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.apply.example.com}
spec:
  group: apply.example.com
  scope: Namespaced
  names: {kind: Widget, plural: widgets}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
---
# an empty document
---
apiVersion: apply.example.com/v1
kind: Widget
metadata: {name: first}
spec: {size: 5}
`
	path := filepath.Join(t.TempDir(), "widget.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time changes nothing
		if err := controlplane.ApplyFile(t.Context(), c.Admin(), path); err != nil {
			t.Fatal(err)
		}
	}
	got, err := clientset(t, c.Admin()).RESTClient().Get().AbsPath("/apis/apply.example.com/v1/namespaces/default/widgets/first").DoRaw(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(got, []byte(`"size":5`)) || !bytes.Contains(got, []byte(`"generation":1`)) {
		t.Errorf("stored: %s", got)
	}
}

func TestApplyYAMLReportsTheObjectThatIsRefused(t *testing.T) {
	t.Parallel()
	c := controlplane.ForTest(t)
	err := controlplane.ApplyYAML(t.Context(), c.Admin(), []byte(`{apiVersion: v1, kind: Service, metadata: {name: bad}, spec: {type: Nonsense, ports: [{port: 1}]}}`))
	if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "apply Service bad") {
		t.Errorf("want Invalid with the object, got %v", err)
	}
}

func TestAPICountersCountReadsAndWritesOfAResource(t *testing.T) {
	t.Parallel()
	c := controlplane.ForTest(t)
	before, err := c.APICounters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Nothing else in this package touches this resource.
	client := clientset(t, c.Admin()).SchedulingV1().PriorityClasses()
	mustApply(t, c, `{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: counted}, value: 5}`)
	for range 3 {
		if _, err := client.Get(t.Context(), "counted", metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	after, err := c.APICounters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	made := after.Since(before)
	if reads := made.Reads("scheduling.k8s.io", "priorityclasses"); reads != 4 {
		t.Errorf("want 4 reads, got %d in %v", reads, made)
	}
	if writes := made.Writes("scheduling.k8s.io", "priorityclasses"); writes != 1 {
		t.Errorf("want 1 write, got %d in %v", writes, made)
	}
}

func TestKubeconfigOpensTheControlPlane(t *testing.T) {
	t.Parallel()
	c := controlplane.ForTest(t)
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := controlplane.WriteKubeconfig(path, c.Admin()); err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.BuildConfigFromFlags("", path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clientset(t, config).CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// TestSecondInstance starts another control plane beside the shared one, with a controller manager and in a folder of
// its own, stops it, and starts it again on the same data.
func TestSecondInstance(t *testing.T) {
	t.Parallel()
	shared := controlplane.ForTest(t)
	var log bytes.Buffer
	options := controlplane.Options{Dir: t.TempDir(), ControllerManager: true, Log: &log}
	second, err := controlplane.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = second.Stop() })
	mustApply(t, second, `{apiVersion: v1, kind: Namespace, metadata: {name: only-in-second}}`)
	_, err = clientset(t, shared.Admin()).CoreV1().Namespaces().Get(t.Context(), "only-in-second", metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the instances share data: %v", err)
	}
	waitForServiceAccount(t, second, "only-in-second")
	if lines := strings.Count(log.String(), "is ready after"); lines != 3 {
		t.Errorf("want a line for each of three servers, got %q", log.String())
	}

	if err := second.Stop(); err != nil {
		t.Fatal(err)
	}
	if left := processesOf(t, options.Dir); len(left) > 0 {
		t.Errorf("still running after Stop: %v", left)
	}
	again, err := controlplane.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Stop() })
	_, err = clientset(t, again.Admin()).CoreV1().Namespaces().Get(t.Context(), "only-in-second", metav1.GetOptions{})
	if err != nil {
		t.Errorf("after a second start on the same folder: %v", err)
	}
}

// waitForServiceAccount waits for what only a running kube-controller-manager makes.
func waitForServiceAccount(t *testing.T, c *controlplane.ControlPlane, namespace string) {
	t.Helper()
	client := clientset(t, c.Admin())
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		_, last = client.CoreV1().ServiceAccounts(namespace).Get(ctx, "default", metav1.GetOptions{})
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("default ServiceAccount of %s: %v", namespace, last)
	}
}

// processesOf lists the running processes that name a folder on their command line.
func processesOf(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("needs /proc")
	}
	var found []string
	for _, file := range files {
		line, err := os.ReadFile(file)
		if errors.Is(err, os.ErrNotExist) || filepath.Base(filepath.Dir(file)) == strconv.Itoa(os.Getpid()) {
			continue
		}
		if bytes.Contains(line, []byte(dir)) {
			found = append(found, string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return found
}

func TestStopRemovesATemporaryFolder(t *testing.T) {
	t.Parallel()
	controlplane.ForTest(t) // two at once at most, on small machines
	c, err := controlplane.Start(t.Context(), controlplane.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(processesOf(t, c.Dir())) != 2 {
		t.Errorf("want etcd and kube-apiserver, got %v", processesOf(t, c.Dir()))
	}
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	if left := processesOf(t, c.Dir()); len(left) > 0 {
		t.Errorf("still running after Stop: %v", left)
	}
	if _, err := os.Stat(c.Dir()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}
