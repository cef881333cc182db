package status

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
)

func TestMergePatch(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ from, to, want map[string]any }{
		"nothing changed":            {object("a", "1"), object("a", "1"), object()},
		"added":                      {nil, object("a", "1"), object("a", "1")},
		"changed":                    {object("a", "1"), object("a", "2"), object("a", "2")},
		"removed":                    {object("a", "1"), object(), object("a", nil)},
		"only the nested difference": {object("m", object("a", "1", "b", "2")), object("m", object("a", "1", "b", "3")), object("m", object("b", "3"))},
		"a nested member removed":    {object("m", object("a", "1", "b", "2")), object("m", object("a", "1")), object("m", object("b", nil))},
		"a list is replaced whole":   {object("l", []any{"1", "2"}), object("l", []any{"2"}), object("l", []any{"2"})},
		"another kind of value":      {object("a", "1"), object("a", object("b", "1")), object("a", object("b", "1"))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, MergePatch(tc.from, tc.to)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAMergePatchLeadsFromOneToTheOther(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		from, to := anyObject(t, "from", 0), anyObject(t, "to", 0)
		if got := apply(from, MergePatch(from, to)); !Equal(got, to) {
			t.Fatal(cmp.Diff(to, got))
		}
		if rest := MergePatch(to, to); len(rest) != 0 {
			t.Fatalf("a patch for no difference: %v", rest)
		}
	})
}

func object(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	return m
}

// apply is RFC 7386, section 2.
func apply(target, patch map[string]any) map[string]any {
	out := map[string]any{}
	maps.Copy(out, target)
	for key, value := range patch {
		switch v := value.(type) {
		case nil:
			delete(out, key)
		case map[string]any:
			before, _ := out[key].(map[string]any)
			out[key] = apply(before, v)
		default:
			out[key] = value
		}
	}
	return out
}

// roundTrip gives an object as the API server and the cache give it back.
func roundTrip(t *testing.T, m map[string]any) map[string]any {
	t.Helper()
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := utiljson.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

func anyObject(t *rapid.T, label string, depth int) map[string]any {
	m := map[string]any{}
	for range rapid.IntRange(0, 4).Draw(t, label+" size") {
		key := rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, label+" key")
		switch kind := rapid.IntRange(0, 3).Draw(t, label+" kind"); {
		case kind == 0 && depth < 3:
			m[key] = anyObject(t, label, depth+1)
		case kind == 1:
			m[key] = []any{rapid.Int64().Draw(t, label+" item")}
		case kind == 2:
			m[key] = rapid.Bool().Draw(t, label+" flag")
		default:
			m[key] = rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, label+" text")
		}
	}
	return m
}
