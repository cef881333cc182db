package mapping

import (
	"strings"
	"testing"

	"github.com/restmapping/operator/api/v1alpha1"
)

func TestADifferenceShowsBothValues(t *testing.T) {
	t.Parallel()
	const pairs = v1alpha1.Expression("[{'k': 'a', 'v': 1}, {'k': 'b', 'v': 2}]")
	long := strings.Repeat("x", 200)
	for name, tc := range map[string]struct {
		field          v1alpha1.Field
		observed, want string
	}{
		"a text":                          {v1alpha1.Field{To: "d", From: "spec.description"}, `{"d":"other"}`, `d (found "other", wanted "first")`},
		"nothing there":                   {v1alpha1.Field{To: "d", From: "spec.description"}, `{}`, `d (found nothing, wanted "first")`},
		"nothing wanted":                  {v1alpha1.Field{To: "d", From: "spec.endpointRef", Nulls: v1alpha1.NullsRemove}, `{"d":7}`, `d (found 7, wanted nothing)`},
		"the place inside an object":      {v1alpha1.Field{To: "c", From: "spec.free"}, `{"c":{"a":1,"b":{"x":2,"token":"s3cr3t"}}}`, `c.b.x (found 2, wanted 3)`},
		"an object for a text":            {v1alpha1.Field{To: "d", From: "spec.description"}, `{"d":{"token":"s3cr3t"}}`, `d (found an object, wanted "first")`},
		"what is beside the wanted keys":  {v1alpha1.Field{To: "c", From: "spec.free", Compare: v1alpha1.CompareWhole}, `{"c":{"a":1,"b":{"x":3},"token":"s3cr3t"}}`, `c (found an object, wanted an object)`},
		"a short list":                    {v1alpha1.Field{To: "t", From: "spec.tags", Compare: v1alpha1.CompareSet}, `{"t":["a"]}`, `t (found ["a"], wanted ["b","a"])`},
		"a list of objects":               {v1alpha1.Field{To: "t", From: "spec.tags"}, `{"t":[{"token":"s3cr3t"}]}`, `t (found a list of 1, wanted ["b","a"])`},
		"an element of a list of objects": {v1alpha1.Field{To: "t", Value: pairs}, `{"t":[{"k":"a","v":1},{"k":"b","v":9,"token":"s3cr3t"}]}`, `t[1].v (found 9, wanted 2)`},
		"an element by its key": {
			v1alpha1.Field{To: "t", Value: pairs, Compare: v1alpha1.CompareMapByKey, Key: "k"},
			`{"t":[{"k":"b","v":9,"token":"s3cr3t"},{"k":"a","v":1}]}`, `t[b].v (found 9, wanted 2)`,
		},
		"other keys": {
			v1alpha1.Field{To: "t", Value: pairs, Compare: v1alpha1.CompareMapByKey, Key: "k"},
			`{"t":[{"k":"c","v":2,"token":"s3cr3t"},{"k":"a","v":1}]}`, `t[].k (found ["a","c"], wanted ["a","b"])`,
		},
		"a long set": {
			v1alpha1.Field{To: "t", From: "spec.tags", Compare: v1alpha1.CompareSet},
			`{"t":["1","2","3","4","5","6","7","8","9"]}`, `t (found a list of 9, wanted ["b","a"])`,
		},
		"a long set with much in common": {
			v1alpha1.Field{To: "t", Value: "lists.range(9).map(i, string(i + 1))", Compare: v1alpha1.CompareSet},
			`{"t":["1","2","3","4","5","6","7","8","x"]}`, `t (found ["x"], wanted ["9"])`,
		},
		"a long text": {v1alpha1.Field{To: "d", From: "spec.description"}, `{"d":"` + long + `"}`, `d (found "` + long[:47] + `…, wanted "first")`},
	} {
		const selfText = `{metadata: {name: w1}, spec: {owner: acme, description: first, tags: [b, a], free: {a: 1, b: {x: 3}}}}`
		p := compiled(t, func(s *v1alpha1.RestMappingSpec) { s.Fields = []v1alpha1.Field{tc.field} })
		got, err := widgetPass(t, p, selfText).Compare(t.Context(), object(t, tc.observed))
		noError(t, err)
		if len(got.Differences) != 1 || got.Differences[0].String() != tc.want {
			t.Errorf("%s: got %v, want %s", name, got.Differences, tc.want)
		}
	}
}

// TestAPasswordIsNeverShown: neither what a field takes from a place that the CRD marks, nor what an expression may have
// taken from there.
func TestAPasswordIsNeverShown(t *testing.T) {
	t.Parallel()
	target := widgetTarget(t)
	target.Schema = schemaOf(t, strings.Replace(widgetSchema, "url: {type: string}, depth", "url: {type: string, format: password}, depth", 1))
	for name, tc := range map[string]struct {
		field v1alpha1.Field
		want  string
	}{
		"the field itself":     {v1alpha1.Field{To: "c", From: "spec.config.url"}, "c"},
		"an object around it":  {v1alpha1.Field{To: "c", From: "spec.config"}, "c"},
		"an expression":        {v1alpha1.Field{To: "c", Value: "'x' + self.spec.config.url"}, "c"},
		"one beside it":        {v1alpha1.Field{To: "c", From: "spec.description"}, `c (found "s3cr3t", wanted "first")`},
		"one that knows no cr": {v1alpha1.Field{To: "c", Value: "'x'"}, `c (found "s3cr3t", wanted "x")`},
	} {
		p := mustCompile(t, widgets(t, func(s *v1alpha1.RestMappingSpec) { s.Fields = []v1alpha1.Field{tc.field} }), target)
		s := widgetPass(t, p, `{metadata: {name: w1}, spec: {owner: acme, description: first, config: {url: hunter2}}}`)
		got, err := s.Compare(t.Context(), object(t, `{"c":"s3cr3t"}`))
		noError(t, err)
		if len(got.Differences) != 1 || got.Differences[0].String() != tc.want {
			t.Errorf("%s: got %v, want %s", name, got.Differences, tc.want)
		}
	}
}

func TestAForcedUpdateHoldsEverything(t *testing.T) {
	t.Parallel()
	fields := []v1alpha1.Field{
		{To: "description", From: "spec.description"},
		{To: "size", From: "spec.size", Compare: v1alpha1.CompareIgnore},
		{To: "region", Value: "'eu'", Immutable: true},
		{To: "seed", Value: "1", Operations: []v1alpha1.FieldEvent{v1alpha1.OnCreate}},
	}
	for mode, want := range map[v1alpha1.BodyMode]string{
		v1alpha1.BodyChanged: `{"description":"first","size":7}`,
		v1alpha1.BodyDesired: `{"description":"first","region":"eu","size":7}`,
		v1alpha1.BodyJSONPatch: `[{"op":"test","path":"/description","value":"first"},{"op":"replace","path":"/description","value":"first"},` +
			`{"op":"add","path":"/size","value":7}]`,
	} {
		s := widgetPass(t, compiled(t, updated(mode, fields...)), widgetSelf)
		s.SendAll()
		req, err := s.UpdateRequest(t.Context(), object(t, `{"description":"first","region":"eu"}`))
		noError(t, err)
		if string(req.Body) != want {
			t.Errorf("%s\ngot  %s\nwant %s", mode, req.Body, want)
		}
	}
}
