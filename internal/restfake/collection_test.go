package restfake

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAssignedIDs(t *testing.T) {
	t.Parallel()
	l := start(t, []Collection{{Path: "/things", Defaults: map[string]any{"color": "red", "nested": map[string]any{"a": 1}}, WriteOnly: []string{"password"}}})
	created := send(t, l, "POST", "/things", `{"id":99,"name":"a","big":9007199254740993,"password":"p"}`)
	want(t, created, 201, `{"big":9007199254740993,"color":"red","id":1,"name":"a","nested":{"a":1}}`)
	if location := created.header.Get("Location"); location != "/things/1" {
		t.Errorf("Location %q", location)
	}
	want(t, send(t, l, "GET", "/things/1", ""), 200, `{"big":9007199254740993,"color":"red","id":1,"name":"a","nested":{"a":1}}`)
	want(t, send(t, l, "PATCH", "/things/1", `{"color":"blue","big":null,"nested":{"b":2}}`), 200, `{"color":"blue","id":1,"name":"a","nested":{"a":1,"b":2}}`)
	want(t, send(t, l, "PUT", "/things/1", `{"id":7,"name":"b"}`), 200, `{"id":1,"name":"b"}`)
	object, ok := l.Get("/things/1")
	if diff := cmp.Diff(map[string]any{"id": int64(1), "name": "b", "password": "p"}, object.Fields); !ok || diff != "" {
		t.Errorf("a PUT without the write-only field must keep it: %s", diff)
	}
	want(t, send(t, l, "DELETE", "/things/1", ""), 204, "")
	for _, method := range []string{"GET", "PUT", "PATCH", "DELETE"} {
		want(t, send(t, l, method, "/things/1", ""), 404, "")
	}
	want(t, send(t, l, "POST", "/things", `{}`), 201, "")
	if live := l.Live("/things"); len(live) != 1 || live[0].Path != "/things/2" {
		t.Errorf("an id was given twice, or lost: %+v", live)
	}
}

func TestChosenIDsAndUpsert(t *testing.T) {
	t.Parallel()
	l := start(t, []Collection{
		{Path: "/vhosts", ItemPath: "/vhosts/{id}", IDField: "name", IDs: Chosen, Upsert: true, UpdateStatus: 204},
		{Path: "/teams", IDs: Chosen, ConflictStatus: 422},
	})
	want(t, send(t, l, "PUT", "/vhosts/a%2Fb", `{"tags":[]}`), 201, `{"name":"a/b","tags":[]}`)
	want(t, send(t, l, "PUT", "/vhosts/a%2Fb", ``), 204, "")
	want(t, send(t, l, "GET", "/vhosts/a%2Fb", ""), 200, `{"name":"a/b"}`)
	want(t, send(t, l, "GET", "/vhosts/a/b", ""), 404, "")
	if _, ok := l.Get("/vhosts/a%2Fb"); !ok {
		t.Error("Get does not decode the segment")
	}
	want(t, send(t, l, "POST", "/teams", `{}`), 422, "")
	want(t, send(t, l, "POST", "/teams", `{"id":"x"}`), 201, "")
	want(t, send(t, l, "POST", "/teams", `{"id":"x"}`), 422, "")
	want(t, send(t, l, "PUT", "/teams/y", `{}`), 404, "")
	if got := len(l.Live("")); got != 2 {
		t.Errorf("%d objects", got)
	}
}

