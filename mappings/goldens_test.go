package mappings

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/restmapping/operator/internal/golden"
	"github.com/restmapping/operator/internal/goldenmapping"
	"github.com/restmapping/operator/pkg/rest"
)

// requiredCases are those that every kind has.
func requiredCases() []string { return []string{"create", "delete", "drift", "reject", "update"} }

// kindFolders are the folders with a mapping, as <api>/<kind>.
func kindFolders(t *testing.T) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("*", "*", goldenmapping.MappingFile))
	if err != nil || len(found) == 0 {
		t.Fatalf("no mappings found: %v", err)
	}
	for i := range found {
		found[i] = filepath.Dir(found[i])
	}
	return found
}

// document is the API's own description, nil where there is none.
func document(t *testing.T, api string) *goldenmapping.Document {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(api, "openapi", "*-swagger2.json"))
	if err != nil || len(found) > 1 {
		t.Fatalf("want at most one document of %s, got %v, %v", api, found, err)
	}
	if len(found) == 0 {
		return nil
	}
	doc, err := goldenmapping.LoadSwagger2(found[0])
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestGoldens(t *testing.T) {
	t.Parallel()
	documents := map[string]*goldenmapping.Document{}
	for _, dir := range kindFolders(t) {
		api := filepath.Dir(dir)
		if _, loaded := documents[api]; !loaded {
			documents[api] = document(t, api)
		}
		t.Run(filepath.ToSlash(dir), func(t *testing.T) {
			t.Parallel()
			kind, err := goldenmapping.LoadKind(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range cases(t, dir) {
				t.Run(name, func(t *testing.T) {
					play(t, kind, filepath.Join(dir, goldenmapping.CasesFolder, name), documents[api])
				})
			}
		})
	}
}

func cases(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, goldenmapping.CasesFolder, "*", goldenmapping.ObjectFile))
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, len(found))
	for _, file := range found {
		names = append(names, filepath.Base(filepath.Dir(file)))
	}
	for _, required := range requiredCases() {
		if !slices.Contains(names, required) {
			t.Errorf("%s has no case %q", dir, required)
		}
	}
	return names
}

func play(t *testing.T, kind *goldenmapping.Kind, dir string, doc *goldenmapping.Document) {
	t.Helper()
	c, err := goldenmapping.LoadCase(dir)
	if err != nil {
		t.Fatal(err)
	}
	var check func(rest.Request, goldenmapping.Exchange) error
	if doc != nil {
		check = func(req rest.Request, x goldenmapping.Exchange) error { return doc.Check(t.Context(), req, x) }
	}
	result, err := goldenmapping.Play(t.Context(), kind, c, check)
	if err != nil {
		t.Fatal(err)
	}
	transcript, err := result.Log()
	if err != nil {
		t.Fatal(err)
	}
	status, err := result.YAML()
	if err != nil {
		t.Fatal(err)
	}
	golden.Check(t, filepath.Join(dir, goldenmapping.LogFile), transcript)
	golden.Check(t, filepath.Join(dir, goldenmapping.StatusFile), status)
	checkWritesCarrySecrets(t, c, result)
}

// checkWritesCarrySecrets: a secret that the resource refers to goes out with every create and update, or a server
// that replaces the whole object would lose it.
func checkWritesCarrySecrets(t *testing.T, c *goldenmapping.Case, result *goldenmapping.Result) {
	t.Helper()
	writes := slices.ContainsFunc(c.Script.Exchanges, func(x goldenmapping.Exchange) bool {
		return x.Operation == rest.Create || x.Operation == rest.Update
	})
	for _, name := range result.SecretNames() {
		if writes && !result.Sends(name) {
			t.Errorf("the secret %q was not sent", name)
		}
	}
}
