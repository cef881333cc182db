package mapping

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/api/v1alpha1"
)

// updated is a mapping whose update has this body and these fields.
func updated(mode v1alpha1.BodyMode, fields ...v1alpha1.Field) specChange {
	return func(s *v1alpha1.RestMappingSpec) {
		s.Operations.Update.Body = mode
		s.Fields = fields
	}
}

func carrying(paths ...string) specChange {
	return func(s *v1alpha1.RestMappingSpec) { s.Operations.Update.Carry = paths }
}

func stripping(paths ...string) specChange {
	return func(s *v1alpha1.RestMappingSpec) { s.Operations.Update.Strip = paths }
}

func TestWhatAnUpdateHoldsBesideTheFields(t *testing.T) {
	t.Parallel()
	description := v1alpha1.Field{To: "description", From: "spec.description"}
	login := v1alpha1.Field{To: "login_name", Value: "self.metadata.name", Always: true}
	fixed := v1alpha1.Field{To: "region", Value: "'eu'", Immutable: true}
	config := v1alpha1.Field{To: "config", From: "spec.free", Compare: v1alpha1.CompareWhole}
	cases := map[string]struct {
		change         specChange
		also           specChange
		observed, want string
	}{
		"a version is carried into all fields": {
			updated(v1alpha1.BodyDesired, description), carrying("version", "meta.etag"),
			`{"version":7,"meta":{"etag":"x","more":1},"description":"old"}`, `{"description":"first","meta":{"etag":"x"},"version":7}`,
		},
		"a version is carried into what differs": {
			updated(v1alpha1.BodyChanged, description), carrying("version"),
			`{"version":7,"description":"old"}`, `{"description":"first","version":7}`,
		},
		"a null is carried, what is not there is not": {
			updated(v1alpha1.BodyDesired, description), carrying("version", "meta.etag"),
			`{"version":null,"meta":{}}`, `{"description":"first","version":null}`,
		},
		"what the server does not take back is stripped": {
			updated(v1alpha1.BodyOverlay, description), stripping("updated_at", "stats.hits", "not.there"),
			`{"updated_at":"now","stats":{"hits":1,"kept":2}}`, `{"description":"first","stats":{"kept":2}}`,
		},
		"also out of an object of the custom resource": {
			updated(v1alpha1.BodyOverlay, config), stripping("config.hits"),
			`{"config":{"hits":1}}`, `{"config":{"a":1}}`,
		},
		"a field that is always sent is sent when it is equal": {
			updated(v1alpha1.BodyChanged, description, login), nil,
			`{"login_name":"w1","description":"old"}`, `{"description":"first","login_name":"w1"}`,
		},
		"also one that is never compared": {
			updated(v1alpha1.BodyChanged, description, v1alpha1.Field{To: "source_id", Value: "0", Always: true, Compare: v1alpha1.CompareIgnore}), nil,
			`{"description":"old"}`, `{"description":"first","source_id":0}`,
		},
		"an immutable field is never sent as a change": {
			updated(v1alpha1.BodyChanged, description, fixed), nil, `{"region":"us","description":"old"}`, `{"description":"first"}`,
		},
		"nor as a patch": {
			updated(v1alpha1.BodyJSONPatch, fixed), nil, `{"region":"us"}`, `[]`,
		},
		"it is sent where everything is": {
			updated(v1alpha1.BodyDesired, description, fixed), nil, `{"description":"old"}`, `{"description":"first","region":"eu"}`,
		},
		"and laid over": {
			updated(v1alpha1.BodyOverlay, description, fixed), nil, `{"id":1}`, `{"description":"first","id":1,"region":"eu"}`,
		},
		"and where the server demands it": {
			updated(v1alpha1.BodyChanged, v1alpha1.Field{To: "region", Value: "'eu'", Immutable: true, Always: true}), nil, `{"region":"eu"}`, `{"region":"eu"}`,
		},
	}
	const selfText = `{metadata: {name: w1, namespace: team, uid: 11-22}, spec: {owner: acme, description: first, free: {a: 1, hits: 5}}}`
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changes := []func(*v1alpha1.RestMappingSpec){tc.change}
			if tc.also != nil {
				changes = append(changes, tc.also)
			}
			s := widgetPass(t, compiled(t, changes...), selfText)
			observed := object(t, tc.observed)
			req, err := s.UpdateRequest(t.Context(), observed)
			noError(t, err)
			if string(req.Body) != tc.want {
				t.Errorf("got  %s\nwant %s", req.Body, tc.want)
			}
			if diff := cmp.Diff(object(t, tc.observed), observed); diff != "" {
				t.Errorf("the observed object was changed (-was +is):\n%s", diff)
			}
			if diff := cmp.Diff(self(t, selfText), s.self); diff != "" {
				t.Errorf("the custom resource was changed (-was +is):\n%s", diff)
			}
		})
	}
}

