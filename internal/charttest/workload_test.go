package charttest

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/restmapping/operator/internal/chart"
)

// only returns the one object of a kind, converted; a field that the type does not have fails the test.
func only[T any](t *testing.T, objects []*unstructured.Unstructured, kind string) *T {
	t.Helper()
	found := chart.OfKind(objects, kind)
	if len(found) != 1 {
		t.Fatalf("got %d objects of kind %s, want 1", len(found), kind)
	}
	data, err := found[0].MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	typed := new(T)
	if err := yaml.UnmarshalStrict(data, typed); err != nil {
		t.Fatalf("%s: %v", kind, err)
	}
	return typed
}

// TestPodIsRestricted: the pod asks for nothing that the restricted level of pod security refuses, and for less where it can.
func TestPodIsRestricted(t *testing.T) {
	t.Parallel()
	pod := only[appsv1.Deployment](t, Objects(t, nil), "Deployment").Spec.Template.Spec
	wantPod := &corev1.PodSecurityContext{
		RunAsNonRoot: new(true), RunAsUser: new(int64(65532)), RunAsGroup: new(int64(65532)),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if diff := cmp.Diff(wantPod, pod.SecurityContext); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
	wantContainer := &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	if diff := cmp.Diff(wantContainer, pod.Containers[0].SecurityContext); diff != "" {
		t.Errorf("container (-want +got):\n%s", diff)
	}
	if pod.HostNetwork || pod.HostPID || pod.HostIPC || len(pod.Volumes) > 0 {
		t.Error("the pod shares something with its node")
	}
}

// TestGraceOutlastsTheDrain: a request in flight must be recorded before the node kills the pod.
func TestGraceOutlastsTheDrain(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		values map[string]any
		drain  string
		grace  int64
	}{
		"by default":            {nil, "--drain-timeout=45s", 60},
		"with a long drain":     {map[string]any{"drainTimeoutSeconds": 600}, "--drain-timeout=600s", 615},
		"with the shortest one": {map[string]any{"drainTimeoutSeconds": 1}, "--drain-timeout=1s", 16},
		"with the longest one":  {map[string]any{"drainTimeoutSeconds": 3600}, "--drain-timeout=3600s", 3615},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := only[appsv1.Deployment](t, Objects(t, tc.values), "Deployment").Spec.Template.Spec
			if !slices.Contains(pod.Containers[0].Args, tc.drain) {
				t.Errorf("arguments %v lack %s", pod.Containers[0].Args, tc.drain)
			}
			if got := *pod.TerminationGracePeriodSeconds; got != tc.grace {
				t.Errorf("grace period: got %d, want %d", got, tc.grace)
			}
		})
	}
}

// TestNumbersStayNumbers: Helm reads values as floats, and a float of a million prints as 1e+06.
func TestNumbersStayNumbers(t *testing.T) {
	t.Parallel()
	values := map[string]any{"minSyncIntervalSeconds": 31536000}
	args := only[appsv1.Deployment](t, Objects(t, values), "Deployment").Spec.Template.Spec.Containers[0].Args
	if want := "--min-sync-interval=31536000s"; !slices.Contains(args, want) {
		t.Errorf("arguments %v lack %s", args, want)
	}
}

func TestProbesAskTheHealthPort(t *testing.T) {
	t.Parallel()
	container := only[appsv1.Deployment](t, Objects(t, nil), "Deployment").Spec.Template.Spec.Containers[0]
	ports := map[string]int32{}
	for _, port := range container.Ports {
		ports[port.Name] = port.ContainerPort
	}
	if diff := cmp.Diff(map[string]int32{"metrics": 8080, "health": 8081}, ports); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
	for want, probe := range map[string]*corev1.Probe{"/healthz": container.LivenessProbe, "/readyz": container.ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != want || probe.HTTPGet.Port.StrVal != "health" {
			t.Errorf("probe of %s: got %v", want, probe)
		}
	}
}

func TestBudgetStandsOnlyWhereItCannotBlock(t *testing.T) {
	t.Parallel()
	off := map[string]any{"podDisruptionBudget": map[string]any{"enabled": false}}
	cases := map[string]struct {
		values map[string]any
		want   int
	}{
		"two replicas":             {nil, 1},
		"one replica":              {map[string]any{"replicas": 1}, 0},
		"none, for maintenance":    {map[string]any{"replicas": 0}, 0},
		"switched off by its user": {off, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := len(chart.OfKind(Objects(t, tc.values), "PodDisruptionBudget")); got != tc.want {
				t.Errorf("got %d budgets, want %d", got, tc.want)
			}
		})
	}
}

