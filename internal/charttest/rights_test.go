package charttest

import (
	"bytes"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/restmapping/operator/internal/golden"
)

// TestRightsAreListed keeps docs/rbac.md, which lists what the operator may do in each sort of installation, for whoever has to
// allow it.
func TestRightsAreListed(t *testing.T) {
	t.Parallel()
	var page bytes.Buffer
	page.WriteString(`# The operator's rights

Made from the chart by ` + "`make helm-golden`" + `; ` + "`internal/charttest`" + ` fails when it is not up to date. ` + "`example.com`" + ` stands for the kinds of ` + "`managedKinds`" + `. What
each is for stands beside the rules in the chart; there is no wildcard, nothing may be deleted, and the operator gives no rights to itself.
[Security](security.md) says what is done with them.
`)
	for _, installation := range []struct {
		title  string
		values map[string]any
	}{
		{"In the whole cluster (the default)", managed()},
		{"In named namespaces (`watchNamespaces: [team-a]`)", managed("team-a")},
		{"What further values add, in the whole cluster", map[string]any{
			"managedKinds": managed()["managedKinds"], "outputs": map[string]any{"secrets": true, "configMaps": true},
			"rbac": map[string]any{"serviceAccountTokens": true}, "webhooks": map[string]any{"enabled": true},
		}},
	} {
		listed := rightsOf(t, installation.values)
		if strings.HasPrefix(installation.title, "What further") {
			usual := rightsOf(t, managed())
			listed = slices.DeleteFunc(listed, func(row string) bool { return slices.Contains(usual, row) })
		}
		fmt.Fprintf(&page, "\n## %s\n\n| where | resources | verbs |\n|---|---|---|\n%s\n", installation.title, strings.Join(listed, "\n"))
	}
	golden.Check(t, filepath.Join(root(t), "docs", "rbac.md"), page.Bytes())
}

// rightsOf gives a row for each resource in each place.
func rightsOf(t *testing.T, values map[string]any) []string {
	t.Helper()
	verbs := map[string][]string{}
	for _, g := range grantsOf(t, Objects(t, values)) {
		where, resource := "everywhere", "`"+g.Resource+"`"
		if g.Namespace != everywhere {
			where = "`" + g.Namespace + "`"
		}
		if name, below, _ := strings.Cut(g.Resource, "/"); g.Group != "" {
			resource = "`" + strings.TrimSuffix(name+"."+g.Group+"/"+below, "/") + "`"
		}
		if g.Name != "" {
			resource += " named `" + g.Name + "`"
		}
		key := where + " | " + resource
		if !slices.Contains(verbs[key], g.Verb) {
			verbs[key] = append(verbs[key], g.Verb)
		}
	}
	rows := make([]string, 0, len(verbs))
	for _, key := range slices.Sorted(maps.Keys(verbs)) {
		rows = append(rows, "| "+key+" | "+strings.Join(verbs[key], ", ")+" |")
	}
	return rows
}
