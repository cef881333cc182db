package mapping

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzBodyPath(f *testing.F) {
	for _, seed := range []string{"a", "a.b", `["a.b"].c`, `a["b\"c"]`, "", ".", "a..b", `["`, `["a"]]`, "a[0]", "größe", "\xff", `["\u0000"]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := parseBodyPath(text)
		if err != nil {
			if syntax := (*syntaxError)(nil); !errors.As(err, &syntax) || syntax.column < 1 || syntax.column > len(text)+1 {
				t.Fatalf("%q: error %v has no place in it", text, err)
			}
			return
		}
		again, err := parseBodyPath(parsed.String())
		if err != nil || cmp.Diff(parsed, again) != "" {
			t.Fatalf("%q is written as %q and read back as %q: %v", text, parsed, again, err)
		}
		document := map[string]any{}
		parsed.set(document, "value")
		if got, held := parsed.get(document); !held || got != "value" {
			t.Fatalf("%q: set and not found", text)
		}
	})
}

func FuzzPathTemplate(f *testing.F) {
	for _, seed := range []string{"/", "/a/{id}", "/{id}/{x}/", "/a//b", "/..", "/%2e", "/{", "/}", "/{id}{id}", "/a?b", "a", "/.{id}"} {
		f.Add(seed, "value")
		f.Add(seed, "../..")
	}
	f.Fuzz(func(t *testing.T, source, value string) {
		template, err := parsePathTemplate(source)
		if err != nil {
			if syntax := (*syntaxError)(nil); !errors.As(err, &syntax) || syntax.column < 1 || syntax.column > len(source)+1 {
				t.Fatalf("%q: error %v has no place in it", source, err)
			}
			return
		}
		ids := map[string]string{}
		for _, name := range template.parameters() {
			ids[name] = value
		}
		rendered, err := template.render(ids, "f")
		if err != nil {
			return
		}
		if strings.Count(rendered, "/") != strings.Count(source, "/") || strings.ContainsAny(rendered, "{}?#\\ \r\n") {
			t.Fatalf("%q with %q is rendered as %q", source, value, rendered)
		}
		for segment := range strings.SplitSeq(rendered, "/") {
			if segment == "." || segment == ".." {
				t.Fatalf("%q with %q is rendered as %q", source, value, rendered)
			}
		}
	})
}

func FuzzNextLink(f *testing.F) {
	for _, seed := range []string{`</x>; rel="next"`, `<`, `<>;`, `<a>; rel="\`, `,,,<b>;rel=next`, `<a>;;;=,<b>; rel=next`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		if link := nextLink(header); link != "" && !strings.Contains(header, link) {
			t.Fatalf("%q gives %q", header, link)
		}
	})
}

func FuzzDecimalText(f *testing.F) {
	for _, seed := range []string{"1", "1.5e3", "+1", "-", "e", "1e9999", "1e-4000", ".", "0x1", "1/2", "1_0", "Inf"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if number := asNumber(text, "Number"); number != nil && number.Num().BitLen() > 1<<14 {
			t.Fatalf("%q is a number of %d bits", text, number.Num().BitLen())
		}
	})
}
