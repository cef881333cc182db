package goldenmapping_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/restmapping/operator/internal/goldenmapping"
	"github.com/restmapping/operator/pkg/rest"
)

func TestDocumentCheck(t *testing.T) {
	t.Parallel()
	doc, err := goldenmapping.LoadSwagger2(filepath.Join(mappings, "gitea/openapi/gitea-1.26-swagger2.json"))
	if err != nil {
		t.Fatal(err)
	}
	label := func(body string) rest.Request {
		return rest.Request{
			Operation: rest.Create, Method: "POST", Route: "/repos/{owner}/{repo}/labels", Path: "/repos/a/b/labels",
			ContentType: "application/json", Body: []byte(body),
		}
	}
	get := func(path string, query ...rest.Parameter) rest.Request {
		return rest.Request{Operation: rest.Read, Method: "GET", Route: path, Path: path, Query: query}
	}
	created := goldenmapping.Exchange{Status: 201, Body: map[string]any{"id": int64(1), "name": "bug"}}
	cases := map[string]struct {
		req  rest.Request
		x    goldenmapping.Exchange
		want string
	}{
		"a request and an answer as described":     {label(`{"name":"bug","color":"#ff0000"}`), created, ""},
		"an answer without a body":                 {rest.Request{Method: "DELETE", Path: "/teams/5"}, goldenmapping.Exchange{Status: 204}, ""},
		"an answer that is not described":          {label(`{"name":"bug","color":"#ff0000"}`), goldenmapping.Exchange{Status: 500, Body: "oops"}, ""},
		"a path that the API does not have":        {get("/nothing"), goldenmapping.Exchange{Status: 200}, "not in the API's document"},
		"a method that the path does not have":     {rest.Request{Method: "PUT", Path: "/orgs/a"}, goldenmapping.Exchange{Status: 200}, "not in the API's document"},
		"a path parameter of the wrong type":       {get("/teams/five"), goldenmapping.Exchange{Status: 404}, "the request is not"},
		"a query parameter of the wrong type":      {get("/orgs", rest.Parameter{Name: "page", Value: "x"}), goldenmapping.Exchange{Status: 200, Body: []any{}}, "the request is not"},
		"a body without what it must have":         {label(`{"name":"bug"}`), created, "the request is not"},
		"a body with a value of the wrong type":    {label(`{"name":1,"color":"#ff0000"}`), created, "the request is not"},
		"a body with a key that the API ignores":   {label(`{"name":"bug","color":"#ff0000","colour":"x"}`), created, "colour"},
		"an answer with a value of the wrong type": {label(`{"name":"bug","color":"#ff0000"}`), goldenmapping.Exchange{Status: 201, Body: map[string]any{"id": "x"}}, "the scripted answer"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := doc.Check(t.Context(), tc.req, tc.x)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
		})
	}
}

func TestLoadSwagger2ReportsWhatIsNoDocument(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"missing.json", "openapi_test.go"} {
		if _, err := goldenmapping.LoadSwagger2(file); err == nil {
			t.Errorf("%s: want an error, got none", file)
		}
	}
}
