package lab

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

var kinds atomic.Int64 //nolint:gochecknoglobals // numbers the kinds of a test process

// Kind is a kind of custom resource made for one test, with a namespace of its own.
type Kind struct {
	lab *Lab
	// Name is the kind, Group its group, Namespace a fresh one.
	Name, Group, Namespace string
	GVR                    schema.GroupVersionResource
	// Cluster tells that the kind is cluster-scoped.
	Cluster bool
}

// Schema is the spec's schema of a kind, as YAML properties; empty means DefaultSpec.
type Schema string

// DefaultSpec has a field of each sort.
const DefaultSpec Schema = `
              name: {type: string}
              size: {type: integer}
              color: {type: string}
              note: {type: string}
              tags: {type: array, items: {type: string}}
              passwordRef: {type: object, properties: {name: {type: string}, key: {type: string}}, required: [name, key]}
              owner: {type: string}`

// NewKind makes a kind and a namespace, and grants the operator the rights for the kind.
func (l *Lab) NewKind(spec Schema) *Kind {
	l.tb.Helper()
	k := l.NewUngrantedKind(spec)
	k.Grant()
	return k
}

// In gives the same laboratory for a part of its test: t.Run, also in parallel.
func (k *Kind) In(tb testing.TB) *Kind {
	tb.Helper()
	part := *k
	part.lab = k.lab.In(tb)
	return &part
}

// NewUngrantedKind makes a kind that the operator has no rights for.
func (l *Lab) NewUngrantedKind(spec Schema) *Kind {
	l.tb.Helper()
	n := kinds.Add(1)
	name := fmt.Sprintf("Thing%d", n)
	k := l.undefinedKind(n, name)
	k.Define(spec)
	return k
}

// NewUndefinedKind names a kind whose CRD is not applied yet, and grants the operator the rights for it.
func (l *Lab) NewUndefinedKind() *Kind {
	l.tb.Helper()
	n := kinds.Add(1)
	k := l.undefinedKind(n, fmt.Sprintf("Thing%d", n))
	k.Grant()
	return k
}

func (l *Lab) undefinedKind(n int64, name string) *Kind {
	l.tb.Helper()
	k := &Kind{lab: l, Name: name, Group: "lab.example.com", Namespace: fmt.Sprintf("lab-%d", n)}
	k.GVR = schema.GroupVersionResource{Group: k.Group, Version: "v1", Resource: strings.ToLower(name) + "s"}
	l.Apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: %s}\n", k.Namespace)
	return k
}

// Grant gives the operator's ServiceAccount the rights for the kind, as the chart's documentation tells.
func (k *Kind) Grant() {
	k.lab.tb.Helper()
	k.lab.Apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: lab-%[1]s, labels: {restmapping.dev/aggregate-to-operator: "true"}}
