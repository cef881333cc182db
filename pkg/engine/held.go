package engine

import (
	"context"

	"k8s.io/apimachinery/pkg/types"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/engine/fleet"
	"github.com/restmapping/operator/pkg/lifecycle"
)

// Held is a custom resource that carries our finalizer: it may have an object outside.
type Held struct {
	Key types.NamespacedName
	// Name is the endpoint that it names, empty when that cannot be told.
	Name string
	// Endpoint is the identity of the server that its record names, empty without one.
	Endpoint string
}

// Held gives the custom resources of a mapping that may have objects outside, in a namespace or in all. known is false
// when the mapping does not run, or does not know all of them yet.
func (e *Engine) Held(ctx context.Context, name, namespace string) (found []Held, known bool) {
	r := e.runner(name)
	if r == nil {
		return nil, false
	}
	for _, s := range r.subscribed() {
		if !s.HasSynced() {
			return nil, false
		}
		for _, obj := range s.List() {
			if held(obj) && (namespace == "" || obj.GetNamespace() == namespace) {
				found = append(found, r.heldObject(ctx, obj))
			}
		}
	}
	return found, len(r.subscribed()) > 0
}

func (r *runner) heldObject(ctx context.Context, obj *fleet.Object) Held {
	h := Held{Key: types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}}
	if self, err := obj.Unstructured(); err == nil {
		h.Name, _ = r.program().EndpointName(ctx, self) // empty: what it names cannot be told
	}
	if record, err := lifecycle.DecodeRecord(obj.GetAnnotations()[v1alpha1.RecordAnnotation]); err == nil && record != nil {
		h.Endpoint = record.Endpoint
	}
	return h
}
