package mapping

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/pkg/rest"
)

func TestNextLink(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ header, want string }{
		"none":                                {"", ""},
		"GitHub's form":                       {`<https://api/x?page=1>; rel="prev", <https://api/x?page=3>; rel="next"`, "https://api/x?page=3"},
		"without quotes":                      {`</x?after=1>;rel=next`, "/x?after=1"},
		"in capitals":                         {`</x>; REL="NEXT"`, "/x"},
		"several relations":                   {`</x>; rel="last next"`, "/x"},
		"a comma in the target":               {`</x?ids=1,2>; rel="next"`, "/x?ids=1,2"},
		"a semicolon in the target":           {`</x;v=1>; rel="next"`, "/x;v=1"},
		"other parameters before":             {`</x>; title="a, \"b\"; rel=prev"; rel="next"`, "/x"},
		"only the first rel counts":           {`</x>; rel="prev"; rel="next"`, ""},
		"a link about something else":         {`</x>; rel="next"; anchor="/other"`, ""},
		"the first of two":                    {`</1>; rel=next, </2>; rel=next`, "/1"},
		"a word that only contains it":        {`</x>; rel="nextpage"`, ""},
		"no target":                           {`rel="next"`, ""},
		"unclosed":                            {`</x; rel="next"`, ""},
		"an unclosed quote":                   {`</x>; rel="next`, "/x"},
		"a parameter without value":           {`</x>; crossorigin; rel=next`, "/x"},
		"empty parts between":                 {`, ,</x>; rel="next",`, "/x"},
		"header values joined by httpapi":     {`</p>; rel="prev", </n>; rel="next", </l>; rel="last"`, "/n"},
		"white space around the equals sign":  {`</x> ; rel = "next"`, "/x"},
		"a parameter that ends with the link": {`</a>; rel=, </b>; rel=next`, "/b"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := nextLink(tc.header); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}

func TestParseQueryKeepsOrder(t *testing.T) {
	t.Parallel()
	got, err := parseQuery("b=2&a=x%20y+z&b=3&flag&&e=#frag")
	noError(t, err)
	want := []rest.Parameter{{Name: "b", Value: "2"}, {Name: "a", Value: "x y z"}, {Name: "b", Value: "3"}, {Name: "flag"}, {Name: "e"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("query (-want +got):\n%s", diff)
	}
	for _, bad := range []string{"a=%zz", "%zz=1"} {
		_, err = parseQuery(bad)
		wantError(t, err, "query of a link")
	}
}
