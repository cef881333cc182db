package mapping

import (
	"errors"
	"strings"
	"testing"

	"github.com/restmapping/operator/api/v1alpha1"
)

const wholeSelf = `
metadata: {name: w1, namespace: team, uid: 11-22}
spec: {owner: acme, free: {limits: {a: 1, b: 2}, empty: {}, rules: [{name: x, v: 1}, {name: z, v: 2}]}}
`

// TestWholeObjectsLoseWhatIsNotWanted: the update says so in every body that a server understands.
func TestWholeObjectsLoseWhatIsNotWanted(t *testing.T) {
	t.Parallel()
	const observed = `{"id":5,"limits":{"a":1,"b":3,"gone":{"x":1},"nothing":""},"empty":{"old":true},"kept":{"a":0}}`
	fields := func(s *v1alpha1.RestMappingSpec) {
		s.Fields = []v1alpha1.Field{
			{To: "limits", From: "spec.free.limits", Compare: v1alpha1.CompareWhole},
			{To: "empty", From: "spec.free.empty", Compare: v1alpha1.CompareWhole},
		}
	}
	for mode, want := range map[v1alpha1.BodyMode]string{
		v1alpha1.BodyChanged: `{"empty":{"old":null},"limits":{"b":2,"gone":null}}`,
		v1alpha1.BodyDesired: `{"empty":{},"limits":{"a":1,"b":2}}`,
		v1alpha1.BodyOverlay: `{"empty":{},"id":5,"kept":{"a":0},"limits":{"a":1,"b":2}}`,
	} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			p := compiled(t, fields, func(s *v1alpha1.RestMappingSpec) { s.Operations.Update.Body = mode })
			seen := object(t, observed)
			req, err := widgetPass(t, p, wholeSelf).UpdateRequest(t.Context(), seen)
			noError(t, err)
			if string(req.Body) != want {
				t.Errorf("got  %s\nwant %s", req.Body, want)
			}
			if after, err := encodeJSON(seen); err != nil || !strings.Contains(string(after), `"gone"`) {
				t.Errorf("the observed object was changed: %s", after)
			}
		})
	}
}

func TestListsAreComparedByKey(t *testing.T) {
	t.Parallel()
	p := compiled(t, func(s *v1alpha1.RestMappingSpec) {
		s.Fields = []v1alpha1.Field{{To: "rules", From: "spec.free.rules", Compare: v1alpha1.CompareMapByKey, Key: "name"}}
	})
	for observed, want := range map[string]string{
		`{"rules":[{"name":"z","v":2,"id":1},{"name":"x","v":1}]}`: `{}`,
		`{"rules":[{"name":"z","v":2},{"name":"x","v":9}]}`:        `{"rules":[{"name":"x","v":1},{"name":"z","v":2}]}`,
	} {
		req, err := widgetPass(t, p, wholeSelf).UpdateRequest(t.Context(), object(t, observed))
		noError(t, err)
		if string(req.Body) != want {
			t.Errorf("%s: got %s, want %s", observed, req.Body, want)
		}
	}
}

// TestAWishThatHasNoKeysIsAnError: it could never equal anything, and would be sent over and over.
func TestAWishThatHasNoKeysIsAnError(t *testing.T) {
	t.Parallel()
	for value, says := range map[v1alpha1.Expression]string{
		"'x'":                            "is text",
		"['x']":                          "element 0 is text",
		"[{'name': 'a'}, {'id': 'b'}]":   `element 1 has no text or number under the key "name"`,
		"[{'name': 'a'}, {'name': 'a'}]": "element 1 has the same",
	} {
		p := compiled(t, func(s *v1alpha1.RestMappingSpec) {
			s.Fields = []v1alpha1.Field{{To: "rules", Value: value, Compare: v1alpha1.CompareMapByKey, Key: "name"}}
		})
		s := widgetPass(t, p, wholeSelf)
		_, err := s.Compare(t.Context(), object(t, `{}`))
		wantError(t, err, "spec.fields[0]", says)
		_, err = s.CreateRequest(t.Context())
		if one := (*ExpressionError)(nil); !errors.As(err, &one) {
			t.Errorf("create: error is %v", err)
		}
	}
}

func TestKeyGoesWithMapByKey(t *testing.T) {
	t.Parallel()
	target := widgetTarget(t)
	without := v1alpha1.Field{To: "rules", From: "spec.rules", Compare: v1alpha1.CompareMapByKey}
	wantOneError(t, compileErrors(t, target, field(without)), "spec.fields[3].key", "go together")
	alone := v1alpha1.Field{To: "rules", From: "spec.rules", Key: "name"}
	wantOneError(t, compileErrors(t, target, field(alone)), "spec.fields[3].key", "go together")
	both := v1alpha1.Field{To: "rules", From: "spec.rules", Compare: v1alpha1.CompareMapByKey, Key: "name"}
	if got := compileErrors(t, target, field(both)); got != nil {
		t.Errorf("both together: %q", got)
	}
}

// TestStrictTakesWhatIsEmptyAtItsWord: to some servers an empty rule lets everybody in, and null nobody.
func TestStrictTakesWhatIsEmptyAtItsWord(t *testing.T) {
	t.Parallel()
	for want, different := range map[string]string{
		`""`: `null`, `[]`: `null`, `{}`: `null`, `null`: `""`, `{"a":""}`: `{}`, `{}#`: `{"a":""}`, `{"a":[]}`: `{"a":null}`,
	} {
		desired, observed := value(t, strings.TrimSuffix(want, "#")), value(t, different)
		if equalValues(v1alpha1.CompareStrict, desired, observed) {
			t.Errorf("%s equals %s", want, different)
		}
		if !equalValues(v1alpha1.CompareStrict, desired, desired) {
			t.Errorf("%s differs from itself", want)
		}
	}
	if !equalValues(v1alpha1.CompareStrict, value(t, `{"a":null,"b":1}`), value(t, `{"b":1.0}`)) {
		t.Error("null inside an object differs from absent, or a number from itself")
	}
}

func value(t *testing.T, text string) any {
	t.Helper()
	return object(t, `{"it":`+text+`}`).(map[string]any)["it"]
}
