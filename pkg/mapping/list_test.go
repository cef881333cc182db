package mapping

import (
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/restmapping/operator/api/v1alpha1"
	"github.com/restmapping/operator/pkg/rest"
)

// server answers one list request.
type server func(req rest.Request) *rest.Response

// walk reads a whole list, as the engine does, and gives its matches and requests.
func walk(t *testing.T, s *Pass, answer server) (matches []any, requests []rest.Request, err error) {
	t.Helper()
	for page := (Page{}); len(requests) < 1000; {
		req, err := s.ListRequest(t.Context(), page)
		noError(t, err)
		requests = append(requests, req)
		found, next, err := s.ListPage(t.Context(), answer(req), page)
		if err != nil {
			return matches, requests, err
		}
		matches = append(matches, found...)
		if next == nil {
			return matches, requests, nil
		}
		page = *next
	}
	t.Fatal("the list has no end")
	return nil, nil, nil
}

func queryOf(req rest.Request, name string) string {
	for _, p := range req.Query {
		if p.Name == name {
			return p.Value
		}
	}
	return ""
}

func paged(p v1alpha1.Pagination, changes ...func(*v1alpha1.ListOperation)) specChange {
	o := v1alpha1.ListOperation{Match: "item.name == self.metadata.name", Pagination: &p}
	o.Path = "/owners/{owner}/widgets"
	for _, change := range changes {
		change(&o)
	}
	return all(assignedByID, list(o))
}

func assignedByID(s *v1alpha1.RestMappingSpec) {
	s.Identifiers[1] = v1alpha1.Identifier{Name: "widget", Assigned: "response.body.id"}
}

// items makes n items from an id on; the one with the id wanted is called w1.
func items(from, n, wanted int) string {
	text := "["
	for i := range n {
		name := fmt.Sprintf("other%d", from+i)
		if from+i == wanted {
			name = "w1"
		}
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf(`{"id":%d,"name":%q}`, from+i, name)
	}
	return text + "]"
}

