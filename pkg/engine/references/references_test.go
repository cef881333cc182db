package references

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

func key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "team", Name: name}
}

func folder(name string) Object {
	return Object{Resource: schema.GroupResource{Group: "example.com", Resource: "folders"}, Key: key(name)}
}

func blocking(names ...string) []Edge {
	var edges []Edge
	for _, name := range names {
		edges = append(edges, Edge{To: folder(name), Blocks: true})
	}
	return edges
}

func wantEqual(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func TestIndex(t *testing.T) {
	t.Parallel()
	x := NewIndex()
	wantEqual(t, "dropped by the first", []Object(nil), x.Set(key("w1"), blocking("a", "b")))
	x.Set(key("w0"), blocking("a"))
	x.Set(key("free"), []Edge{{To: folder("a")}})
	wantEqual(t, "who keeps a", []types.NamespacedName{key("w0"), key("w1")}, x.Blocking(folder("a")))
	all := x.Referrers(folder("a"))
	slices.SortFunc(all, func(a, b types.NamespacedName) int { return cmp.Compare(a.Name, b.Name) })
	wantEqual(t, "who refers to a", []types.NamespacedName{key("free"), key("w0"), key("w1")}, all)
	wantEqual(t, "what w1 refers to", blocking("a", "b"), x.To(key("w1")))

	wantEqual(t, "dropped by a change", []Object{folder("a")}, x.Set(key("w1"), blocking("b", "c")))
	wantEqual(t, "dropped by the end", []Object{folder("b"), folder("c")}, x.Drop(key("w1")))
	wantEqual(t, "dropped by nobody", []Object(nil), x.Drop(key("w1")))
	x.Drop(key("w0"))
	x.Drop(key("free"))
	if from, to := x.Len(); from != 0 || to != 0 {
		t.Errorf("%d and %d are left of nothing", from, to)
	}
}

func TestOfTwoReferencesToOneObjectTheOneThatBlocksCounts(t *testing.T) {
	t.Parallel()
	for _, edges := range [][]Edge{{{To: folder("a"), Blocks: true}, {To: folder("a")}}, {{To: folder("a")}, {To: folder("a"), Blocks: true}}} {
		x := NewIndex()
		x.Set(key("w"), edges)
		wantEqual(t, "who keeps a", []types.NamespacedName{key("w")}, x.Blocking(folder("a")))
	}
}

func TestWay(t *testing.T) {
	t.Parallel()
	graph := map[string][]string{"a": {"b", "x"}, "b": {"c"}, "c": {"a"}, "self": {"self"}, "x": {"y"}, "far": {"far1"}}
	for i := 1; i < 3*maxVisited; i++ {
		graph[fmt.Sprint("far", i)] = []string{fmt.Sprint("far", i+1)}
	}
	graph[fmt.Sprint("far", 3*maxVisited)] = []string{"far"}
	edges := func(o Object) []Edge { return blocking(graph[o.Key.Name]...) }
	cases := map[string]struct {
		from, to string
		want     []string
	}{
		"round":             {"a", "a", []string{"a", "b", "c", "a"}},
		"to itself":         {"self", "self", []string{"self", "self"}},
		"there":             {"a", "y", []string{"a", "x", "y"}},
		"not back":          {"y", "a", nil},
		"into a circle":     {"b", "x", []string{"b", "c", "a", "x"}},
		"too far to follow": {"far", "far", nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, o := range Way(folder(tc.from), folder(tc.to), edges) {
				got = append(got, o.Key.Name)
			}
			wantEqual(t, "way", tc.want, got)
		})
	}
}

func TestNotReady(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		object        string
		hasConditions bool
		want          string
	}{
		"ready":                         {"{metadata: {generation: 2}, status: {observedGeneration: 2, conditions: [{type: Ready, status: 'True', observedGeneration: 2}]}}", true, ""},
		"ready, and says no generation": {"{metadata: {generation: 2}, status: {conditions: [{type: Ready, status: 'True'}]}}", true, ""},
		"no conditions in its schema":   {"{metadata: {generation: 1}}", false, ""},
		"not looked at yet":             {"{metadata: {generation: 1}}", true, "it has no condition Ready yet"},
		"the default of the status":     {"{metadata: {generation: 1}, status: {observedGeneration: -1}}", true, "it was not looked at since it was changed last"},
		"changed since":                 {"{metadata: {generation: 3}, status: {observedGeneration: 2, conditions: [{type: Ready, status: 'True'}]}}", true, "it was not looked at since"},
		"a condition of before":         {"{metadata: {generation: 3}, status: {conditions: [{type: Ready, status: 'True', observedGeneration: 2}]}}", true, "older than its last change"},
		"not ready":                     {"{metadata: {generation: 1}, status: {conditions: [{type: Ready, status: 'False', reason: Creating}]}}", true, "its condition Ready is False, with reason Creating"},
		"unready without a schema":      {"{metadata: {generation: 1}, status: {conditions: [{type: Ready, status: Unknown, reason: X}]}}", false, "its condition Ready is Unknown"},
		"being deleted, though ready":   {"{metadata: {generation: 1, deletionTimestamp: now}, status: {conditions: [{type: Ready, status: 'True'}]}}", true, "it is being deleted"},
		"other conditions say nothing":  {"{metadata: {generation: 1}, status: {conditions: [{type: Synced, status: 'True'}]}}", true, "it has no condition Ready yet"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asJSON, err := yaml.YAMLToJSON([]byte(tc.object))
			if err != nil {
				t.Fatal(err)
			}
			object := map[string]any{}
			if err := utiljson.Unmarshal(asJSON, &object); err != nil {
				t.Fatal(err)
			}
			got := NotReady(object, tc.hasConditions)
			if (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
