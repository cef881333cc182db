package lab

import (
	"encoding/json"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// allowed opens a Secret to the operator.
const allowed = `{restmapping.dev/allow-read: "true"}`

// Secret makes or changes a Secret with one key that is open to the operator.
func (k *Kind) Secret(name, key, value string) {
	k.lab.tb.Helper()
	k.secret(name, key, value, allowed)
}

// ClosedSecret makes one without the label.
func (k *Kind) ClosedSecret(name, key, value string) {
	k.lab.tb.Helper()
	k.secret(name, key, value, "{}")
}

func (k *Kind) secret(name, key, value, labels string) {
	k.lab.tb.Helper()
	k.lab.Apply("apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: %s, labels: %s}\nstringData: {%s: %q}\n",
		name, k.Namespace, labels, key, value)
}

// Annotate sets an annotation of a custom resource; an empty value removes it.
func (k *Kind) Annotate(name, annotation, value string) {
	k.lab.tb.Helper()
	set := "null"
	if value != "" {
		text, err := json.Marshal(value)
		if err != nil {
			k.lab.tb.Fatal(err)
		}
		set = string(text)
	}
	k.Patch(name, fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, annotation, set))
}

// CopyTo makes a copy of a custom resource, with its annotations, under another name or in another namespace, as a
// backup or a careless kubectl would. It gives the kind as seen from that namespace.
func (k *Kind) CopyTo(name, namespace, as string) *Kind {
	k.lab.tb.Helper()
	from := k.Get(name)
	if from == nil {
		k.lab.tb.Fatalf("%s is gone", name)
	}
	there := *k
	there.Namespace = namespace
	obj := &unstructured.Unstructured{Object: map[string]any{"spec": from.Object["spec"]}}
	obj.SetAPIVersion(from.GetAPIVersion())
	obj.SetKind(from.GetKind())
	obj.SetName(as)
	obj.SetAnnotations(maps.Clone(from.GetAnnotations()))
	obj.SetFinalizers(from.GetFinalizers())
	if _, err := there.Resource().Create(k.lab.tb.Context(), obj, metav1.CreateOptions{}); err != nil {
		k.lab.tb.Fatalf("copy %s: %v", name, err)
	}
	return &there
}

// Status gives the status of a custom resource as JSON text, to look for what must not stand in it.
func (k *Kind) Status(name string) string {
	k.lab.tb.Helper()
	obj := k.Get(name)
	if obj == nil {
		return ""
	}
	text, err := json.Marshal(obj.Object["status"])
	if err != nil {
		k.lab.tb.Fatal(err)
	}
	return string(text)
}

// StatusField gives one field of the status of a custom resource, nil when it is not there.
func (k *Kind) StatusField(name string, path ...string) any {
	k.lab.tb.Helper()
	obj := k.Get(name)
	if obj == nil {
		return nil
	}
	value, _, err := unstructured.NestedFieldNoCopy(obj.Object, append([]string{"status"}, path...)...)
	if err != nil {
		k.lab.tb.Fatal(err)
	}
	return value
}

// MappingObject gives the kind's mapping, nil when it is gone.
func (k *Kind) MappingObject() *unstructured.Unstructured {
	k.lab.tb.Helper()
	return k.lab.get(k.lab.Client.Resource(MappingGVR), k.GVR.Resource)
}

// DeleteMapping deletes the kind's mapping without waiting.
func (k *Kind) DeleteMapping() {
	k.lab.tb.Helper()
	if err := k.lab.Client.Resource(MappingGVR).Delete(k.lab.tb.Context(), k.GVR.Resource, metav1.DeleteOptions{}); err != nil {
		k.lab.tb.Fatalf("delete mapping: %v", err)
	}
}

// MappingGone waits until the kind's mapping is gone.
func (k *Kind) MappingGone() {
	k.lab.tb.Helper()
	k.lab.Eventually("mapping gone", func() string {
		if obj := k.MappingObject(); obj != nil {
			return show(obj)
		}
		return ""
	})
}

// DeleteEndpoint deletes the endpoint "server".
func (k *Kind) DeleteEndpoint() {
	k.lab.tb.Helper()
	if err := k.lab.Client.Resource(EndpointGVR).Namespace(k.Namespace).Delete(k.lab.tb.Context(), "server", metav1.DeleteOptions{}); err != nil {
		k.lab.tb.Fatalf("delete endpoint: %v", err)
	}
}

// EndpointGone waits until the endpoint "server" is gone.
func (k *Kind) EndpointGone() {
	k.lab.tb.Helper()
	k.lab.Eventually("endpoint gone", func() string {
		if obj := k.lab.get(k.lab.Client.Resource(EndpointGVR).Namespace(k.Namespace), "server"); obj != nil {
			return show(obj)
		}
		return ""
	})
}

// ForceEndpoint takes the finalizers off the endpoint "server", as an impatient person does.
func (k *Kind) ForceEndpoint() {
	k.lab.tb.Helper()
	_, err := k.lab.Client.Resource(EndpointGVR).Namespace(k.Namespace).Patch(k.lab.tb.Context(), "server",
		"application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		k.lab.tb.Fatalf("force endpoint: %v", err)
	}
}

// EmptyNamespace deletes the kind's namespace and what is in it, as the namespace controller does, in the order that is worst:
// first the Secrets, then the endpoints, then the custom resources.
func (k *Kind) EmptyNamespace() {
	k.lab.tb.Helper()
	namespaces := SecretGVR
	namespaces.Resource = "namespaces"
	if err := k.lab.Client.Resource(namespaces).Delete(k.lab.tb.Context(), k.Namespace, metav1.DeleteOptions{}); err != nil {
		k.lab.tb.Fatalf("delete namespace: %v", err)
	}
	for _, resource := range []schema.GroupVersionResource{SecretGVR, EndpointGVR, k.GVR} {
		if err := k.lab.Client.Resource(resource).Namespace(k.Namespace).DeleteCollection(k.lab.tb.Context(), metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
			k.lab.tb.Fatalf("delete all %s: %v", resource.Resource, err)
		}
	}
}
