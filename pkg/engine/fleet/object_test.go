package fleet

import (
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/utils/ptr"
)

// full is a custom resource as large and as various as in real life: two field managers and a last-applied annotation.
const full = `{
  "apiVersion": "lab.example.com/v1", "kind": "Widget",
  "metadata": {
    "name": "w-%[1]d", "namespace": "blue", "uid": "5f0f5dcd-5a4c-4f3b-8a8e-%012[1]d", "resourceVersion": "1%[1]d", "generation": 7,
    "creationTimestamp": "2026-01-02T03:04:05Z", "deletionTimestamp": "2026-01-03T03:04:05Z", "deletionGracePeriodSeconds": 0,
    "labels": {"app.kubernetes.io/name": "w", "color": "blue"},
    "annotations": {
      "kubectl.kubernetes.io/last-applied-configuration": "{\"apiVersion\":\"lab.example.com/v1\",\"kind\":\"Widget\",\"metadata\":{\"annotations\":{},\"name\":\"w\",\"namespace\":\"blue\"},\"spec\":{\"description\":\"a widget that is described at some length\",\"size\":3}}\n",
      "restmapping.dev/record": "{\"attempt\":1}"},
    "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "u"}],
    "finalizers": ["restmapping.dev/object"],
    "managedFields": [
      {"manager": "kubectl-client-side-apply", "operation": "Update", "apiVersion": "lab.example.com/v1", "time": "2026-01-02T03:04:05Z", "fieldsType": "FieldsV1",
       "fieldsV1": {"f:metadata": {"f:annotations": {".": {}, "f:kubectl.kubernetes.io/last-applied-configuration": {}}, "f:labels": {".": {}, "f:color": {}}},
                    "f:spec": {".": {}, "f:description": {}, "f:size": {}, "f:ratio": {}, "f:tags": {}, "f:ports": {}}}},
      {"manager": "operator", "operation": "Update", "subresource": "status", "apiVersion": "lab.example.com/v1", "time": "2026-01-02T03:04:05Z", "fieldsType": "FieldsV1",
       "fieldsV1": {"f:status": {".": {}, "f:conditions": {".": {}, "k:{\"type\":\"Ready\"}": {".": {}, "f:type": {}, "f:status": {}, "f:reason": {}, "f:message": {}, "f:lastTransitionTime": {}}}, "f:identifiers": {".": {}, "f:id": {}}}}}
    ]
  },
  "spec": {"description": "a widget that is described at some length <b>&</b>", "size": 3, "ratio": 1.5, "large": 9007199254740993, "tags": ["a", "b", "c"],
           "ports": [{"name": "http", "port": 80}, {"name": "https", "port": 443}], "nothing": null, "enabled": true},
  "status": {"observedGeneration": 7, "identifiers": {"id": "4711"},
             "conditions": [{"type": "Ready", "status": "True", "reason": "Succeeded", "message": "The object is as declared.", "lastTransitionTime": "2026-01-02T03:04:05Z", "observedGeneration": 7}]}
}`

func fullObject(tb testing.TB, number int) *unstructured.Unstructured {
	tb.Helper()
	object := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(fmt.Appendf(nil, full, number), &object.Object); err != nil {
		tb.Fatal(err)
	}
	return object
}

func compacted(tb testing.TB, source *unstructured.Unstructured) *Object {
	tb.Helper()
	result, err := compact(source)
	if err != nil {
		tb.Fatal(err)
	}
	object, ok := result.(*Object)
	if !ok {
		tb.Fatalf("got %T, want *Object", result)
	}
	return object
}

func TestObjectKeepsAllButTheBallast(t *testing.T) {
	t.Parallel()
	source := fullObject(t, 1)
	before := source.DeepCopy()
	object := compacted(t, source)

	if diff := cmp.Diff(before.Object, source.Object); diff != "" {
		t.Errorf("the source was changed (-before +after):\n%s", diff)
	}
	want := before.DeepCopy()
	unstructured.RemoveNestedField(want.Object, "metadata", "managedFields")
	unstructured.RemoveNestedField(want.Object, "metadata", "annotations", "kubectl.kubernetes.io/last-applied-configuration")
	got, err := object.Unstructured()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Object, got); diff != "" {
		t.Errorf("content (-want +got):\n%s", diff)
	}
}

