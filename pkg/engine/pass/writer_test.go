package pass_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/restmapping/operator/pkg/engine/fleet"
	"github.com/restmapping/operator/pkg/engine/pass"
)

func uid(text string) types.UID { return types.UID("uid-" + text) }

var thingsGVR = schema.GroupVersionResource{Group: "lab.example.com", Version: "v1", Resource: "things"}

func thing(namespace string, status map[string]any) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "lab.example.com/v1", "kind": "Thing",
		"metadata": map[string]any{"name": "one", "uid": "uid-one", "resourceVersion": "7", "generation": int64(2)},
	}}
	if namespace != "" {
		obj.SetNamespace(namespace)
	}
	if status != nil {
		obj.Object["status"] = status
	}
	return obj
}

// TestDynamicWriter checks what goes over the wire: its kind, its place and its body.
func TestDynamicWriter(t *testing.T) {
	t.Parallel()
	swap := func(ctx context.Context, w *pass.DynamicWriter, key types.NamespacedName) (*fleet.Object, error) {
		return w.SwapAnnotation(ctx, key, "uid-one", "example.com/re~cord", `{"a":1}`, `{"a":2}`)
	}
	metadata := func(ctx context.Context, w *pass.DynamicWriter, key types.NamespacedName) (*fleet.Object, error) {
		return w.PatchMetadata(ctx, key, map[string]any{"metadata": map[string]any{"finalizers": []string{"f"}, "gone": nil}})
	}
	status := func(ctx context.Context, w *pass.DynamicWriter, key types.NamespacedName) (*fleet.Object, error) {
		return w.PatchStatus(ctx, key, map[string]any{"status": map[string]any{"size": 3}})
	}
	const swapBody = `[{"op":"test","path":"/metadata/uid","value":"uid-one"},` +
		`{"op":"test","path":"/metadata/annotations/example.com~1re~0cord","value":"{\"a\":1}"},` +
		`{"op":"replace","path":"/metadata/annotations/example.com~1re~0cord","value":"{\"a\":2}"}]`
	cases := map[string]struct {
		write           func(context.Context, *pass.DynamicWriter, types.NamespacedName) (*fleet.Object, error)
		namespace       string
		kind            types.PatchType
		body, subresouc string
	}{
		"metadata":                   {metadata, "team", types.MergePatchType, `{"metadata":{"finalizers":["f"],"gone":null}}`, ""},
		"metadata of a cluster kind": {metadata, "", types.MergePatchType, `{"metadata":{"finalizers":["f"],"gone":null}}`, ""},
		"status":                     {status, "team", types.MergePatchType, `{"status":{"size":3}}`, "status"},
		"an annotation":              {swap, "team", types.JSONPatchType, swapBody, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
			var sent clienttesting.PatchAction
			client.PrependReactor("patch", "things", func(action clienttesting.Action) (bool, runtime.Object, error) {
				sent, _ = action.(clienttesting.PatchAction)
				return true, thing(tc.namespace, nil), nil
			})
			got, err := tc.write(t.Context(), pass.NewDynamicWriter(client, thingsGVR), types.NamespacedName{Namespace: tc.namespace, Name: "one"})
			if err != nil || got.GetResourceVersion() != "7" {
				t.Fatalf("gave %v, %v", got, err)
			}
			if sent.GetPatchType() != tc.kind || sent.GetSubresource() != tc.subresouc || sent.GetNamespace() != tc.namespace || sent.GetName() != "one" {
				t.Errorf("sent %v", sent)
			}
			if diff := cmp.Diff(decoded(t, tc.body), decoded(t, string(sent.GetPatch()))); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestDynamicWriterKeepsTheKindOfAnError(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]error{
		"conflict": apierrors.NewConflict(things, "one", errors.New("modified")), "gone": apierrors.NewNotFound(things, "one"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
			client.PrependReactor("patch", "things", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, failure })
			w := pass.NewDynamicWriter(client, thingsGVR)
			_, err := w.PatchStatus(t.Context(), named("one"), map[string]any{})
			if apierrors.ReasonForError(err) != apierrors.ReasonForError(failure) {
				t.Errorf("gave %v", err)
			}
		})
	}
}

func TestDynamicWriterRefusesWhatIsNoJSON(t *testing.T) {
	t.Parallel()
	w := pass.NewDynamicWriter(dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()), thingsGVR)
	if _, err := w.PatchMetadata(t.Context(), named("one"), map[string]any{"f": func() {}}); err == nil {
		t.Error("no error")
	}
}

func TestInSync(t *testing.T) {
	t.Parallel()
	condition := func(kind, status string) any { return map[string]any{"type": kind, "status": status} }
	cases := map[string]struct {
		status map[string]any
		want   bool
	}{
		"ready and synced, this generation": {map[string]any{"observedGeneration": int64(2), "conditions": []any{condition("Ready", "True"), condition("Synced", "True")}}, true},
		"an older generation":               {map[string]any{"observedGeneration": int64(1), "conditions": []any{condition("Ready", "True"), condition("Synced", "True")}}, false},
		"not ready":                         {map[string]any{"observedGeneration": int64(2), "conditions": []any{condition("Ready", "False"), condition("Synced", "True")}}, false},
		"not synced":                        {map[string]any{"observedGeneration": int64(2), "conditions": []any{condition("Ready", "True"), condition("Synced", "Unknown")}}, false},
		"no conditions":                     {map[string]any{"observedGeneration": int64(2)}, false},
		"no generation":                     {map[string]any{"conditions": []any{condition("Ready", "True"), condition("Synced", "True")}}, false},
		"no status":                         {nil, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			obj, err := fleet.NewObject(thing("team", tc.status))
			if err != nil {
				t.Fatal(err)
			}
			if got := pass.InSync(obj); got != tc.want {
				t.Errorf("gave %t", got)
			}
		})
	}
}

func TestUnavailableErrorGivesItsCause(t *testing.T) {
	t.Parallel()
	err := error(&pass.UnavailableError{Reason: "X", Err: errAPIServer})
	if !errors.Is(err, errAPIServer) || err.Error() != errAPIServer.Error() {
		t.Errorf("gave %v", err)
	}
}
