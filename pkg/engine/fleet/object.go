package fleet

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Object is one custom resource as the cache holds it: its metadata, ready to read, and the whole object as JSON. It is
// several times smaller than the decoded form. Neither metadata nor JSON has managedFields or the last-applied
// annotation; therefore an Object may be patched or applied from, but never be sent back as an update.
//
// Objects are shared by all readers of the cache and must not be changed. The setters exist only because
// metav1.Object asks for them.
type Object struct {
	metav1.ObjectMeta

	kind unique.Handle[schema.GroupVersionKind]
	raw  []byte
}

var (
	_ metav1.Object  = (*Object)(nil)
	_ runtime.Object = (*Object)(nil)
)

// Unstructured decodes the object into a fresh map that the caller may change. Whole numbers are int64, others float64.
func (o *Object) Unstructured() (map[string]any, error) {
	content := map[string]any{}
	if err := utiljson.Unmarshal(o.raw, &content); err != nil {
		return nil, fmt.Errorf("decode the cached %s: %w", o, err)
	}
	return content, nil
}

// Size is how many bytes of content are kept.
func (o *Object) Size() int { return len(o.raw) }

// GetObjectKind implements runtime.Object. Setting the kind on the result does not change the object.
func (o *Object) GetObjectKind() schema.ObjectKind {
	kind := &metav1.TypeMeta{}
	kind.SetGroupVersionKind(o.GroupVersionKind())
	return kind
}

// GroupVersionKind returns the kind of the object.
func (o *Object) GroupVersionKind() schema.GroupVersionKind { return o.kind.Value() }

// DeepCopyObject implements runtime.Object. The JSON is shared, because it never changes.
func (o *Object) DeepCopyObject() runtime.Object {
	return &Object{ObjectMeta: *o.DeepCopy(), kind: o.kind, raw: o.raw}
}

// String names the object. It shows nothing of the content, which may be sensitive.
func (o *Object) String() string {
	name := o.Name
	if o.Namespace != "" {
		name = o.Namespace + "/" + o.Name
	}
	return o.GroupVersionKind().Kind + " " + name
}

// sameAs reports whether two observations of an object are equal in version and content. The version alone is not
// enough: a new default in the schema changes what the API server returns without a new version.
func (o *Object) sameAs(other *Object) bool {
	return o.UID == other.UID && o.ResourceVersion == other.ResourceVersion && bytes.Equal(o.raw, other.raw)
}

// compact is the informer's transform. It may see an object twice (the streamed initial list does that), so its own
// results pass unchanged.
func compact(object any) (any, error) {
	switch object := object.(type) {
	case *Object:
		return object, nil
	case *unstructured.Unstructured:
		return newObject(object)
	default:
		return nil, fmt.Errorf("cache an object of type %T: only unstructured objects can be cached", object)
	}
}

func newObject(source *unstructured.Unstructured) (*Object, error) {
	raw, err := encode(trimmed(source.Object))
	if err != nil {
		return nil, fmt.Errorf("cache %s %s/%s: %w", source.GetKind(), source.GetNamespace(), source.GetName(), err)
	}
	return &Object{
		ObjectMeta: metav1.ObjectMeta{
			Name:                       source.GetName(),
			GenerateName:               source.GetGenerateName(),
			Namespace:                  source.GetNamespace(),
			UID:                        source.GetUID(),
			ResourceVersion:            source.GetResourceVersion(),
			Generation:                 source.GetGeneration(),
			CreationTimestamp:          source.GetCreationTimestamp(),
			DeletionTimestamp:          source.GetDeletionTimestamp(),
			DeletionGracePeriodSeconds: source.GetDeletionGracePeriodSeconds(),
			Labels:                     source.GetLabels(),
			Annotations:                keptAnnotations(source),
			OwnerReferences:            source.GetOwnerReferences(),
			Finalizers:                 source.GetFinalizers(),
		},
		kind: unique.Make(source.GroupVersionKind()),
		raw:  raw,
	}, nil
}

func keptAnnotations(source *unstructured.Unstructured) map[string]string {
	annotations := source.GetAnnotations() // a copy
	delete(annotations, corev1.LastAppliedConfigAnnotation)
	if len(annotations) == 0 {
		return nil
	}
	return annotations
}

// trimmed leaves out what is large and never read. It copies the maps it changes, because others may hold the source.
func trimmed(content map[string]any) map[string]any {
	metadata, ok := content["metadata"].(map[string]any)
	if !ok {
		return content
	}
	metadata = without(metadata, "managedFields")
	if annotations, ok := metadata["annotations"].(map[string]any); ok {
		if annotations = without(annotations, corev1.LastAppliedConfigAnnotation); len(annotations) > 0 {
			metadata["annotations"] = annotations
		} else {
			delete(metadata, "annotations")
		}
	}
	result := without(content, "metadata")
	result["metadata"] = metadata
	return result
}

func without(source map[string]any, key string) map[string]any {
	result := make(map[string]any, len(source))
	for k, v := range source {
		if k != key {
			result[k] = v
		}
	}
	return result
}

// encode writes JSON without HTML escapes and without spare capacity: the result lives as long as the object does.
func encode(content map[string]any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(content); err != nil {
		return nil, err
	}
	return bytes.Clone(bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))), nil
}

// named is an object of which only the name is known.
func named(namespace, name string) *Object {
	return &Object{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		kind:       unique.Make(schema.GroupVersionKind{}),
		raw:        []byte("{}"),
	}
}
