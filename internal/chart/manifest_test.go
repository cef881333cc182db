package chart

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const manifest = `---
# Source: only a comment
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: operator}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: operator}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: operator, generation: 9007199254740993}
`

func TestDecodeKeepsOrderAndLargeNumbers(t *testing.T) {
	t.Parallel()
	objects := decoded(t, manifest)
	want := []string{"ServiceAccount", "CustomResourceDefinition", "Role", "Deployment"}
	if diff := cmp.Diff(want, kinds(objects)); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
	if got := objects[3].GetGeneration(); got != 9007199254740993 {
		t.Errorf("a large number went through a float: got %d", got)
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ manifest, want string }{
		"a key that stands twice":   {"apiVersion: v1\nkind: Secret\nkind: ConfigMap\n", "document 1"},
		"text that is not YAML":     {"a: 1\n---\na: [\n", "document"},
		"an object without a kind":  {"apiVersion: v1\nmetadata: {name: x}\n", "document 1"},
		"a document that is a list": {"---\n- a\n- b\n", "document"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Decode([]byte(tc.manifest))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("Decode: got error %v, want one that names %q", err, tc.want)
			}
		})
	}
}

func TestDecodeOfNothingIsNothing(t *testing.T) {
	t.Parallel()
	if objects := decoded(t, "\n---\n# nothing\n---\n"); len(objects) != 0 {
		t.Errorf("got %v, want no objects", kinds(objects))
	}
}

func TestEncodeIsTheReverseOfDecode(t *testing.T) {
	t.Parallel()
	objects := decoded(t, manifest)
	text, err := Encode(objects)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(objects, decoded(t, string(text))); diff != "" {
		t.Errorf("after encoding and decoding (-before +after):\n%s", diff)
	}
}

func TestSelections(t *testing.T) {
	t.Parallel()
	objects := decoded(t, manifest)
	cases := map[string]struct {
		got  []*unstructured.Unstructured
		want []string
	}{
		"the identity is the ServiceAccount and its rights, no workload": {Identity(objects), []string{"ServiceAccount", "Role"}},
		"the definitions are the CRDs":                                   {Definitions(objects), []string{"CustomResourceDefinition"}},
		"several kinds keep the manifest's order":                        {OfKind(objects, "Deployment", "Role"), []string{"Role", "Deployment"}},
		"a kind that is not there gives nothing":                         {OfKind(objects, "Pod"), nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, kinds(tc.got)); diff != "" {
				t.Errorf("kinds (-want +got):\n%s", diff)
			}
		})
	}
}

func decoded(t *testing.T, text string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := Decode([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

func kinds(objects []*unstructured.Unstructured) []string {
	var found []string
	for _, object := range objects {
		found = append(found, object.GetKind())
	}
	return found
}
