package mapping

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseBodyPath(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		text string
		want bodyPath
	}{
		"one key":                         {"name", bodyPath{"name"}},
		"keys joined by dots":             {"config.url", bodyPath{"config", "url"}},
		"a key with a dot is quoted":      {`["a.b"]`, bodyPath{"a.b"}},
		"quoted between plain ones":       {`labels["app.io/name"].value`, bodyPath{"labels", "app.io/name", "value"}},
		"quoted after quoted":             {`["a.b"]["c]d"]`, bodyPath{"a.b", "c]d"}},
		"escapes inside quotes":           {`["a\"b\u0041"]`, bodyPath{`a"bA`}},
		"dashes, dollars and other signs": {"$type.x-y.@id", bodyPath{"$type", "x-y", "@id"}},
		"letters of other languages":      {"größe", bodyPath{"größe"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parseBodyPath(tc.text)
			noError(t, err)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("path (-want +got):\n%s", diff)
			}
			again, err := parseBodyPath(got.String())
			noError(t, err)
			if diff := cmp.Diff(got, again); diff != "" {
				t.Errorf("written as %s and read back (-want +got):\n%s", got, diff)
			}
		})
	}
}

func TestParseBodyPathRefuses(t *testing.T) {
	t.Parallel()
	deep := "a"
	for range maxPathDepth {
		deep += ".a"
	}
	cases := map[string]struct {
		text   string
		column int
		says   string
	}{
		"nothing":                {"", 1, "empty"},
		"a dot at the beginning": {".a", 1, "empty"},
		"a dot at the end":       {"a.", 3, "empty"},
		"two dots":               {"a..b", 3, "empty"},
		"a list position":        {"a[0]", 2, "positions in a list"},
		"a space":                {"a b", 2, `' '`},
		"a stray bracket":        {"a]", 2, `["..."]`},
		"an unclosed quote":      {`["a`, 2, "JSON string"},
		"an unclosed bracket":    {`["a"`, 2, "closed"},
		"an empty quoted key":    {`[""]`, 2, "empty"},
		"text after a bracket":   {`["a"]b`, 6, "a dot"},
		"too many segments":      {deep, 2 * maxPathDepth, "more than 32"},
		"broken UTF-8":           {"a\xff", 2, "plain segment"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parseBodyPath(tc.text)
			wantError(t, err, tc.says)
			syntax := (*syntaxError)(nil)
			ok := errors.As(err, &syntax)
			if !ok || syntax.column < tc.column-1 || syntax.column > tc.column+1 {
				t.Errorf("error at %+v, want about column %d", err, tc.column)
			}
		})
	}
}

func TestBodyPathGetAndSet(t *testing.T) {
	t.Parallel()
	document := map[string]any{"a": map[string]any{"b": int64(1), "n": nil}, "s": "text", "l": []any{int64(1)}}
	reads := map[string]struct {
		want any
		held bool
	}{
		"a.b": {int64(1), true}, "a.n": {nil, true}, "a.c": {nil, false},
		"s.x": {nil, false}, "l.x": {nil, false}, "none.x": {nil, false},
	}
	for text, want := range reads {
		path, err := parseBodyPath(text)
		noError(t, err)
		got, held := path.get(document)
		if got != want.want || held != want.held {
			t.Errorf("%s: got %v, %v", text, got, held)
		}
	}
	bodyPath{"a", "c", "d"}.set(document, "new")
	bodyPath{"s", "x"}.set(document, true)
	want := map[string]any{
		"a": map[string]any{"b": int64(1), "n": nil, "c": map[string]any{"d": "new"}},
		"s": map[string]any{"x": true}, "l": []any{int64(1)},
	}
	if diff := cmp.Diff(want, document); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

func TestBodyPathOverlap(t *testing.T) {
	t.Parallel()
	if !(bodyPath{"a", "b"}).startsWith(bodyPath{"a"}) || !(bodyPath{"a"}).startsWith(bodyPath{"a"}) {
		t.Error("a path lies below its beginning and itself")
	}
	if (bodyPath{"ab"}).startsWith(bodyPath{"a"}) || (bodyPath{"a"}).startsWith(bodyPath{"a", "b"}) {
		t.Error("ab does not lie below a, nor a below a.b")
	}
}
