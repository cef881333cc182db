package chart

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Decode takes a manifest apart. Documents that hold nothing but comments are left out, and a key that stands twice
// is an error.
func Decode(manifest []byte) ([]*unstructured.Unstructured, error) {
	reader := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(manifest)))
	var objects []*unstructured.Unstructured
	for number := 1; ; number++ {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("manifest, document %d: %w", number, err)
		}
		object, err := decode(document)
		if err != nil {
			return nil, fmt.Errorf("manifest, document %d: %w", number, err)
		}
		if object != nil {
			objects = append(objects, object)
		}
	}
}

func decode(document []byte) (*unstructured.Unstructured, error) {
	data, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, err
	}
	if string(bytes.TrimSpace(data)) == "null" {
		return nil, nil
	}
	object := &unstructured.Unstructured{}
	if err := object.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	return object, nil
}

// Encode is the reverse of Decode.
func Encode(objects []*unstructured.Unstructured) ([]byte, error) {
	var manifest bytes.Buffer
	for _, object := range objects {
		document, err := yaml.Marshal(object.Object)
		if err != nil {
			return nil, fmt.Errorf("encode %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		manifest.WriteString("---\n")
		manifest.Write(document)
	}
	return manifest.Bytes(), nil
}

// OfKind returns the objects of the kinds, in the order of the manifest.
func OfKind(objects []*unstructured.Unstructured, kinds ...string) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for _, object := range objects {
		if slices.Contains(kinds, object.GetKind()) {
			found = append(found, object)
		}
	}
	return found
}

// Identity returns who the operator is and what it may do: its ServiceAccount, roles and bindings.
func Identity(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return OfKind(objects, "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
}

// Definitions returns the operator's own CRDs.
func Definitions(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return OfKind(objects, "CustomResourceDefinition")
}
