package mapping

import (
	"net/url"
	"path"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

// keys are few, so that generated documents meet one another.
func keys() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"a", "b", "c", "d.e", ""})
}

// values generates JSON of a depth.
func values(depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.SampledFrom([]string{"", "x", "X", "1", "1.0"}).AsAny(),
		rapid.SampledFrom([]int64{0, 1, 9007199254740993}).AsAny(), rapid.SampledFrom([]float64{0, 1, 1.5, 1e300}).AsAny(),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	lists := rapid.SliceOfN(values(depth-1), 0, 3).AsAny()
	objects := rapid.MapOfN(keys(), values(depth-1), 0, 3).AsAny()
	return rapid.OneOf(append(scalars, lists, objects, objects)...)
}

func objects(depth int) *rapid.Generator[map[string]any] {
	return rapid.MapOfN(keys(), values(depth), 0, 4)
}

// wishes makes a program of non-overlapping fields and a custom resource that gives them values. No CEL is involved.
func wishes(t *rapid.T) (*Program, map[string]any) {
	modes := rapid.SampledFrom([]v1alpha1.Compare{
		v1alpha1.CompareExact, v1alpha1.CompareWhole, v1alpha1.CompareStrict, v1alpha1.CompareSet, v1alpha1.CompareCaseInsensitive, v1alpha1.CompareNumber,
		v1alpha1.CompareQuantity, v1alpha1.CompareTimestamp,
	})
	p := &Program{operations: map[rest.Operation]*operationPlan{}}
	spec := map[string]any{}
	for _, to := range rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d.e"}), 1, 3), 1, 4).Draw(t, "to") {
		place := bodyPath(to)
		overlaps := false
		for _, other := range p.fields {
			overlaps = overlaps || place.startsWith(other.to) || other.to.startsWith(place)
		}
		if overlaps {
			continue
		}
		name := place.String()
		spec[name] = values(3).Draw(t, "value of "+name)
		p.fields = append(p.fields, fieldPlan{
			from: bodyPath{"spec", name}, to: place, observedAt: place, written: name,
			onCreate: true, onUpdate: true, compare: modes.Draw(t, "compare"), nulls: rapid.SampledFrom([]v1alpha1.Nulls{v1alpha1.NullsOmit, v1alpha1.NullsSend, v1alpha1.NullsRemove}).Draw(t, "nulls"),
		})
	}
	return p, map[string]any{"spec": spec}
}

func differencesOf(t *rapid.T, s *Pass, observed any) []Difference {
	result, err := s.Compare(t.Context(), observed)
	if err != nil {
		t.Fatalf("Compare: %v", err)
	}
	return result.Differences
}

// merged applies a merge patch with the library that others use, and not with our own code.
func merged(t *rapid.T, document, patch any) any {
	documentText, err := encodeJSON(document)
	if err != nil {
		t.Fatal(err)
	}
	patchText, err := encodeJSON(patch)
	if err != nil {
		t.Fatal(err)
	}
	text, err := jsonpatch.MergePatch(documentText, patchText)
	if err != nil {
		t.Fatalf("merge %s into %s: %v", patchText, documentText, err)
	}
	value, err := decodeJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func TestApplyingChangedLeavesNoDifference(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, self := wishes(t)
		observed := objects(3).Draw(t, "observed")
		s := p.NewPass(Inputs{Self: self})
		patch, err := s.changed(t.Context(), observed)
		if err != nil {
			t.Fatal(err)
		}
		if before := differencesOf(t, s, observed); (len(before) == 0) != (len(patch) == 0) {
			t.Fatalf("differences %v, patch %v", before, patch)
		}
		if left := differencesOf(t, s, merged(t, observed, patch)); len(left) > 0 {
			t.Fatalf("the patch %v leaves %v", patch, left)
		}
	})
}

func TestOverlayLeavesNoDifferenceAndKeepsTheRest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, self := wishes(t)
		observed := objects(3).Draw(t, "observed")
		before, err := encodeJSON(observed)
		if err != nil {
			t.Fatal(err)
		}
		s := p.NewPass(Inputs{Self: self})
		laid, err := s.overlay(t.Context(), &operationPlan{operation: "Update"}, observed)
		if err != nil {
			t.Fatal(err)
		}
		if left := differencesOf(t, s, laid); len(left) > 0 {
			t.Fatalf("the overlay %v leaves %v", laid, left)
		}
		for key, value := range observed {
			owned := false
			for _, f := range p.fields {
				owned = owned || f.to[0] == key
			}
			if !owned && !cmp.Equal(value, laid[key]) {
				t.Fatalf("%q was %v and is %v", key, value, laid[key])
			}
		}
		if after, err := encodeJSON(observed); err != nil || string(after) != string(before) {
			t.Fatalf("observed was %s and is %s", before, after)
		}
	})
}

func TestEveryValueEqualsItself(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := values(4).Draw(t, "value")
		encoded, err := encodeJSON(value)
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := decodeJSON(encoded) // 1.0 becomes 1 on the way
		if err != nil {
			t.Fatal(err)
		}
		for _, mode := range comparisons() {
			if !equalValues(mode, value, decoded) || !equalValues(mode, decoded, value) {
				t.Fatalf("%s: %v and %v differ", mode, value, decoded)
			}
		}
	})
}

// hostile generates identifiers that try to leave their segment.
func hostile() *rapid.Generator[string] {
	pieces := rapid.SampledFrom([]string{"/", "..", ".", "%2f", "%2e", "?", "#", "\\", ";", "@", ":", "//", " ", "\x00", "\r\n", "&", "=", "é", "a", "%"})
	return rapid.OneOf(
		rapid.String(),
		rapid.Map(rapid.SliceOfN(pieces, 0, 6), func(parts []string) string { return strings.Join(parts, "") }),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	)
}

// checkOneSegment checks that a rendered path means what it should to every URL parser.
func checkOneSegment(t interface{ Fatalf(string, ...any) }, rendered, before, value, after string) {
	u, err := url.Parse("https://server.example/base" + rendered)
	if err != nil {
		t.Fatalf("%q is no URL: %v", rendered, err)
		return
	}
	if u.Host != "server.example" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		t.Fatalf("%q changes more than the path: %v", rendered, u)
	}
	if want := "/base" + before + value + after; u.Path != want {
		t.Fatalf("%q is read as %q, want %q", rendered, u.Path, want)
	}
	escaped := u.EscapedPath()
	if strings.Count(escaped, "/") != strings.Count("/base"+before+after, "/") {
		t.Fatalf("%q adds a segment: %q", rendered, escaped)
	}
	if path.Clean(escaped) != escaped {
		t.Fatalf("%q has segments that a server would resolve: %q", rendered, path.Clean(escaped))
	}
}

func TestNoIdentifierLeavesItsSegment(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := hostile().Draw(t, "identifier")
		form := rapid.SampledFrom([][2]string{{"/a/", "/b"}, {"/", ""}, {"/a/x('", "')/c"}, {"/a/", ":undelete"}, {"/a/.", "/b"}}).Draw(t, "form")
		template, err := parsePathTemplate(form[0] + "{id}" + form[1])
		if err != nil {
			t.Fatal(err)
		}
		rendered, err := template.render(map[string]string{"id": value}, "f")
		if err != nil {
			if identifierProblem(value) == "" && form[0]+value+form[1] != "/a/../b" {
				t.Fatalf("%q was refused: %v", value, err)
			}
			return
		}
		checkOneSegment(t, rendered, form[0], value, form[1])
	})
}