func TestUniqueKeysHoldWithinAPlace(t *testing.T) {
	t.Parallel()
	l := start(t, []Collection{{
		Path: "/orgs/{org}/repos", ItemPath: "/repos/{org}/{id}", IDField: "no", IDs: AssignedText,
		Unique: [][]string{{"name"}, {"a", "b"}}, Required: []string{"name"},
	}})
	want(t, send(t, l, "POST", "/orgs/x/repos", `{"name":"n","a":1,"b":2}`), 201, `{"a":1,"b":2,"name":"n","no":"obj-1"}`)
	want(t, send(t, l, "POST", "/orgs/x/repos", `{"name":"n"}`), 409, "")
	want(t, send(t, l, "POST", "/orgs/x/repos", `{"name":"m","a":1,"b":2}`), 409, "")
	want(t, send(t, l, "POST", "/orgs/x/repos", `{"name":"m","a":1,"b":3}`), 201, "")
	want(t, send(t, l, "POST", "/orgs/y/repos", `{"name":"n"}`), 201, "")
	want(t, send(t, l, "PATCH", "/repos/x/obj-2", `{"name":"n"}`), 409, "")
	want(t, send(t, l, "PATCH", "/repos/x/obj-1", `{"name":"n"}`), 200, "")
	want(t, send(t, l, "GET", "/repos/y/obj-1", ""), 404, "")
	want(t, send(t, l, "POST", "/orgs/x/repos", `{"a":1}`), 422, "")
	want(t, send(t, l, "DELETE", "/repos/x/obj-1", ""), 204, "")
	want(t, send(t, l, "POST", "/orgs/x/repos", `{"name":"n"}`), 201, "")
}

func TestCreateAnswers(t *testing.T) {
	t.Parallel()
	l := start(t, []Collection{{Path: "/a", Answer: AnswerLocation}, {Path: "/b", Answer: AnswerNothing}})
	a := send(t, l, "POST", "/a", `{}`)
	want(t, a, 201, "")
	if a.body != "" || a.header.Get("Location") != "/a/1" {
		t.Errorf("body %q, Location %q", a.body, a.header.Get("Location"))
	}
	b := send(t, l, "POST", "/b", `{}`)
	want(t, b, 204, "")
	if b.header.Get("Location") != "" || len(l.Live("/b")) != 1 {
		t.Error("the second collection must create and say nothing")
	}
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	l := start(t, []Collection{{Path: "/a", NoPut: true, NoPatch: true}})
	want(t, send(t, l, "POST", "/a", `{}`), 201, "")
	cases := map[string]struct {
		method, path, body string
		status             int
	}{
		"an unknown path":        {"GET", "/b", "", 404},
		"PUT where not allowed":  {"PUT", "/a/1", "{}", 405},
		"PATCH likewise":         {"PATCH", "/a/1", "{}", 405},
		"DELETE of a collection": {"DELETE", "/a", "", 405},
		"a body that is no JSON": {"POST", "/a", "{", 400},
		"a list":                 {"POST", "/a", "[]", 400},
		"null":                   {"POST", "/a", "null", 400},
		"two documents":          {"POST", "/a", "{}{}", 400},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want(t, send(t, l, tc.method, tc.path, tc.body), tc.status, "")
		})
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		collection Collection
		path, body string
	}{
		"everything":             {Collection{}, "/x", `[{"id":1},{"id":2},{"id":3},{"id":4},{"id":5}]`},
		"in an envelope":         {Collection{Envelope: "items", Filters: []string{"id"}}, "/x?id=3", `{"items":[{"id":3}]}`},
		"nothing":                {Collection{Filters: []string{"id"}}, "/x?id=9", `[]`},
		"an unknown filter":      {Collection{Filters: []string{"id"}, Paging: Paging{Type: ByPage, Limit: 1}}, "/x?other=9", `[{"id":1}]`},
		"the second page":        {Collection{Paging: Paging{Type: ByPage, Limit: 2}}, "/x?page=2", `[{"id":3},{"id":4}]`},
		"the page behind":        {Collection{Paging: Paging{Type: ByPage, Limit: 2}}, "/x?page=9", `[]`},
		"a smaller limit":        {Collection{Paging: Paging{Type: ByPage, Limit: 4, LimitParam: "per_page"}}, "/x?page=3&per_page=1", `[{"id":3}]`},
		"a limit over the most":  {Collection{Paging: Paging{Type: ByPage, Limit: 2}}, "/x?limit=4", `[{"id":1},{"id":2}]`},
		"an offset":              {Collection{Paging: Paging{Type: ByOffset, Limit: 2, Param: "first"}}, "/x?first=3", `[{"id":4},{"id":5}]`},
		"a cursor":               {Collection{Envelope: "d", Paging: Paging{Type: ByCursor, Limit: 2}}, "/x?cursor=2", `{"d":[{"id":3},{"id":4}],"next":"4"}`},
		"the last cursor":        {Collection{Envelope: "d", Paging: Paging{Type: ByCursor, Limit: 2}}, "/x?cursor=4", `{"d":[{"id":5}]}`},
		"a position that is bad": {Collection{Paging: Paging{Type: ByOffset, Limit: 1}}, "/x?offset=-3", `[{"id":1}]`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.collection.Path = "/x"
			l := start(t, []Collection{tc.collection})
			for range 5 {
				if _, err := l.Insert("/x", nil); err != nil {
					t.Fatal(err)
				}
			}
			answer := send(t, l, "GET", tc.path, "")
			want(t, answer, 200, tc.body)
		})
	}
}