func TestListWithoutPagination(t *testing.T) {
	t.Parallel()
	p := compiled(t, all(assignedByID, list(v1alpha1.ListOperation{})))
	matches, requests, err := walk(t, widgetPass(t, p, widgetSelf), func(rest.Request) *rest.Response {
		return jsonResponse(t, 200, items(1, 5, 4))
	})
	noError(t, err)
	if diff := cmp.Diff([]any{object(t, `{"id":4,"name":"w1"}`)}, matches); diff != "" {
		t.Errorf("matches (-want +got):\n%s", diff)
	}
	want := rest.Request{Operation: rest.List, Method: "GET", Route: "/owners/{owner}/widgets", Path: "/owners/acme/widgets", Accept: "application/json"}
	if diff := cmp.Diff([]rest.Request{want}, requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestListByPages(t *testing.T) {
	t.Parallel()
	first := int64(0)
	p := compiled(t, paged(v1alpha1.Pagination{Type: v1alpha1.PaginationPage, PageParam: "page", FirstPage: &first, LimitParam: "per_page", Limit: 3}))
	pages := map[string]string{"0": items(1, 3, 8), "1": items(4, 2, 8), "2": items(6, 3, 8), "3": "[]"}
	var asked []string
	matches, _, err := walk(t, widgetPass(t, p, widgetSelf), func(req rest.Request) *rest.Response {
		asked = append(asked, queryOf(req, "page")+"/"+queryOf(req, "per_page"))
		return jsonResponse(t, 200, pages[queryOf(req, "page")])
	})
	noError(t, err)
	if diff := cmp.Diff([]string{"0/3", "1/3", "2/3", "3/3"}, asked); diff != "" {
		t.Errorf("a short page is not the end (-want +got):\n%s", diff)
	}
	if len(matches) != 1 {
		t.Errorf("matches %v", matches)
	}
}

func TestListByOffsets(t *testing.T) {
	t.Parallel()
	p := compiled(t, paged(v1alpha1.Pagination{Type: v1alpha1.PaginationOffset, OffsetParam: "first", LimitParam: "max", Limit: 100}))
	pages := map[string]string{"0": items(1, 3, 5), "3": items(4, 2, 5), "5": "[]"} // the server gives less than asked for
	matches, requests, err := walk(t, widgetPass(t, p, widgetSelf), func(req rest.Request) *rest.Response {
		return jsonResponse(t, 200, pages[queryOf(req, "first")])
	})
	noError(t, err)
	if len(matches) != 1 || len(requests) != 3 {
		t.Errorf("%d requests, matches %v", len(requests), matches)
	}
}

func TestListByCursors(t *testing.T) {
	t.Parallel()
	p := compiled(t, paged(v1alpha1.Pagination{Type: v1alpha1.PaginationCursor, CursorParam: "after", Cursor: "response.body.?next"},
		func(o *v1alpha1.ListOperation) { o.Items = "response.body.data" }))
	pages := map[string]string{
		"":  `{"data":` + items(1, 2, 6) + `,"next":"a"}`,
		"a": `{"data":[],"next":"b"}`, // an empty page in the middle is not the end
		"b": `{"data":` + items(5, 2, 6) + `,"next":7}`,
		"7": `{"data":` + items(8, 1, 6) + `,"next":null}`,
	}
	matches, requests, err := walk(t, widgetPass(t, p, widgetSelf), func(req rest.Request) *rest.Response {
		return jsonResponse(t, 200, pages[queryOf(req, "after")])
	})
	noError(t, err)
	if len(matches) != 1 || len(requests) != 4 || requests[0].Query != nil {
		t.Errorf("%d requests, matches %v", len(requests), matches)
	}
}

func TestListByOneCursorForAllPages(t *testing.T) {
	t.Parallel()
	p := compiled(t, paged(v1alpha1.Pagination{Type: v1alpha1.PaginationCursor, CursorParam: "scroll", Cursor: "response.body.scroll"},
		func(o *v1alpha1.ListOperation) { o.Items = "response.body.data" }))
	pages := []string{items(1, 2, 4), items(3, 2, 4), "[]"}
	matches, requests, err := walk(t, widgetPass(t, p, widgetSelf), func(rest.Request) *rest.Response {
		page := pages[0]
		pages = pages[1:]
		return jsonResponse(t, 200, `{"scroll":"same","data":`+page+`}`)
	})
	noError(t, err)
	if len(matches) != 1 || len(requests) != 3 {
		t.Errorf("%d requests, matches %v", len(requests), matches)
	}
}

func TestListByLinks(t *testing.T) {
	t.Parallel()
	p := compiled(t, paged(v1alpha1.Pagination{Type: v1alpha1.PaginationLink, LimitParam: "limit", Limit: 2}, func(o *v1alpha1.ListOperation) {
		o.Query, o.Headers = parameters("q", "'x'"), parameters("X-H", "'h'")
	}))
	pages := []*rest.Response{
		jsonResponse(t, 200, items(1, 2, 5), "link", `<https://api.example.com/owners/acme/widgets?page=2>; rel="next"`),
		jsonResponse(t, 200, items(3, 2, 5), "link", `<?page=3&q=x%20y>; rel="next", </first>; rel="first"`),
		jsonResponse(t, 200, items(5, 2, 5), "link", `</first>; rel="first"`),
	}
	matches, requests, err := walk(t, widgetPass(t, p, widgetSelf), func(rest.Request) *rest.Response {
		page := pages[0]
		pages = pages[1:]
		return page
	})
	noError(t, err)
	if len(matches) != 1 || len(requests) != 3 {
		t.Fatalf("%d requests, matches %v", len(requests), matches)
	}
	type brief struct {
		Path, Follow string
		Query        []rest.Parameter
	}
	var got []brief
	for _, r := range requests {
		got = append(got, brief{r.Path, r.Follow, r.Query})
		if len(r.Headers) != 1 || r.Route != "/owners/{owner}/widgets" {
			t.Errorf("headers and route stay: %+v", r)
		}
	}
	want := []brief{
		{"/owners/acme/widgets", "", []rest.Parameter{{Name: "q", Value: "x"}, {Name: "limit", Value: "2"}}},
		{"/owners/acme/widgets", "https://api.example.com/owners/acme/widgets?page=2", nil},
		{"/owners/acme/widgets", "", []rest.Parameter{{Name: "page", Value: "3"}, {Name: "q", Value: "x y"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestALinkThatIsOnlyABrokenQueryIsLeftToTheClient(t *testing.T) {
	t.Parallel()
	p := compiled(t, paged(v1alpha1.Pagination{Type: v1alpha1.PaginationLink}))
	req, err := widgetPass(t, p, widgetSelf).ListRequest(t.Context(), Page{Number: 1, Link: "?a=%zz"})
	noError(t, err)
	if req.Follow != "?a=%zz" || req.Query != nil {
		t.Errorf("request %+v", req)
	}
}

func TestAServerThatIgnoresThePageParameter(t *testing.T) {
	t.Parallel()
	whole := func(n int) server {
		return func(rest.Request) *rest.Response { return jsonResponse(t, 200, items(1, n, 2)) }
	}
	page := v1alpha1.Pagination{Type: v1alpha1.PaginationPage, PageParam: "page", LimitParam: "limit", Limit: 3}
	matches, requests, err := walk(t, widgetPass(t, compiled(t, paged(page)), widgetSelf), whole(5))
	noError(t, err)
	if len(matches) != 1 || len(requests) != 2 {
		t.Errorf("its page is the whole list: %d requests, matches %v", len(requests), matches)
	}
	_, _, err = walk(t, widgetPass(t, compiled(t, paged(page)), widgetSelf), whole(3))
	wantError(t, err, "spec.operations.list.pagination", "the same items as the page before", "names of the parameters")

	cursor := v1alpha1.Pagination{Type: v1alpha1.PaginationCursor, CursorParam: "typo", Cursor: "'more'"}
	_, _, err = walk(t, widgetPass(t, compiled(t, paged(cursor)), widgetSelf), whole(5))
	if contradiction := (*PaginationError)(nil); !errors.As(err, &contradiction) {
		t.Errorf("the server says that there is more, so this is not the end: %v", err)
	}
	link := v1alpha1.Pagination{Type: v1alpha1.PaginationLink}
	_, _, err = walk(t, widgetPass(t, compiled(t, paged(link)), widgetSelf), func(rest.Request) *rest.Response {
		return jsonResponse(t, 200, items(1, 5, 2), "link", `</x>; rel="next"`)
	})
	wantError(t, err, "the same items")
}

func TestAListThatIsTooLong(t *testing.T) {
	t.Parallel()
	p := compiled(t, paged(v1alpha1.Pagination{Type: v1alpha1.PaginationPage, PageParam: "page", MaxPages: 4}))
	n := 0
	_, requests, err := walk(t, widgetPass(t, p, widgetSelf), func(rest.Request) *rest.Response {
		n += 10
		return jsonResponse(t, 200, items(n, 2, -1))
	})
	tooMany := (*TooManyPagesError)(nil)
	if !errors.As(err, &tooMany) || tooMany.MaxPages != 4 || len(requests) != 4 {
		t.Errorf("%d requests, error %v", len(requests), err)
	}
	if got := mustCompile(t, widgets(t, paged(v1alpha1.Pagination{Type: v1alpha1.PaginationLink})), widgetTarget(t)).list.pagination.maxPages; got != defaultMaxPages {
		t.Errorf("default of maxPages is %d", got)
	}
}

func TestAnObjectThatMovedToALaterPageIsGivenOnce(t *testing.T) {
	t.Parallel()
	page := v1alpha1.Pagination{Type: v1alpha1.PaginationPage, PageParam: "page"}
	run := func(change specChange, pages ...string) int {
		t.Helper()
		matches, _, err := walk(t, widgetPass(t, compiled(t, paged(page), change), widgetSelf), func(rest.Request) *rest.Response {
			one := pages[0]
			pages = pages[1:]
			return jsonResponse(t, 200, one)
		})
		noError(t, err)
		return len(matches)
	}
	byName := func(s *v1alpha1.RestMappingSpec) {
		s.Identifiers[1] = v1alpha1.Identifier{Name: "widget", Value: "self.metadata.name"}
	}
	if n := run(assignedByID, `[{"id":1,"name":"w1","seen":1}]`, `[{"id":0,"name":"x"},{"id":1,"name":"w1","seen":2}]`, `[]`); n != 1 {
		t.Errorf("the same id on two pages: %d matches", n)
	}
	if n := run(assignedByID, `[{"id":1,"name":"w1"},{"id":1,"name":"w1"}]`, `[]`); n != 1 {
		t.Errorf("the same id on one page: %d matches", n)
	}
	if n := run(assignedByID, `[{"id":1,"name":"w1"}]`, `[{"id":2,"name":"w1"}]`, `[]`); n != 2 {
		t.Errorf("two ids are two objects: %d matches", n)
	}
	if n := run(byName, `[{"name":"w1"}]`, `[{"name":"x"},{"name":"w1"}]`, `[]`); n != 1 {
		t.Errorf("alike on two pages: %d matches", n)
	}
	if n := run(byName, `[{"name":"w1"},{"name":"w1"}]`, `[]`); n != 2 {
		t.Errorf("two alike on one page are two: %d matches", n)
	}
}

func TestAListingBeginsAnewWithItsFirstPage(t *testing.T) {
	t.Parallel()
	s := widgetPass(t, compiled(t, all(assignedByID, list(v1alpha1.ListOperation{}))), widgetSelf)
	for range 2 {
		matches, _, err := s.ListPage(t.Context(), jsonResponse(t, 200, items(1, 2, 1)), Page{})
		noError(t, err)
		if len(matches) != 1 {
			t.Errorf("matches %v", matches)
		}
	}
}

func TestListsThatAreNot(t *testing.T) {
	t.Parallel()
	itemsAt := func(x v1alpha1.Expression) specChange { return list(v1alpha1.ListOperation{Items: x}) }
	cases := map[string]struct {
		change specChange
		resp   *rest.Response
		says   string
	}{
		"an object":                      {itemsAt(""), jsonResponse(t, 200, `{"items":[]}`), "holds an object where a list is needed"},
		"null":                           {itemsAt(""), jsonResponse(t, 200, `null`), "holds null"},
		"no content":                     {itemsAt(""), &rest.Response{Status: 204}, "no body"},
		"an envelope without the list":   {itemsAt("response.body.items"), jsonResponse(t, 200, `{"error":"x"}`), "response.body.items is not there"},
		"an envelope with something":     {itemsAt("response.body.items"), jsonResponse(t, 200, `{"items":{}}`), "must give"},
		"an item without the key":        {itemsAt(""), jsonResponse(t, 200, `[{"nmae":"w1"}]`), "item.name is not there"},
		"a match that gives no answer":   {list(v1alpha1.ListOperation{Match: "item.?own"}), jsonResponse(t, 200, `[{}]`), "true or false"},
		"a match that gives another one": {list(v1alpha1.ListOperation{Match: "item.own"}), jsonResponse(t, 200, `[{"own":"yes"}]`), "must give"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			matches, next, err := widgetPass(t, compiled(t, tc.change), widgetSelf).ListPage(t.Context(), tc.resp, Page{})
			wantError(t, err, tc.says)
			if matches != nil || next != nil {
				t.Errorf("matches %v, next %v", matches, next)
			}
		})
	}
	null, _, err := widgetPass(t, compiled(t, itemsAt("response.body.items")), widgetSelf).ListPage(t.Context(), jsonResponse(t, 200, `{"items":null}`), Page{})
	if err != nil || null != nil {
		t.Errorf("null where the mapping says that the list is, is an empty list: %v, %v", null, err)
	}
	_, _, err = widgetPass(t, compiled(t, paged(v1alpha1.Pagination{Type: v1alpha1.PaginationCursor, CursorParam: "c", Cursor: "response.body[0].next"})), widgetSelf).
		ListPage(t.Context(), jsonResponse(t, 200, `[{"name":"x","next":{}}]`), Page{})
	wantError(t, err, "spec.operations.list.pagination.cursor", "must give")
}

func TestListByPost(t *testing.T) {
	t.Parallel()
	p := compiled(t, list(v1alpha1.ListOperation{Method: "POST", BodyExpression: "{'name': self.metadata.name}"}))
	req, err := widgetPass(t, p, widgetSelf).ListRequest(t.Context(), Page{})
	noError(t, err)
	if req.Method != http.MethodPost || string(req.Body) != `{"name":"w1"}` {
		t.Errorf("request %+v", req)
	}
}
