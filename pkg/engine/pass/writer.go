package pass

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/restmapping/operator/pkg/engine/fleet"
)

// FieldManager names the operator in managedFields.
const FieldManager = "restmapping-operator"

// DynamicWriter writes custom resources of one kind through the dynamic client.
type DynamicWriter struct {
	client   dynamic.NamespaceableResourceInterface
	resource string
}

var _ Writer = (*DynamicWriter)(nil)

// NewDynamicWriter gives a writer for this resource.
func NewDynamicWriter(client dynamic.Interface, gvr schema.GroupVersionResource) *DynamicWriter {
	return &DynamicWriter{client: client.Resource(gvr), resource: gvr.Resource}
}

// PatchMetadata implements Writer.
func (w *DynamicWriter) PatchMetadata(ctx context.Context, key types.NamespacedName, patch map[string]any) (*fleet.Object, error) {
	return w.merge(ctx, key, patch)
}

// PatchStatus implements Writer.
func (w *DynamicWriter) PatchStatus(ctx context.Context, key types.NamespacedName, patch map[string]any) (*fleet.Object, error) {
	return w.merge(ctx, key, patch, "status")
}

func (w *DynamicWriter) merge(ctx context.Context, key types.NamespacedName, patch map[string]any, subresources ...string) (*fleet.Object, error) {
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encode patch of %s %s: %w", w.resource, key, err)
	}
	return w.send(ctx, key, types.MergePatchType, body, subresources...)
}

// SwapAnnotation implements Writer. The test on uid keeps it from touching a namesake that was made since.
func (w *DynamicWriter) SwapAnnotation(ctx context.Context, key types.NamespacedName, uid types.UID, name, from, to string) (*fleet.Object, error) {
	path := "/metadata/annotations/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
	body, err := json.Marshal([]map[string]string{
		{"op": "test", "path": "/metadata/uid", "value": string(uid)},
		{"op": "test", "path": path, "value": from},
		{"op": "replace", "path": path, "value": to},
	})
	if err != nil {
		return nil, fmt.Errorf("encode patch of %s %s: %w", w.resource, key, err)
	}
	got, err := w.send(ctx, key, types.JSONPatchType, body)
	if apierrors.IsInvalid(err) {
		return w.swapped(ctx, key, uid, name, to, err)
	}
	return got, err
}

// swapped looks whether a test failed because the swap had been made already, and its answer was lost.
func (w *DynamicWriter) swapped(ctx context.Context, key types.NamespacedName, uid types.UID, name, to string, refused error) (*fleet.Object, error) {
	live, err := w.scoped(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("get %s %s: %w", w.resource, key, err)
	}
	if live.GetUID() != uid || live.GetAnnotations()[name] != to {
		return nil, refused
	}
	return compact(live)
}

func (w *DynamicWriter) send(ctx context.Context, key types.NamespacedName, kind types.PatchType, body []byte, subresources ...string) (*fleet.Object, error) {
	got, err := w.scoped(key.Namespace).Patch(ctx, key.Name, kind, body, metav1.PatchOptions{FieldManager: FieldManager}, subresources...)
	if err != nil {
		return nil, fmt.Errorf("patch %s %s: %w", w.resource, key, err)
	}
	return compact(got)
}

func (w *DynamicWriter) scoped(namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return w.client
	}
	return w.client.Namespace(namespace)
}

func compact(u *unstructured.Unstructured) (*fleet.Object, error) {
	obj, err := fleet.NewObject(u)
	if err != nil {
		return nil, fmt.Errorf("keep %s/%s: %w", u.GetNamespace(), u.GetName(), err)
	}
	return obj, nil
}
