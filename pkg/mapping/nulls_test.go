package mapping

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/api/v1alpha1"
)

// parent is a field that this custom resource leaves out.
func parent(nulls v1alpha1.Nulls, more ...v1alpha1.Field) specChange {
	return func(s *v1alpha1.RestMappingSpec) {
		s.Fields = append([]v1alpha1.Field{{To: "parent.id", From: "spec.endpointRef", Nulls: nulls}}, more...)
	}
}

func TestNullsAreSentWhereTheMappingSaysSo(t *testing.T) {
	t.Parallel()
	none := v1alpha1.Field{To: "none", Value: "optional.none()", Nulls: v1alpha1.NullsSend}
	null := v1alpha1.Field{To: "null", Value: "null", Nulls: v1alpha1.NullsSend}
	secret := v1alpha1.Field{To: "token", Value: "null", WriteOnly: true, Nulls: v1alpha1.NullsSend}
	keyed := v1alpha1.Field{To: "rules", From: "spec.rules", Compare: v1alpha1.CompareMapByKey, Key: "name", Nulls: v1alpha1.NullsSend}
	cases := map[string]struct {
		change specChange
		body   v1alpha1.BodyMode
		want   string
	}{
		"left out unless said otherwise": {parent(""), v1alpha1.BodyDesired, `{}`},
		"left out":                       {parent(v1alpha1.NullsOmit), v1alpha1.BodyDesired, `{}`},
		"sent":                           {parent(v1alpha1.NullsSend, none, null, secret), v1alpha1.BodyDesired, `{"none":null,"null":null,"parent":{"id":null},"token":null}`},
		"sent as a change":               {parent(v1alpha1.NullsSend, none, null, secret), v1alpha1.BodyChanged, `{"parent":{"id":null},"token":null}`},
		"laid over": {
			parent(v1alpha1.NullsSend, keyed), v1alpha1.BodyOverlay,
			`{"parent":{"id":null,"name":"kept"},"rules":null}`,
		},
		"patched": {
			parent(v1alpha1.NullsSend), v1alpha1.BodyJSONPatch,
			`[{"op":"test","path":"/parent/id","value":7},{"op":"replace","path":"/parent/id","value":null}]`,
		},
		"a list by key that is already null": {parent(v1alpha1.NullsOmit, keyed), v1alpha1.BodyChanged, `{"rules":null}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := compiled(t, tc.change, func(s *v1alpha1.RestMappingSpec) { s.Operations.Update.Body = tc.body })
			observed := object(t, `{"parent":{"id":7,"name":"kept"},"rules":[{"name":"a"}]}`)
			req, err := widgetPass(t, p, widgetSelf).UpdateRequest(t.Context(), observed)
			noError(t, err)
			if string(req.Body) != tc.want {
				t.Errorf("got  %s\nwant %s", req.Body, tc.want)
			}
		})
	}
}

func TestASentNullEqualsNullAndAbsent(t *testing.T) {
	t.Parallel()
	for observed, differs := range map[string]bool{
		`{"parent":{"id":null}}`: false,
		`{"parent":{}}`:          false,
		`{}`:                     false,
		`{"parent":{"id":7}}`:    true,
		`{"parent":{"id":""}}`:   true,
		`{"parent":{"id":[]}}`:   true,
	} {
		for nulls, compared := range map[v1alpha1.Nulls]bool{v1alpha1.NullsSend: true, v1alpha1.NullsOmit: false} {
			got, err := widgetPass(t, compiled(t, parent(nulls)), widgetSelf).Compare(t.Context(), object(t, observed))
			noError(t, err)
			var want []Difference
			if differs && compared {
				want = []Difference{{Path: "parent.id"}}
			}
			if diff := cmp.Diff(want, places(got.Differences)); diff != "" {
				t.Errorf("%s with %s (-want +got):\n%s", observed, nulls, diff)
			}
		}
	}
}

func TestAKeyedListThatIsNullEqualsOnlyNull(t *testing.T) {
	t.Parallel()
	for observed, want := range map[string]bool{`null`: true, `[]`: false, `[{"name":"a"}]`: false} {
		if got := equalByKey("name", nil, object(t, observed)); got != want {
			t.Errorf("%s: got %v", observed, got)
		}
	}
}

func TestNullsAreCheckedWhenCompiled(t *testing.T) {
	t.Parallel()
	wantOneError(t, compileErrors(t, widgetTarget(t), parent("Keep")), "spec.fields[0].nulls", "Omit, Send or Remove")
	flat := func(s *v1alpha1.RestMappingSpec) { s.Fields[0].To = "parent" }
	got := compileErrors(t, widgetTarget(t), parent(v1alpha1.NullsSend), flat, createAs(v1alpha1.EncodingForm, "", ""))
	wantOneError(t, got, "spec.fields[0].nulls", "a form, which cannot hold null")
}