func TestAChangeOfAnImmutableFieldCannotBePutRight(t *testing.T) {
	t.Parallel()
	p := compiled(t, updated(v1alpha1.BodyChanged, v1alpha1.Field{To: "region", Value: "'eu'", Immutable: true}))
	for observed, immutable := range map[string]bool{`{"region":"eu"}`: false, `{"region":"us"}`: true, `{}`: false} {
		got, err := widgetPass(t, p, widgetSelf).Compare(t.Context(), object(t, observed))
		noError(t, err)
		if len(got.Differences) > 0 || (len(got.Immutable) > 0) != immutable {
			t.Errorf("%s: got %+v", observed, got)
		}
	}
}

// TestWhatIsRemovedFromTheSpecIsRemovedOutside: in each body as that body can say it, and once.
func TestWhatIsRemovedFromTheSpecIsRemovedOutside(t *testing.T) {
	t.Parallel()
	gone := v1alpha1.Field{To: "parent.id", From: "spec.endpointRef", Nulls: v1alpha1.NullsRemove}
	keyed := v1alpha1.Field{To: "rules", From: "spec.rules", Compare: v1alpha1.CompareMapByKey, Key: "name", Nulls: v1alpha1.NullsRemove}
	const there, notThere = `{"id":5,"parent":{"id":7,"kept":true},"rules":[{"name":"a"}]}`, `{"id":5,"parent":{"id":"","kept":true},"rules":[]}`
	for mode, want := range map[v1alpha1.BodyMode][2]string{
		v1alpha1.BodyDesired: {`{"description":"first"}`, `{"description":"first"}`},
		v1alpha1.BodyChanged: {`{"description":"first","parent":{"id":null},"rules":null}`, `{"description":"first"}`},
		v1alpha1.BodyOverlay: {`{"description":"first","id":5,"parent":{"kept":true}}`, `{"description":"first","id":5,"parent":{"kept":true}}`},
		v1alpha1.BodyJSONPatch: {
			`[{"op":"test","path":"/parent/id","value":7},{"op":"remove","path":"/parent/id"},` +
				`{"op":"test","path":"/rules","value":[{"name":"a"}]},{"op":"remove","path":"/rules"},{"op":"add","path":"/description","value":"first"}]`,
			`[{"op":"add","path":"/description","value":"first"}]`,
		},
	} {
		p := compiled(t, updated(mode, gone, keyed, v1alpha1.Field{To: "description", From: "spec.description"}))
		for i, observed := range []string{there, notThere} {
			s := widgetPass(t, p, widgetSelf)
			req, err := s.UpdateRequest(t.Context(), object(t, observed))
			noError(t, err)
			if string(req.Body) != want[i] {
				t.Errorf("%s of %s\ngot  %s\nwant %s", mode, observed, req.Body, want[i])
			}
			got, err := s.Compare(t.Context(), object(t, observed))
			noError(t, err)
			differences := []Difference{{Path: "parent.id"}, {Path: "rules"}, {Path: "description"}}[2*i:]
			if diff := cmp.Diff(differences, places(got.Differences)); diff != "" {
				t.Errorf("%s of %s (-want +got):\n%s", mode, observed, diff)
			}
		}
		create, err := widgetPass(t, p, widgetSelf).CreateRequest(t.Context())
		noError(t, err)
		if string(create.Body) != `{"description":"first"}` {
			t.Errorf("create sends %s", create.Body)
		}
	}
}

func TestAWriteOnlyValueIsRemovedBlindly(t *testing.T) {
	t.Parallel()
	secret := v1alpha1.Field{To: "token", Value: "self.spec.?endpointRef", WriteOnly: true, Nulls: v1alpha1.NullsRemove}
	for mode, want := range map[v1alpha1.BodyMode]string{v1alpha1.BodyChanged: `{"token":null}`, v1alpha1.BodyDesired: `{}`, v1alpha1.BodyOverlay: `{"id":1}`} {
		req, err := widgetPass(t, compiled(t, updated(mode, secret)), widgetSelf).UpdateRequest(t.Context(), object(t, `{"id":1,"token":"***"}`))
		noError(t, err)
		if string(req.Body) != want {
			t.Errorf("%s: got %s, want %s", mode, req.Body, want)
		}
	}
}

