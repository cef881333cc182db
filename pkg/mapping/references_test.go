package mapping

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/celrules"
	"github.com/restmapping/operator/pkg/rest"
)

const folderSchema = `
type: object
properties:
  spec: {type: object, properties: {path: {type: string}, quota: {type: number}}}
  status:
    type: object
    properties:
      identifiers: {type: object, additionalProperties: {type: string}}
      conditions: {type: array, items: {type: object, properties: {type: {type: string}}}}
`

// folders is what is known of the kind that widgets refer to.
func folders(t testing.TB) ReferenceSchema {
	t.Helper()
	return ReferenceSchema{Name: "folder", Namespaced: true, Schema: schemaOf(t, folderSchema)}
}

// inFolder lets widgets refer to a folder.
func inFolder(s *v1alpha1.RestMappingSpec) {
	s.References = []v1alpha1.Reference{{
		Name: "folder", Target: v1alpha1.ReferenceTarget{Group: "example.com", Version: "v1", Kind: "Folder"}, NameExpression: "self.spec.?owner",
	}}
}

func TestReferencesAreTypedByTheirSchema(t *testing.T) {
	t.Parallel()
	field := func(value v1alpha1.Expression) func(*v1alpha1.RestMappingSpec) {
		return func(s *v1alpha1.RestMappingSpec) { s.Fields = []v1alpha1.Field{{Value: value, To: "x"}} }
	}
	cases := map[string]struct {
		change func(*v1alpha1.RestMappingSpec)
		known  func(*ReferenceSchema)
		want   string // empty when it compiles
	}{
		"a known field":                {field("refs.folder.spec.path"), nil, ""},
		"a field of its metadata":      {field("refs.folder.metadata.uid"), nil, ""},
		"its status, unlike one's own": {field("refs.folder.status.identifiers.id"), nil, ""},
		"a number of the schema":       {field("refs.folder.spec.quota * 1.5"), nil, ""},
		"an unknown field":             {field("refs.folder.spec.pth"), nil, "spec.fields[0].value (line 1, column 17): unknown field 'pth' of refs.folder.spec; "},
		"an unknown reference":         {field("refs.floder.spec.path"), nil, "spec.fields[0].value (line 1, column 5): unknown field 'floder' of refs"},
		"a wrong type":                 {field("refs.folder.spec.path + 1"), nil, "spec.fields[0].value (line 1, column 23)"},
		"in a rule": {func(s *v1alpha1.RestMappingSpec) {
			s.Rules = []v1alpha1.Rule{{Expression: "refs.folder.spec.path != ''", Message: "m"}}
		}, nil, ""},
		"in an identifier": {func(s *v1alpha1.RestMappingSpec) { s.Identifiers[0].Value = "refs.folder.status.identifiers.id" }, nil, ""},
		"not for a Secret's name": {func(s *v1alpha1.RestMappingSpec) {
			s.Secrets[0].RefExpression = "{'name': refs.folder.spec.path, 'key': 'k'}"
		}, nil, "spec.secrets[0].refExpression (line 1, column 10): the variable 'refs' has no value here"},
		"not for the endpoint": {func(s *v1alpha1.RestMappingSpec) {
			s.Endpoint.Name, s.Endpoint.NameExpression = "", "refs.folder.spec.path"
		}, nil, "spec.endpoint.nameExpression (line 1, column 1): the variable 'refs' has no value here"},
		"not for another reference":                  {func(s *v1alpha1.RestMappingSpec) { s.References[0].NameExpression = "refs.folder.spec.path" }, nil, "spec.references[0].nameExpression (line 1, column 1): the variable 'refs' has no value here"},
		"a name that is no text":                     {func(s *v1alpha1.RestMappingSpec) { s.References[0].NameExpression = "self.spec.size" }, nil, "spec.references[0].nameExpression (line 1, column 10): must give a string, but gives"},
		"a name from one's own status":               {func(s *v1alpha1.RestMappingSpec) { s.References[0].NameExpression = "self.status.url" }, nil, "spec.references[0].nameExpression: self.status is written by the operator"},
		"declared twice":                             {func(s *v1alpha1.RestMappingSpec) { s.References = append(s.References, s.References[0]) }, nil, `spec.references[1].name: the reference "folder" is declared twice`},
		"a name that is none":                        {func(s *v1alpha1.RestMappingSpec) { s.References[0].Name = "a-b" }, nil, "spec.references[0].name: a name holds letters"},
		"the operator's own kinds":                   {func(s *v1alpha1.RestMappingSpec) { s.References[0].Target.Group = v1alpha1.Group }, nil, "spec.references[0].target: the operator's own kinds"},
		"an unknown kind":                            {nil, func(r *ReferenceSchema) { r.Problem = "no CustomResourceDefinition has kind Folder" }, "spec.references[0].target: no CustomResourceDefinition has kind Folder"},
		"a kind that nothing is known of":            {field("refs.folder.anything.goes"), func(r *ReferenceSchema) { r.Schema = nil }, ""},
		"a cluster-scoped kind for a namespaced one": {field("refs.folder.spec.path"), func(r *ReferenceSchema) { r.Namespaced = false }, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, known := widgets(t, inFolder), folders(t)
			if tc.change != nil {
				tc.change(&m.Spec)
			}
			if tc.known != nil {
				tc.known(&known)
			}
			_, err := Compile(m, widgetTarget(t), known)
			if tc.want == "" {
				noError(t, err)
				return
			}
			wantError(t, err, tc.want)
		})
	}
}

