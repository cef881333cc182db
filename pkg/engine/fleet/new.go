package fleet

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// NewObject gives the compact form of an object that did not come through a watch: the answer to a write.
func NewObject(source *unstructured.Unstructured) (*Object, error) { return newObject(source) }