func TestObjectMetadata(t *testing.T) {
	t.Parallel()
	object := compacted(t, fullObject(t, 1))
	deleted := metav1.NewTime(time.Date(2026, 1, 3, 3, 4, 5, 0, time.UTC).Local())
	want := metav1.ObjectMeta{
		Name:                       "w-1",
		Namespace:                  "blue",
		UID:                        "5f0f5dcd-5a4c-4f3b-8a8e-000000000001",
		ResourceVersion:            "11",
		Generation:                 7,
		CreationTimestamp:          metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Local()),
		DeletionTimestamp:          &deleted,
		DeletionGracePeriodSeconds: ptr.To[int64](0),
		Labels:                     map[string]string{"app.kubernetes.io/name": "w", "color": "blue"},
		Annotations:                map[string]string{"restmapping.dev/record": `{"attempt":1}`},
		OwnerReferences:            []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "u"}},
		Finalizers:                 []string{"restmapping.dev/object"},
	}
	if diff := cmp.Diff(want, object.ObjectMeta); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
	if accessor, err := meta.Accessor(object); err != nil || accessor.GetName() != "w-1" {
		t.Errorf("Kubernetes libraries cannot read it: %v, %v", accessor, err)
	}
	kind := schema.GroupVersionKind{Group: "lab.example.com", Version: "v1", Kind: "Widget"}
	if got := object.GetObjectKind().GroupVersionKind(); got != kind {
		t.Errorf("kind: got %v, want %v", got, kind)
	}
	object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	if got := object.GroupVersionKind(); got != kind {
		t.Errorf("setting the kind changed the shared object to %v", got)
	}
}

func TestObjectWithoutOtherAnnotationsHasNone(t *testing.T) {
	t.Parallel()
	source := widgetWith(map[string]any{"annotations": map[string]any{"kubectl.kubernetes.io/last-applied-configuration": "{}"}})
	object := compacted(t, source)
	if object.Annotations != nil {
		t.Errorf("annotations: got %v, want none", object.Annotations)
	}
	content, err := object.Unstructured()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"name": "a"}, content["metadata"]); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
}