// TestSelectorsFindThePods also with labels of the user that have the same keys.
func TestSelectorsFindThePods(t *testing.T) {
	t.Parallel()
	objects := Objects(t, valuesOf(t, "testdata/everything.values.yaml"))
	deployment := only[appsv1.Deployment](t, objects, "Deployment")
	pod := labels.Set(deployment.Spec.Template.Labels)
	budget := only[policyv1.PodDisruptionBudget](t, objects, "PodDisruptionBudget")
	selectors := map[string]*metav1.LabelSelector{
		"Deployment": deployment.Spec.Selector, "PodDisruptionBudget": budget.Spec.Selector,
		"topology spread, first": deployment.Spec.Template.Spec.TopologySpreadConstraints[0].LabelSelector,
	}
	for _, service := range chart.OfKind(objects, "Service") {
		selectors["Service "+service.GetName()] = &metav1.LabelSelector{MatchLabels: as[corev1.Service](t, service).Spec.Selector}
	}
	if len(selectors) != 6 {
		t.Errorf("selectors of %d objects, want 6", len(selectors))
	}
	for name, selector := range selectors {
		parsed, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil || parsed.Empty() || !parsed.Matches(pod) {
			t.Errorf("%s selects %v, the pods have %v (%v)", name, parsed, pod, err)
		}
	}
	if pod["team"] != "platform" {
		t.Error("podLabels are lost")
	}
	first := deployment.Spec.Template.Spec.TopologySpreadConstraints[0].LabelSelector
	if diff := cmp.Diff(deployment.Spec.Selector, first); diff != "" {
		t.Errorf("the selector given to a constraint without one (-pods +constraint):\n%s", diff)
	}
	own := deployment.Spec.Template.Spec.TopologySpreadConstraints[1].LabelSelector.MatchLabels
	if diff := cmp.Diff(map[string]string{"own": "selector"}, own); diff != "" {
		t.Errorf("a constraint's own selector (-want +got):\n%s", diff)
	}
}

// TestCRDsAreTheGeneratedOnes: the chart adds labels and the keep annotation, and changes nothing else.
func TestCRDsAreTheGeneratedOnes(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join(Dir(t), "files", "crds", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("generated CRDs: %v, %v", files, err)
	}
	rendered := map[string]*unstructured.Unstructured{}
	for _, crd := range chart.Definitions(Objects(t, nil)) {
		rendered[crd.GetName()] = crd
	}
	if len(rendered) != len(files) {
		t.Errorf("the chart has %d CRDs, %d were generated", len(rendered), len(files))
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		generated, err := chart.Decode(content)
		if err != nil || len(generated) != 1 {
			t.Fatalf("%s: %d objects, %v", file, len(generated), err)
		}
		crd := rendered[generated[0].GetName()]
		if crd == nil {
			t.Errorf("%s is not in the chart", file)
			continue
		}
		if diff := cmp.Diff(generated[0].Object["spec"], crd.Object["spec"]); diff != "" {
			t.Errorf("%s (-generated +rendered):\n%s", crd.GetName(), diff)
		}
		for key, value := range generated[0].GetAnnotations() {
			if crd.GetAnnotations()[key] != value {
				t.Errorf("%s lost its annotation %s", crd.GetName(), key)
			}
		}
	}
}

func TestCRDsAreKeptUnlessAskedOtherwise(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		values map[string]any
		want   string
	}{
		"by default":         {nil, "keep"},
		"not with keep: off": {map[string]any{"crds": map[string]any{"keep": false}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, crd := range chart.Definitions(Objects(t, tc.values)) {
				if got := crd.GetAnnotations()["helm.sh/resource-policy"]; got != tc.want {
					t.Errorf("%s: got resource policy %q, want %q", crd.GetName(), got, tc.want)
				}
			}
		})
	}
	if got := chart.Definitions(Objects(t, map[string]any{"crds": map[string]any{"install": false}})); len(got) > 0 {
		t.Errorf("crds.install is off, and %d CRDs are rendered", len(got))
	}
}

// TestNamesStayWithinTheLimit: Kubernetes refuses names above 63 characters where they become labels.
func TestNamesStayWithinTheLimit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("long-", 12) + "x"
	values := managed("team-a")
	values["nameOverride"] = long
	valid := regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)
	for _, object := range Objects(t, values) {
		if name := object.GetName(); len(name) > 63 || !valid.MatchString(name) {
			t.Errorf("%s has the name %s (%d characters)", object.GetKind(), name, len(name))
		}
	}
}

// TestSetupRunsNothing: what other tests apply is the namespace, the CRDs, the account and its rights.
func TestSetupRunsNothing(t *testing.T) {
	t.Parallel()
	objects, err := chart.Decode(Setup(t, managed()))
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, object := range objects {
		kinds = append(kinds, object.GetKind())
	}
	if kinds[0] != "Namespace" || kinds[1] != "CustomResourceDefinition" {
		t.Errorf("the namespace and the CRDs must come first: %v", kinds)
	}
	slices.Sort(kinds)
	want := []string{"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "Namespace", "Role", "RoleBinding", "ServiceAccount"}
	if diff := cmp.Diff(want, slices.Compact(kinds)); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}
