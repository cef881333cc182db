package charttest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/restmapping/operator/internal/golden"
)

// The table of values in the chart's README stands between these lines.
const (
	tableBegin = "<!-- values: made by the tests of internal/charttest with -update -->\n"
	tableEnd   = "<!-- end of values -->\n"
)

// value is one documented entry of values.yaml.
type value struct{ Key, Default, Description string }

// TestReadmeHasEveryValue compares the table in the README with values.yaml, or rewrites it with -update.
func TestReadmeHasEveryValue(t *testing.T) {
	t.Parallel()
	file := filepath.Join(Dir(t), "README.md")
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(content), tableBegin)
	_, after, ends := strings.Cut(rest, tableEnd)
	if !begins || !ends {
		t.Fatalf("%s must hold the lines %q and %q", file, tableBegin, tableEnd)
	}
	golden.Check(t, file, []byte(before+tableBegin+table(documented(t))+tableEnd+after))
}

// TestEveryValueIsDescribed: each entry has a comment that begins with two dashes, on itself or, for a group that is set
// as a whole, on the group.
func TestEveryValueIsDescribed(t *testing.T) {
	t.Parallel()
	values := documented(t)
	if len(values) < 40 {
		t.Errorf("got only %d values", len(values))
	}
	for _, v := range values {
		if v.Description == "" {
			t.Errorf("value %s has no description", v.Key)
		}
	}
}

// TestSchemaKnowsExactlyTheValues: what the schema allows is in values.yaml, and the other way round, and every object in the
// schema that is not a free map is closed.
func TestSchemaKnowsExactlyTheValues(t *testing.T) {
	t.Parallel()
	content, err := os.ReadFile(filepath.Join(Dir(t), "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema schemaNode
	if err := json.Unmarshal(content, &schema); err != nil {
		t.Fatal(err)
	}
	var got []string
	schema.keys("", func(key string, closed bool) {
		if !closed {
			t.Errorf("%s allows unknown values", key)
		}
		got = append(got, key)
	})
	var want []string
	for _, v := range documented(t) {
		want = append(want, v.Key)
	}
	got = slices.DeleteFunc(got, func(key string) bool { return key == "global" }) // Helm's own
	for i, key := range got {
		if whole, _, _ := strings.Cut(key, "."); slices.Contains(want, whole) {
			got[i] = whole // a group that values.yaml describes as a whole
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, slices.Compact(got)); diff != "" {
		t.Errorf("values (-values.yaml +schema):\n%s", diff)
	}
}

type schemaNode struct {
	Type                 any                    `json:"type"`
	Properties           map[string]*schemaNode `json:"properties"`
	AdditionalProperties any                    `json:"additionalProperties"`
}

// keys calls found for each leaf: a property without properties of its own.
func (n *schemaNode) keys(prefix string, found func(key string, closed bool)) {
	for _, name := range slices.Sorted(maps.Keys(n.Properties)) {
		key := strings.TrimPrefix(prefix+"."+name, ".")
		child := n.Properties[name]
		closed := n.AdditionalProperties == false
		if len(child.Properties) == 0 {
			found(key, closed)
			continue
		}
		child.keys(key, found)
	}
}

// documented reads values.yaml with its comments.
func documented(t *testing.T) []value {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(Dir(t), "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(content, &document); err != nil {
		t.Fatal(err)
	}
	values, err := walk("", document.Content[0])
	if err != nil {
		t.Fatal(err)
	}
	return values
}

// walk goes into every mapping that is not described as a whole.
func walk(prefix string, mapping *yaml.Node) ([]value, error) {
	var values []value
	for i := 0; i < len(mapping.Content); i += 2 {
		key, content := mapping.Content[i], mapping.Content[i+1]
		name := strings.TrimPrefix(prefix+"."+key.Value, ".")
		description := describe(key.HeadComment)
		if content.Kind == yaml.MappingNode && len(content.Content) > 0 && description == "" {
			inner, err := walk(name, content)
			if err != nil {
				return nil, err
			}
			values = append(values, inner...)
			continue
		}
		var plain any
		if err := content.Decode(&plain); err != nil {
			return nil, fmt.Errorf("value %s: %w", name, err)
		}
		written, err := json.Marshal(plain)
		if err != nil {
			return nil, fmt.Errorf("value %s: %w", name, err)
		}
		values = append(values, value{name, string(written), description})
	}
	return values, nil
}

// describe is the text of a comment that begins with two dashes.
func describe(comment string) string {
	_, text, found := strings.Cut(comment, "# -- ")
	if !found {
		return ""
	}
	return strings.ReplaceAll(text, "\n# ", " ")
}

func table(values []value) string {
	var b strings.Builder
	b.WriteString("| value | default | what it is for |\n|---|---|---|\n")
	for _, v := range values {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", v.Key, v.Default, strings.ReplaceAll(v.Description, "|", "\\|"))
	}
	return b.String()
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ comment, want string }{
		"one line":                          {"# -- Pods.", "Pods."},
		"two lines become one":              {"# -- Pods of\n# the operator.", "Pods of the operator."},
		"a comment for readers of the file": {"# Pods.", ""},
		"no comment":                        {"", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := describe(tc.comment); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