func TestUpdatesThatContradictThemselvesAreRefused(t *testing.T) {
	t.Parallel()
	plain := v1alpha1.Field{To: "description", From: "spec.description"}
	with := func(change func(*v1alpha1.Field)) v1alpha1.Field {
		f := plain
		change(&f)
		return f
	}
	createOnly := []v1alpha1.FieldEvent{v1alpha1.OnCreate}
	updateOnly := []v1alpha1.FieldEvent{v1alpha1.OnUpdate}
	whole := func(s *v1alpha1.RestMappingSpec) { s.Operations.Update.BodyExpression = "desired" }
	form := func(s *v1alpha1.RestMappingSpec) { s.Operations.Update.Encoding = v1alpha1.EncodingForm }
	for name, tc := range map[string]struct {
		changes   []func(*v1alpha1.RestMappingSpec)
		at, words string
	}{
		"carry into an overlay":      {[]func(*v1alpha1.RestMappingSpec){updated(v1alpha1.BodyOverlay, plain), carrying("v")}, "spec.operations.update.carry", "an Overlay holds everything"},
		"carry into an expression":   {[]func(*v1alpha1.RestMappingSpec){updated("", plain), whole, carrying("v")}, "spec.operations.update.carry", "merge(desired"},
		"carry into a form's object": {[]func(*v1alpha1.RestMappingSpec){updated(v1alpha1.BodyDesired, plain), form, carrying("a.b")}, "spec.operations.update.carry[0]", "no objects inside"},
		"carry over a field":         {[]func(*v1alpha1.RestMappingSpec){updated(v1alpha1.BodyDesired, plain), carrying("description")}, "spec.fields[0].to", "spec.operations.update.carry[0] already"},
		"a carry that is no path":    {[]func(*v1alpha1.RestMappingSpec){updated(v1alpha1.BodyDesired, plain), carrying("a..b")}, "spec.operations.update.carry[0]", "a segment is empty"},
		"strip all fields":           {[]func(*v1alpha1.RestMappingSpec){updated(v1alpha1.BodyDesired, plain), stripping("v")}, "spec.operations.update.strip", "for the body Overlay"},
		"strip an expression":        {[]func(*v1alpha1.RestMappingSpec){updated("", plain), whole, stripping("v")}, "spec.operations.update.strip", "omit(merge"},
		"strip a field":              {[]func(*v1alpha1.RestMappingSpec){updated(v1alpha1.BodyOverlay, plain), stripping("description")}, "spec.fields[0].to", "remove one of the two"},
		"always in a patch":          {[]func(*v1alpha1.RestMappingSpec){updated(v1alpha1.BodyJSONPatch, with(func(f *v1alpha1.Field) { f.Always = true }))}, "spec.fields[0].always", "what differs"},
		"always on create":           {[]func(*v1alpha1.RestMappingSpec){updated("", with(func(f *v1alpha1.Field) { f.Always, f.Operations = true, createOnly }))}, "spec.fields[0].always", "add Update"},
		"immutable on update":        {[]func(*v1alpha1.RestMappingSpec){updated("", with(func(f *v1alpha1.Field) { f.Immutable, f.Operations = true, updateOnly }))}, "spec.fields[0].immutable", "add Create"},
		"immutable and unseen":       {[]func(*v1alpha1.RestMappingSpec){updated("", with(func(f *v1alpha1.Field) { f.Immutable, f.WriteOnly = true, true }))}, "spec.fields[0].immutable", "nobody can see"},
		"immutable and ignored":      {[]func(*v1alpha1.RestMappingSpec){updated("", with(func(f *v1alpha1.Field) { f.Immutable, f.Compare = true, v1alpha1.CompareIgnore }))}, "spec.fields[0].immutable", "never compared"},
		"remove what is unseen": {[]func(*v1alpha1.RestMappingSpec){updated(v1alpha1.BodyJSONPatch, with(func(f *v1alpha1.Field) {
			f.WriteOnly, f.Nulls = true, v1alpha1.NullsRemove
		}))}, "spec.fields[0].nulls", "only remove what is there"},
		"remove by a form": {[]func(*v1alpha1.RestMappingSpec){updated(v1alpha1.BodyChanged, with(func(f *v1alpha1.Field) { f.Nulls = v1alpha1.NullsRemove })), form}, "spec.fields[0].nulls", "cannot hold null"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantOneError(t, compileErrors(t, widgetTarget(t), tc.changes...), tc.at, tc.words)
		})
	}
}