func TestLinksLeadThroughAllPages(t *testing.T) {
	t.Parallel()
	l := start(t, []Collection{{Path: "/x", Paging: Paging{Type: ByLink, Limit: 2}, Filters: []string{"kind"}}})
	for i := range 7 {
		if _, err := l.Insert("/x", map[string]any{"kind": []string{"a", "b"}[i/5]}); err != nil {
			t.Fatal(err)
		}
	}
	path, pages, items := "/x?kind=a", 0, 0
	for path != "" {
		page := send(t, l, "GET", path, "")
		want(t, page, 200, "")
		pages++
		items += strings.Count(page.body, `"id"`)
		link := page.header.Get("Link")
		if link != "" && (!strings.HasPrefix(link, "<"+l.URL) || !strings.HasSuffix(link, `>; rel="next"`)) {
			t.Fatalf("Link %s", link)
		}
		path, _, _ = strings.Cut(strings.TrimPrefix(link, "<"+l.URL), ">")
	}
	if pages != 3 || items != 5 {
		t.Errorf("%d items on %d pages", items, pages)
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	cases := map[string]bool{
		"/a/{x} /a/b": true, "/a/{x} /a/b/c": false, "/a/{x} /a": false, "/a/* /a/b/c": true, "/a/* /a": true, "/a/* /b/c": false,
		"/* /anything/at/all": true, "/a/{x} /a/%zz": false, "/a b /a%20b": true, "/a /a/": true, "/a/{x} /a//": false,
	}
	for pair, matches := range cases {
		i := strings.LastIndex(pair, " ")
		if _, ok := match(pair[:i], pair[i+1:]); ok != matches {
			t.Errorf("match(%s) = %v", pair, ok)
		}
	}
}

func TestTextOfNumbers(t *testing.T) {
	t.Parallel()
	for wanted, value := range map[string]any{"": nil, "5350200": float64(5350200), "7": int64(7), "x": "x", "true": true} {
		if got := text(value); got != wanted {
			t.Errorf("text(%v) = %s", value, got)
		}
	}
}

func TestParallelCreatesGetDifferentIDs(t *testing.T) {
	t.Parallel()
	l := start(t, []Collection{{Path: "/x"}})
	done := make(chan got)
	for i := range 20 {
		go func() { done <- sendWith(t.Context(), l, http.MethodPost, "/x", fmt.Sprintf(`{"n":%d}`, i)) }()
	}
	for range 20 {
		want(t, <-done, 201, "")
	}
	ids := map[string]bool{}
	for _, o := range l.Live("/x") {
		ids[o.ID] = true
	}
	if len(ids) != 20 || l.Count("POST", "/x") != 20 {
		t.Errorf("%d ids, %d requests", len(ids), l.Count("POST", "/x"))
	}
}