func TestAClusterScopedKindRefersToClusterScopedKinds(t *testing.T) {
	t.Parallel()
	m := widgets(t, inFolder, func(s *v1alpha1.RestMappingSpec) { s.Endpoint.Kind, s.Secrets = v1alpha1.KindClusterRestEndpoint, nil })
	target, known := widgetTarget(t), folders(t)
	target.Namespaced = false
	_, err := Compile(m, target, known)
	wantError(t, err, "spec.references[0].target: Widget is cluster-scoped and has no namespace in which a Folder could be")
	known.Namespaced = false
	_, err = Compile(m, target, known)
	noError(t, err)
}

func TestReferencesOfACustomResource(t *testing.T) {
	t.Parallel()
	kind := ReferenceKind{Input: "folder", Group: "example.com", Version: "v1", Kind: "Folder", Namespaced: true, HasConditions: true, Blocks: true}
	cases := map[string]struct {
		spec     string
		optional bool
		cluster  bool
		want     []Reference
		problem  string
	}{
		"in its own namespace":          {"{owner: main}", false, false, []Reference{{ReferenceKind: kind, Namespace: "team", Name: "main"}}, ""},
		"in none":                       {"{owner: main}", false, true, []Reference{{ReferenceKind: kind, Name: "main"}}, ""},
		"none is named":                 {"{}", false, false, nil, `spec.references[0].nameExpression: reference "folder": the custom resource names no Folder`},
		"an empty name is none":         {`{owner: ""}`, false, false, nil, "names no Folder"},
		"none is named, and may be":     {"{}", true, false, nil, ""},
		"another namespace":             {"{owner: other/main}", false, false, nil, "gives no valid name of a Folder"},
		"a way out of the collection":   {`{owner: "../x"}`, true, false, nil, "gives no valid name of a Folder"},
		"what is named is named always": {"{owner: Main}", true, false, nil, "gives no valid name of a Folder"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, known := widgets(t, inFolder), folders(t)
			m.Spec.References[0].Optional = tc.optional
			known.Namespaced = !tc.cluster
			p, err := Compile(m, widgetTarget(t), known)
			noError(t, err)
			got, err := p.References(t.Context(), self(t, "{metadata: {name: w1, namespace: team}, spec: "+tc.spec+"}"))
			if tc.problem != "" {
				wantError(t, err, tc.problem)
			} else {
				noError(t, err)
			}
			for i := range tc.want {
				tc.want[i].Optional, tc.want[i].Namespaced = tc.optional, !tc.cluster
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("references (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReferencesInRequests(t *testing.T) {
	t.Parallel()
	m := widgets(t, inFolder, func(s *v1alpha1.RestMappingSpec) {
		s.Identifiers[0].Value = "refs.folder.status.identifiers.id"
		s.Fields = []v1alpha1.Field{{Value: "refs.folder.spec.quota * 1.5", To: "quota"}, {Value: "refs.?folder.?spec.?path", To: "path"}}
		s.Operations.Create.Query = []v1alpha1.Parameter{{Name: "in", Value: "refs.folder.metadata.name"}}
	})
	p, err := Compile(m, widgetTarget(t), folders(t))
	noError(t, err)
	in := Inputs{Self: self(t, widgetSelf), References: map[string]map[string]any{
		// The API server gives 4 where the schema says number.
		"folder": self(t, "{metadata: {name: main}, spec: {path: /a, quota: 4}, status: {identifiers: {id: f-7}}}"),
	}}
	s := p.NewPass(in)
	ids, err := s.Identifiers(t.Context())
	noError(t, err)
	s.SetIdentifiers(ids)
	wantWire(t, "POST /owners/f-7/widgets?in=main\napplication/json\n"+`{"path":"/a","quota":6}`, func() (rest.Request, error) { return s.CreateRequest(t.Context()) })

	in.References = nil
	_, err = p.NewPass(in).Identifiers(t.Context())
	if x := (*ExpressionError)(nil); !errors.As(err, &x) || !x.Missing {
		t.Errorf("a reference that is not there: %v", err)
	}
}

func TestADeleteThatNeedsAReferenceIsWarnedOf(t *testing.T) {
	t.Parallel()
	m := widgets(t, inFolder, func(s *v1alpha1.RestMappingSpec) {
		s.Operations.Delete.Query = []v1alpha1.Parameter{{Name: "in", Value: "refs.folder.metadata.name"}}
	})
	p, err := Compile(m, widgetTarget(t), folders(t))
	noError(t, err)
	if got := p.Warnings(); len(got) != 1 || got[0][:len("spec.operations.delete.query[0].value: ")] != "spec.operations.delete.query[0].value: " {
		t.Errorf("warnings: %v", got)
	}
	if !p.operations[rest.Delete].query[0].value.uses(celrules.Refs) {
		t.Error("the expression does not use refs")
	}
}

func TestReferenceKinds(t *testing.T) {
	t.Parallel()
	no := false
	m := widgets(t, inFolder, func(s *v1alpha1.RestMappingSpec) {
		s.References[0].BlockDeletion, s.References[0].OwnerReference, s.References[0].Optional = &no, true, true
	})
	plain := folders(t)
	delete(plain.Schema.Properties["status"].Properties, "conditions")
	p, err := Compile(m, widgetTarget(t), plain)
	noError(t, err)
	want := []ReferenceKind{{Input: "folder", Group: "example.com", Version: "v1", Kind: "Folder", Namespaced: true, Optional: true, Owner: true}}
	if diff := cmp.Diff(want, p.ReferenceKinds()); diff != "" {
		t.Errorf("kinds (-want +got):\n%s", diff)
	}
}

// TestWhatComesFromAnotherResourceIsNotShown: messages of a child are read by others than those who may read its parent.
func TestWhatComesFromAnotherResourceIsNotShown(t *testing.T) {
	t.Parallel()
	p, err := Compile(widgets(t, inFolder, func(s *v1alpha1.RestMappingSpec) {
		s.Fields = []v1alpha1.Field{{To: "path", Value: "refs.folder.spec.path"}}
	}), widgetTarget(t), folders(t))
	noError(t, err)
	folder, _ := object(t, `{"spec":{"path":"hunter2"}}`).(map[string]any)
	s := p.NewPass(Inputs{Self: self(t, widgetSelf), References: map[string]map[string]any{"folder": folder}})
	got, err := s.Compare(t.Context(), object(t, `{"path":"s3cr3t"}`))
	noError(t, err)
	if len(got.Differences) != 1 || got.Differences[0].String() != "path" {
		t.Errorf("got %v, want the path alone", got.Differences)
	}
}