rules:
- {apiGroups: [%[2]s], resources: [%[1]s, %[1]s/status], verbs: [get, list, watch, patch, update]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: lab-%[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: lab-%[1]s}
subjects: [{kind: ServiceAccount, name: %[3]s, namespace: %[4]s}]
`, k.GVR.Resource, k.Group, Account, operatorNamespace)
}

// Endpoint makes a RestEndpoint named "server" in the kind's namespace. extra is YAML below spec.
func (k *Kind) Endpoint(baseURL, extra string) {
	k.lab.tb.Helper()
	k.lab.Apply(`
apiVersion: restmapping.dev/v1alpha1
kind: RestEndpoint
metadata: {name: server, namespace: %s}
spec:
  baseURL: %s
%s
`, k.Namespace, baseURL, extra)
}

// Mapping makes a mapping named as the resource, of the kind at endpoint "server". body is YAML below spec.
func (k *Kind) Mapping(body string) {
	k.lab.tb.Helper()
	k.MappingFor("", "endpoint: {kind: RestEndpoint, name: server}", body)
}

// MappingFor makes a mapping whose target has more members, such as ", selector: {...}", and another endpoint.
func (k *Kind) MappingFor(target, endpoint, body string) {
	k.lab.tb.Helper()
	k.lab.Apply("%s", k.MappingYAML(k.GVR.Resource, target, endpoint, body))
	k.lab.tb.Cleanup(func() { k.removeMapping(k.GVR.Resource) })
}

// MappingNamed makes a mapping of the kind at endpoint "server" under another name.
func (k *Kind) MappingNamed(name, body string) {
	k.lab.tb.Helper()
	k.lab.Apply("%s", k.MappingYAML(name, "", "endpoint: {kind: RestEndpoint, name: server}", body))
	k.lab.tb.Cleanup(func() { k.removeMapping(name) })
}

// MappingYAML is the text of a mapping.
func (k *Kind) MappingYAML(name, target, endpoint, body string) string {
	return fmt.Sprintf(`
apiVersion: restmapping.dev/v1alpha1
kind: RestMapping
metadata: {name: %s}
spec:
  target: {group: %s, version: %s, kind: %s%s}
  %s
%s
`, name, k.Group, k.GVR.Version, k.Name, target, endpoint, body)
}

// removeMapping lets later tests of the process be alone; what holds the mapping is let go.
func (k *Kind) removeMapping(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_ = k.lab.Client.Resource(MappingGVR).Delete(ctx, name, metav1.DeleteOptions{})
	_, _ = k.lab.Client.Resource(MappingGVR).Patch(ctx, name, "application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
}

// The resources that tests touch.
var (
	MappingGVR  = schema.GroupVersionResource{Group: "restmapping.dev", Version: "v1alpha1", Resource: "restmappings"}
	EndpointGVR = schema.GroupVersionResource{Group: "restmapping.dev", Version: "v1alpha1", Resource: "restendpoints"}
	SecretGVR   = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	CRDGVR      = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
)

// Resource gives access to the kind, in its namespace when it has one.
func (k *Kind) Resource() dynamic.ResourceInterface {
	if k.Cluster {
		return k.lab.Client.Resource(k.GVR)
	}
	return k.lab.Client.Resource(k.GVR).Namespace(k.Namespace)
}

// Create makes a custom resource. spec is a YAML flow mapping such as {size: 3}.
func (k *Kind) Create(name, spec string) {
	k.lab.tb.Helper()
	k.CreateWith(name, spec, nil, nil)
}

// CreateWith makes a custom resource with labels and annotations.
func (k *Kind) CreateWith(name, spec string, labels, annotations map[string]string) {
	k.lab.tb.Helper()
	obj := &unstructured.Unstructured{Object: map[string]any{}}
	obj.SetAPIVersion(k.Group + "/v1")
	obj.SetKind(k.Name)
	obj.SetName(name)
	obj.SetLabels(labels)
	obj.SetAnnotations(annotations)
	var fields map[string]any
	if err := yaml.Unmarshal([]byte(spec), &fields); err != nil {
		k.lab.tb.Fatalf("spec of %s: %v", name, err)
	}
	obj.Object["spec"] = fields
	if _, err := k.Resource().Create(k.lab.tb.Context(), obj, metav1.CreateOptions{}); err != nil {
		k.lab.tb.Fatalf("create %s: %v", name, err)
	}
}

// Get gives a custom resource, nil when it is gone.
func (k *Kind) Get(name string) *unstructured.Unstructured {
	k.lab.tb.Helper()
	return k.lab.get(k.Resource(), name)
}

// Patch changes a custom resource by a JSON merge patch.
func (k *Kind) Patch(name, patch string) {
	k.lab.tb.Helper()
	_, err := k.Resource().Patch(k.lab.tb.Context(), name, "application/merge-patch+json", []byte(patch), metav1.PatchOptions{})
	if err != nil {
		k.lab.tb.Fatalf("patch %s: %v", name, err)
	}
}

// Delete deletes a custom resource without waiting.
func (k *Kind) Delete(name string) {
	k.lab.tb.Helper()
	if err := k.Resource().Delete(k.lab.tb.Context(), name, metav1.DeleteOptions{}); err != nil {
		k.lab.tb.Fatalf("delete %s: %v", name, err)
	}
}
