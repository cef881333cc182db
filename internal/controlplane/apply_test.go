package controlplane

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestDecode(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		text  string
		names []string
		fails bool
	}{
		"nothing":                           {text: ""},
		"comments alone":                    {text: "# a comment\n---\n# another\n"},
		"two documents in their order":      {text: "metadata: {name: b}\n---\nmetadata: {name: a}\n", names: []string{"b", "a"}},
		"a leading separator, then a blank": {text: "---\nmetadata: {name: a}\n---\n\n---\nmetadata: {name: b}\n", names: []string{"a", "b"}},
		"JSON":                              {text: `{"metadata":{"name":"a"}}`, names: []string{"a"}},
		"a list instead of an object":       {text: "- a\n- b\n", fails: true},
		"broken YAML":                       {text: "a: [\n", fails: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects, err := decode([]byte(tc.text))
			if (err != nil) != tc.fails {
				t.Fatalf("error: %v", err)
			}
			if len(objects) != len(tc.names) {
				t.Fatalf("want %v, got %v", tc.names, objects)
			}
			for i, want := range tc.names {
				if objects[i].GetName() != want {
					t.Errorf("object %d: want %s, got %s", i, want, objects[i].GetName())
				}
			}
		})
	}
}

func TestEstablished(t *testing.T) {
	t.Parallel()
	crd := func(conditions ...any) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": conditions}}}
	}
	condition := func(kind, status string) map[string]any { return map[string]any{"type": kind, "status": status} }
	cases := map[string]struct {
		crd   *unstructured.Unstructured
		fails bool
	}{
		"no status yet":          {crd: &unstructured.Unstructured{Object: map[string]any{}}, fails: true},
		"only its names are set": {crd: crd(condition("NamesAccepted", "True")), fails: true},
		"it is being installed":  {crd: crd(condition("Established", "False")), fails: true},
		"it is served":           {crd: crd(condition("NamesAccepted", "True"), condition("Established", "True"))},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := established(tc.crd); (err != nil) != tc.fails {
				t.Errorf("error: %v", err)
			}
		})
	}
}
