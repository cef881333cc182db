package goldenmapping_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/restmapping/operator/internal/goldenmapping"
)

func TestLoadCase(t *testing.T) {
	t.Parallel()
	const thing = "kind: Thing\nspec: {size: 9007199254740993}\n"
	cases := map[string]struct{ object, server, want string }{
		"a whole case":                   {thing, "# It works.\nexchanges: []\n", ""},
		"no comment on top":              {thing, "exchanges: []\n", "not a comment"},
		"an unknown name in the script":  {thing, "# x\nexchange: []\n", "exchange"},
		"an unknown name in an exchange": {thing, "# x\nexchanges: [{operation: Read, code: 200}]\n", "code"},
		"a key that stands twice":        {"kind: A\nkind: B\n", "# x\nexchanges: []\n", "kind"},
		"no script":                      {thing, "", "server.yaml"},
		"no object":                      {"", "# x\nexchanges: []\n", "object.yaml"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range map[string]string{goldenmapping.ObjectFile: tc.object, goldenmapping.ServerFile: tc.server} {
				if text == "" {
					continue
				}
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, err := goldenmapping.LoadCase(dir)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
		})
	}
}

func TestLoadCaseKeepsWholeNumbersWhole(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files := map[string]string{
		goldenmapping.ObjectFile: "spec: {size: 9007199254740993}\n",
		goldenmapping.ServerFile: "# A large number.\nexchanges: [{operation: Read, status: 200, body: {id: 9007199254740993, part: 0.5}}]\n",
	}
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := goldenmapping.LoadCase(dir)
	if err != nil {
		t.Fatal(err)
	}
	const large = int64(9007199254740993)
	if diff := cmp.Diff(map[string]any{"size": large}, c.Object["spec"]); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"id": large, "part": 0.5}, c.Script.Exchanges[0].Body); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

func TestAdmitFillsInDefaults(t *testing.T) {
	t.Parallel()
	o := team()
	if err := load(t, "gitea/team").Admit(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"organization": "team-a", "units": map[string]any{"repo.code": "read"},
		"admin": false, "includesAllRepositories": false, "canCreateRepositories": false,
	}
	if diff := cmp.Diff(want, o["spec"]); diff != "" {
		t.Errorf("spec (-want +got):\n%s", diff)
	}
}

func TestNewKindRefusesACRDThatDoesNotFit(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		spoil func(*apiextensionsv1.CustomResourceDefinition)
		want  string
	}{
		"another kind":          {func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Names.Kind = "Crew" }, "Crew"},
		"another group":         {func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Group = "x.example.com" }, "x.example.com"},
		"no such version":       {func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Versions[0].Name = "v2" }, "v1alpha1"},
		"version not served":    {func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Versions[0].Served = false }, "v1alpha1"},
		"no status subresource": {func(c *apiextensionsv1.CustomResourceDefinition) { c.Spec.Versions[0].Subresources = nil }, "subresource"},
		"no conditions": {func(c *apiextensionsv1.CustomResourceDefinition) {
			delete(c.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties, "conditions")
		}, "conditions"},
		"no field for a projection": {func(c *apiextensionsv1.CustomResourceDefinition) {
			delete(c.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["status"].Properties, "permission")
		}, "permission"},
		"no field for an expression": {func(c *apiextensionsv1.CustomResourceDefinition) {
			delete(c.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties, "organization")
		}, "organization"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			whole := load(t, "gitea/team")
			tc.spoil(whole.CRD)
			_, err := goldenmapping.NewKind(whole.CRD, whole.Mapping, load(t, "gitea/organization").CRD)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
		})
	}
}

func TestLoadKindReportsTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := goldenmapping.LoadKind(dir); err == nil || !strings.Contains(err.Error(), goldenmapping.CRDFile) {
		t.Errorf("want an error about %s, got %v", goldenmapping.CRDFile, err)
	}
	text, err := os.ReadFile(filepath.Join(mappings, "gitea/team", goldenmapping.CRDFile))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{goldenmapping.CRDFile: string(text), goldenmapping.MappingFile: "spec: {wishes: []}\n"}
	for file, content := range files {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := goldenmapping.LoadKind(dir); err == nil || !strings.Contains(err.Error(), "wishes") {
		t.Errorf("want an error about the unknown name, got %v", err)
	}
}