func TestUnstructuredIsAFreshCopyWithPlainNumbers(t *testing.T) {
	t.Parallel()
	object := compacted(t, fullObject(t, 1))
	first, err := object.Unstructured()
	if err != nil {
		t.Fatal(err)
	}
	spec := first["spec"].(map[string]any)
	want := map[string]any{"size": int64(3), "ratio": 1.5, "large": int64(9007199254740993)}
	got := map[string]any{"size": spec["size"], "ratio": spec["ratio"], "large": spec["large"]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
	maps.DeleteFunc(spec, func(string, any) bool { return true })
	second, err := object.Unstructured()
	if err != nil {
		t.Fatal(err)
	}
	if len(second["spec"].(map[string]any)) == 0 {
		t.Error("changing one copy changed the next one")
	}
}

func TestCompactAcceptsItsOwnResultAndNothingElse(t *testing.T) {
	t.Parallel()
	object := compacted(t, fullObject(t, 1))
	again, err := compact(object)
	if err != nil || again != any(object) {
		t.Errorf("got %v, %v; want the object itself: the streamed initial list transforms twice", again, err)
	}
	if _, err := compact(&metav1.Status{}); err == nil || !strings.Contains(err.Error(), "*v1.Status") {
		t.Errorf("another type: got error %v, want one that names the type", err)
	}
	if _, err := compact(widgetWith(map[string]any{"labels": make(chan int)})); err == nil || !strings.Contains(err.Error(), "Widget") {
		t.Errorf("what is no JSON: got error %v, want one that names the object", err)
	}
}

func TestDeepCopyIsIndependent(t *testing.T) {
	t.Parallel()
	object := compacted(t, fullObject(t, 1))
	duplicate, ok := object.DeepCopyObject().(*Object)
	if !ok {
		t.Fatal("the copy has another type")
	}
	if !duplicate.sameAs(object) || duplicate.GroupVersionKind() != object.GroupVersionKind() {
		t.Error("the copy differs")
	}
	duplicate.Labels["color"] = "red"
	if object.Labels["color"] != "blue" {
		t.Error("changing the copy changed the object")
	}
}

func TestSameAs(t *testing.T) {
	t.Parallel()
	base := compacted(t, fullObject(t, 1))
	cases := map[string]struct {
		change func(*unstructured.Unstructured)
		want   bool
	}{
		"an equal object":                            {func(*unstructured.Unstructured) {}, true},
		"another version":                            {func(u *unstructured.Unstructured) { u.SetResourceVersion("99") }, false},
		"another object by the same name":            {func(u *unstructured.Unstructured) { u.SetUID("other") }, false},
		"a new default of the schema":                {func(u *unstructured.Unstructured) { u.Object["added"] = "x" }, false},
		"a difference in what the cache leaves away": {func(u *unstructured.Unstructured) { u.SetManagedFields(nil) }, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := fullObject(t, 1)
			tc.change(source)
			if got := compacted(t, source).sameAs(base); got != tc.want {
				t.Errorf("got %v, want %v", got, tc.want)
			}
		})
	}
}

func TestPrintingAnObjectShowsItsNameOnly(t *testing.T) {
	t.Parallel()
	if got, want := fmt.Sprintf("%v", compacted(t, fullObject(t, 1))), "Widget blue/w-1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := compacted(t, widgetWith(nil)).String(), "Widget a"; got != want {
		t.Errorf("cluster-scoped: got %q, want %q", got, want)
	}
}

// TestMemoryPerObject guards the reason for the compact form. It is not parallel, because it measures the heap.
func TestMemoryPerObject(t *testing.T) { //nolint:paralleltest // measures the heap
	const count = 2000
	whole := heapPer(t, count, func(i int) any { return fullObject(t, i) })
	small := heapPer(t, count, func(i int) any { return compacted(t, fullObject(t, i)) })
	t.Logf("%d B per object decoded, %d B compact: %.1f times less", whole, small, float64(whole)/float64(small))
	if small*4 > whole {
		t.Errorf("the compact form takes %d B, the decoded one %d B: want at most a quarter", small, whole)
	}
}

func BenchmarkMemoryPerObject(b *testing.B) {
	const count = 5000
	source, err := json.Marshal(fullObject(b, 1).Object)
	if err != nil {
		b.Fatal(err)
	}
	forms := map[string]func(int) any{
		"decoded": func(i int) any { return fullObject(b, i) },
		"compact": func(i int) any { return compacted(b, fullObject(b, i)) },
	}
	for name, build := range forms {
		b.Run(name, func(b *testing.B) {
			var bytes uint64
			for b.Loop() {
				bytes = heapPer(b, count, build)
			}
			b.ReportMetric(float64(bytes), "B/object")
			b.ReportMetric(float64(len(source)), "JSON-B/object")
		})
	}
}

func heapPer(tb testing.TB, count int, build func(int) any) uint64 {
	tb.Helper()
	kept := make([]any, count)
	before := heap()
	for i := range kept {
		kept[i] = build(i)
	}
	used := heap() - before
	runtime.KeepAlive(kept)
	return used / uint64(count)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// widgetWith returns a small object with more metadata than a name.
func widgetWith(metadata map[string]any) *unstructured.Unstructured {
	all := map[string]any{"name": "a"}
	maps.Copy(all, metadata)
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "lab.example.com/v1", "kind": "Widget", "metadata": all}}
}
